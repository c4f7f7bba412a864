//! What a program must be to run in an image that holds nothing else.

use object::{
    Endianness,
    elf::{EM_AARCH64, EM_X86_64, FileHeader64, Machine, PT_INTERP},
    read::elf::{FileHeader as _, ProgramHeader as _},
};

use crate::{oci::Platform, size::Size};

/// What a binary may have at most.
pub const LIMIT: Size = Size::mebi(12);

/// The program cannot be shipped.
#[derive(Debug, thiserror::Error)]
pub enum ElfError {
    /// It is no 64-bit ELF file.
    #[error("it is no 64-bit ELF file: {0}")]
    NoElf(#[from] object::Error),
    /// It is for another processor.
    #[error("it is for the ELF machine {found}, and {platform} has {wanted}")]
    Machine {
        /// The platform that it was built for.
        platform: Platform,
        /// That platform's machine number.
        wanted: String,
        /// The file's.
        found: u16,
    },
    /// It needs a dynamic linker, and the image has none.
    #[error("it asks for the interpreter {0}, which no image from scratch has; link it statically")]
    Interpreter(String),
    /// It is too large.
    #[error(
        "it has {found}, and the limit is {LIMIT}; `strip`, `lto = \"fat\"` and `opt-level = \"s\"` make it smaller"
    )]
    Size {
        /// What it has.
        found: Size,
    },
}

/// Checks that `program` runs on `platform` from an otherwise empty image, and is small enough.
///
/// # Errors
/// When it does not.
pub fn check(program: &[u8], platform: &Platform) -> Result<(), ElfError> {
    let header = FileHeader64::<Endianness>::parse(program)?;
    let endian = header.endian()?;
    let wanted = machine(platform);
    let found = header.e_machine(endian);
    if wanted != Some(found) {
        let wanted = wanted.map_or_else(|| "none that is known here".into(), |it| it.0.to_string());
        let platform = platform.clone();
        return Err(ElfError::Machine { platform, wanted, found: found.0 });
    }
    for segment in header.program_headers(endian, program)? {
        if segment.p_type(endian) == PT_INTERP {
            let path = segment.interpreter(endian, program)?.unwrap_or_default();
            return Err(ElfError::Interpreter(String::from_utf8_lossy(path).into_owned()));
        }
    }
    let found = Size::bytes(program.len() as u64);
    if found > LIMIT {
        return Err(ElfError::Size { found });
    }
    Ok(())
}

/// The ELF machine of a platform.
fn machine(platform: &Platform) -> Option<Machine> {
    match platform.architecture.as_str() {
        "amd64" => Some(EM_X86_64),
        "arm64" => Some(EM_AARCH64),
        _ => None,
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A little ELF file with one segment: nothing to run, but a header to look at. Written after the
    /// tables of the System V ABI, chapter 4 and 5.
    pub(crate) fn program(machine: u16, interpreter: bool) -> Vec<u8> {
        let mut file = b"\x7fELF\x02\x01\x01".to_vec();
        file.resize(16, 0);
        file.extend(2_u16.to_le_bytes()); // e_type: executable
        file.extend(machine.to_le_bytes());
        file.extend(1_u32.to_le_bytes()); // e_version
        file.extend(0_u64.to_le_bytes()); // e_entry
        file.extend(64_u64.to_le_bytes()); // e_phoff
        file.extend(0_u64.to_le_bytes()); // e_shoff
        file.extend(0_u32.to_le_bytes()); // e_flags
        for half in [64_u16, 56, 1, 64, 0, 0] {
            file.extend(half.to_le_bytes()); // e_ehsize … e_shstrndx
        }
        let path = b"/lib64/ld-linux-x86-64.so.2\0";
        let kind: u32 = if interpreter { 3 } else { 1 }; // p_type: PT_INTERP or PT_LOAD
        file.extend(kind.to_le_bytes());
        file.extend(4_u32.to_le_bytes()); // p_flags
        for word in [120, 0, 0, path.len() as u64, path.len() as u64, 1] {
            file.extend(word.to_le_bytes()); // p_offset … p_align
        }
        file.extend(path);
        file
    }

    fn platform(text: &str) -> Platform {
        text.parse().unwrap()
    }

    #[test]
    fn a_static_program_for_its_platform_passes() {
        check(&program(62, false), &platform("linux/amd64")).unwrap();
        check(&program(183, false), &platform("linux/arm64")).unwrap();
    }

    #[test]
    fn another_machine_an_interpreter_or_no_program_at_all_is_refused() {
        let amd64 = platform("linux/amd64");
        let wrong = check(&program(183, false), &amd64).unwrap_err().to_string();
        assert!(wrong.contains("machine 183") && wrong.contains("linux/amd64 has 62"), "{wrong}");
        let dynamic = check(&program(62, true), &amd64).unwrap_err().to_string();
        assert!(dynamic.contains("/lib64/ld-linux-x86-64.so.2"), "{dynamic}");
        assert!(matches!(check(b"#!/bin/sh", &amd64), Err(ElfError::NoElf(_))));
        assert!(check(&program(62, false), &platform("linux/riscv64")).is_err());
    }

    #[test]
    fn a_program_of_twelve_megabytes_passes_and_one_more_byte_does_not() {
        let mut file = program(62, false);
        file.resize(12 * 1024 * 1024, 0);
        check(&file, &platform("linux/amd64")).unwrap();
        file.push(0);
        assert!(matches!(check(&file, &platform("linux/amd64")), Err(ElfError::Size { .. })));
    }
}
