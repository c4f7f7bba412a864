//! What a static program for a platform is built with: which target, which compilers, and what that
//! changes for those who run it.

use std::{
    collections::BTreeMap,
    env::{self, consts::ARCH},
    ffi::OsString,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use crate::oci::Platform;

#[cfg(test)]
mod tests;

/// For aarch64 alone, LLVM looks at the end for code that functions have in common, and so keeps the whole
/// program's machine code in memory until then: 3.3 GB, where a link without takes 1.3 GB.
const NO_OUTLINER: &str = "-Cllvm-args=-enable-machine-outliner=never";

/// The C library that a program is linked with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Libc {
    /// What is shipped: small, made to be linked statically; mimalloc allocates.
    Musl,
    /// glibc, linked statically.
    Gnu,
}

/// Everything that a build for a platform needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Toolchain {
    /// For which.
    pub platform: Platform,
    /// rustc's name for it.
    pub target: String,
    /// The C library.
    pub libc: Libc,
    /// A compiler other than the workspace's.
    pub rustc: Option<PathBuf>,
    /// The C compiler, which links too.
    pub cc: String,
    /// What differs from what is shipped, a sentence each.
    pub notes: Vec<String>,
}

/// A platform that cannot be built here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missing {
    /// Which.
    pub platform: Platform,
    /// What is missing, and how it is had.
    pub faults: Vec<Fault>,
}

/// A missing part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// What.
    pub what: String,
    /// The command that mends it.
    pub mend: String,
}

/// Looks at the machine; in tests it is made up.
pub trait Probe {
    /// Whether the compiler (the workspace's where none is named) has the standard library of `target`.
    fn has_target(&self, rustc: Option<&Path>, target: &str) -> bool;
    /// Whether the program is found in PATH.
    fn has_program(&self, name: &str) -> bool;
    /// Whether the C compiler has a static C library.
    fn has_static_libc(&self, cc: &str) -> bool;
    /// What the compiler says of its version, `rustc 1.95.0 (…)`.
    fn version(&self, rustc: Option<&Path>) -> String;
}

/// This machine.
#[derive(Clone, Copy, Debug)]
pub struct Machine;

impl Probe for Machine {
    fn has_target(&self, rustc: Option<&Path>, target: &str) -> bool {
        let folder = output(Command::new(rustc_or_default(rustc)).args([
            "--print",
            "target-libdir",
            "--target",
            target,
        ]));
        let files = folder.and_then(|it| Path::new(it.trim()).read_dir().ok());
        files.into_iter().flatten().flatten().any(|it| {
            let name = it.file_name();
            let name = name.to_string_lossy();
            name.starts_with("libstd-") && name.ends_with(".rlib")
        })
    }

    fn has_program(&self, name: &str) -> bool {
        let path = env::var_os("PATH").unwrap_or_default();
        env::split_paths(&path).any(|it| it.join(name).is_file())
    }

    fn has_static_libc(&self, cc: &str) -> bool {
        // A compiler that does not find the file answers with its bare name.
        let found = output(Command::new(cc).arg("-print-file-name=libc.a"));
        found.is_some_and(|it| Path::new(it.trim()).is_absolute())
    }

    fn version(&self, rustc: Option<&Path>) -> String {
        let said = output(Command::new(rustc_or_default(rustc)).arg("--version"));
        said.map_or_else(|| "rustc of an unknown version".to_owned(), |it| it.trim().to_owned())
    }
}

fn rustc_or_default(rustc: Option<&Path>) -> OsString {
    rustc.map_or_else(|| env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()), Into::into)
}

fn output(command: &mut Command) -> Option<String> {
    let output = command.stdin(Stdio::null()).stderr(Stdio::null()).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Finds what builds for `platform`: musl where its target and a C compiler for it are installed, else
/// static glibc. `rustc` is the compiler that was named for this platform, if one was.
///
/// # Errors
/// When neither can be built; says what the nearer one lacks.
pub fn find(
    platform: &Platform,
    rustc: Option<&Path>,
    probe: &dyn Probe,
) -> Result<Toolchain, Missing> {
    let Some(cpu) = cpu(platform) else {
        let what = format!("no image is made for {platform}");
        let mend = "choose among linux/amd64 and linux/arm64".to_owned();
        return Err(Missing { platform: platform.clone(), faults: vec![Fault { what, mend }] });
    };
    let musl = try_libc(Libc::Musl, cpu, rustc, probe);
    let mut notes = Vec::new();
    let (libc, (target, cc)) = match musl {
        Ok(found) => (Libc::Musl, found),
        Err(without) => {
            let found = try_libc(Libc::Gnu, cpu, rustc, probe)
                .map_err(|faults| Missing { platform: platform.clone(), faults })?;
            let why: Vec<_> = without.into_iter().map(|it| it.what).collect();
            notes.push(format!(
                "linked with static glibc and its allocator; what is shipped has musl and mimalloc ({})",
                why.join(", ")
            ));
            (Libc::Gnu, found)
        }
    };
    if let Some(rustc) = rustc {
        let (version, ours) = (probe.version(Some(rustc)), probe.version(None));
        notes.push(format!(
            "compiled by {version} at {}; what is shipped by {ours}",
            rustc.display()
        ));
    }
    let rustc = rustc.map(Path::to_owned);
    Ok(Toolchain { platform: platform.clone(), target, libc, rustc, cc, notes })
}

/// The target and the C compiler, or what is missing.
fn try_libc(
    libc: Libc,
    cpu: &str,
    rustc: Option<&Path>,
    probe: &dyn Probe,
) -> Result<(String, String), Vec<Fault>> {
    let is_native = cpu == ARCH;
    let (suffix, native_cc, package) = match libc {
        Libc::Musl => ("musl", "musl-gcc", "musl-tools".to_owned()),
        Libc::Gnu if is_native => ("gnu", "cc", "gcc libc6-dev".to_owned()),
        Libc::Gnu => ("gnu", "cc", format!("gcc-{}-linux-gnu", cpu.replace('_', "-"))),
    };
    let target = format!("{cpu}-unknown-linux-{suffix}");
    let mut faults = Vec::new();
    if !probe.has_target(rustc, &target) {
        let what = match rustc {
            Some(rustc) => format!("{} has no target {target}", rustc.display()),
            None => format!("the target {target} is not installed"),
        };
        let mend = match rustc {
            Some(_) => format!("--rustc with a compiler that has {target}"),
            None => format!("rustup target add {target}"),
        };
        faults.push(Fault { what, mend });
    }
    let names = [format!("{cpu}-linux-{suffix}-gcc"), native_cc.to_owned()];
    let known = if is_native { &names[..] } else { &names[..1] };
    let cc = known.iter().find(|it| probe.has_program(it));
    match cc {
        None => {
            let what = format!("there is no C compiler {}", known.join(" or "));
            let mend = match libc {
                Libc::Musl if !is_native => format!("put {} into PATH", names[0]),
                _ => format!("apt install {package}"),
            };
            faults.push(Fault { what, mend });
        }
        Some(cc) if !probe.has_static_libc(cc) => {
            let what = format!("{cc} has no static C library");
            let package = match libc {
                Libc::Gnu if !is_native => "libc6-dev-arm64-cross",
                Libc::Gnu => "libc6-dev",
                Libc::Musl => "musl-dev",
            };
            faults.push(Fault { what, mend: format!("apt install {package}") });
        }
        Some(_) => {}
    }
    match cc {
        Some(cc) if faults.is_empty() => Ok((target, cc.clone())),
        _ => Err(faults),
    }
}

/// rustc's name for a platform's processor.
fn cpu(platform: &Platform) -> Option<&'static str> {
    match (platform.os.as_str(), platform.architecture.as_str()) {
        ("linux", "amd64") => Some("x86_64"),
        ("linux", "arm64") => Some("aarch64"),
        _ => None,
    }
}

impl Toolchain {
    /// What cargo must find in its environment to build for the platform. Paths of this machine are left
    /// out of the program: the repository's `root` and cargo's own folder.
    pub fn environment(&self, root: &Path, cargo_home: &Path) -> BTreeMap<String, OsString> {
        let mut variables = BTreeMap::new();
        let lower = self.target.replace('-', "_");
        let is_native = self.target.starts_with(ARCH);
        // For its own processor rustc links musl by itself, with the objects that it brings.
        if !(is_native && self.libc == Libc::Musl) {
            let linker = format!("CARGO_TARGET_{}_LINKER", lower.to_uppercase());
            variables.insert(linker, self.cc.clone().into());
        }
        variables.insert(format!("CC_{lower}"), self.cc.clone().into());
        if let Some(rustc) = &self.rustc {
            variables.insert("RUSTC".to_owned(), rustc.clone().into());
        }
        let mut flags = given_flags();
        flags.push("-Ctarget-feature=+crt-static".into());
        if self.target.starts_with("aarch64") {
            flags.push(NO_OUTLINER.into());
        }
        for (path, name) in [(root, "/loadmaster"), (cargo_home, "/cargo")] {
            let mut flag = OsString::from("--remap-path-prefix=");
            flag.push(path);
            flag.push("=");
            flag.push(name);
            flags.push(flag);
        }
        variables.insert("CARGO_ENCODED_RUSTFLAGS".to_owned(), flags.join("\x1f".as_ref()));
        variables
    }
}

/// The flags that the user gives every build.
fn given_flags() -> Vec<OsString> {
    let encoded = env::var("CARGO_ENCODED_RUSTFLAGS").unwrap_or_default();
    let plain = env::var("RUSTFLAGS").unwrap_or_default();
    let words: Vec<&str> = match encoded.as_str() {
        "" => plain.split_whitespace().collect(),
        it => it.split('\x1f').collect(),
    };
    words.into_iter().map(Into::into).collect()
}

/// What is missing, as one failure.
#[derive(Debug, thiserror::Error)]
#[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
pub struct CannotBuild(pub Vec<Missing>);

impl std::fmt::Display for Missing {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} cannot be built here:", self.platform)?;
        for fault in &self.faults {
            write!(f, "\n  {}; `{}`", fault.what, fault.mend)?;
        }
        write!(
            f,
            "\n  or name a Rust compiler that has the target: `--rustc {}=PATH`; `--platform` builds \
             fewer platforms on purpose",
            self.platform
        )
    }
}
