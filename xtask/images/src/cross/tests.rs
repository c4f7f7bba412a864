use super::*;

/// A machine that has these targets and programs, each C compiler with its static library.
struct Made<'a> {
    targets: &'a [&'a str],
    programs: &'a [&'a str],
    static_libc: bool,
}

impl Probe for Made<'_> {
    fn has_target(&self, _: Option<&Path>, target: &str) -> bool {
        self.targets.contains(&target)
    }

    fn has_program(&self, name: &str) -> bool {
        self.programs.contains(&name)
    }

    fn has_static_libc(&self, _: &str) -> bool {
        self.static_libc
    }

    fn version(&self, rustc: Option<&Path>) -> String {
        if rustc.is_some() { "rustc 1.96.0" } else { "rustc 1.95.0" }.to_owned()
    }
}

/// The platform of the other processor, and rustc's name for it.
fn foreign() -> (Platform, &'static str) {
    let (name, cpu) = if ARCH == "aarch64" { ("amd64", "x86_64") } else { ("arm64", "aarch64") };
    (format!("linux/{name}").parse().unwrap(), cpu)
}

#[test]
fn musl_is_taken_where_it_is_installed_whole() {
    let (platform, cpu) = foreign();
    let (musl, gnu) = (format!("{cpu}-unknown-linux-musl"), format!("{cpu}-unknown-linux-gnu"));
    let (musl_cc, gnu_cc) = (format!("{cpu}-linux-musl-gcc"), format!("{cpu}-linux-gnu-gcc"));
    let both = [musl.as_str(), gnu.as_str()];
    let made = Made { targets: &both, programs: &[&musl_cc, &gnu_cc], static_libc: true };
    let found = find(&platform, None, &made).unwrap();
    assert_eq!((found.libc, &found.cc), (Libc::Musl, &musl_cc));
    assert!(found.notes.is_empty(), "{:?}", found.notes);
    // ring and mimalloc are C: the target alone is not enough.
    let made = Made { programs: &[&gnu_cc], ..made };
    let found = find(&platform, None, &made).unwrap();
    assert_eq!((found.libc, found.target, found.cc), (Libc::Gnu, gnu, gnu_cc));
    assert!(found.notes[0].contains("static glibc"), "{:?}", found.notes);
}

#[test]
fn what_is_missing_is_named_with_the_command_that_installs_it() {
    let (platform, cpu) = foreign();
    let made = Made { targets: &[], programs: &[], static_libc: true };
    let missing = find(&platform, None, &made).unwrap_err().to_string();
    assert!(missing.contains(&format!("{platform} cannot be built here")), "{missing}");
    assert!(missing.contains(&format!("`rustup target add {cpu}-unknown-linux-gnu`")), "{missing}");
    let package = cpu.replace('_', "-");
    assert!(missing.contains(&format!("`apt install gcc-{package}-linux-gnu`")), "{missing}");
    assert!(missing.contains(&format!("`--rustc {platform}=PATH`")), "{missing}");
}

#[test]
fn a_compiler_without_static_libraries_is_found_before_the_link_fails() {
    let native = if ARCH == "aarch64" { "linux/arm64" } else { "linux/amd64" }.parse().unwrap();
    let target = format!("{ARCH}-unknown-linux-gnu");
    let made = Made { targets: &[&target], programs: &["cc"], static_libc: false };
    let missing = find(&native, None, &made).unwrap_err().to_string();
    assert!(missing.contains("no static C library; `apt install libc6-dev`"), "{missing}");
    let found = find(&native, None, &Made { static_libc: true, ..made }).unwrap();
    assert_eq!(found.cc, "cc");
}

#[test]
fn a_platform_that_no_image_is_made_for_is_refused() {
    let made = Made { targets: &[], programs: &[], static_libc: true };
    for platform in ["linux/riscv64", "windows/amd64"] {
        let missing = find(&platform.parse().unwrap(), None, &made).unwrap_err().to_string();
        assert!(missing.contains("choose among linux/amd64 and linux/arm64"), "{missing}");
    }
}

#[test]
fn another_compiler_is_used_and_told() {
    let (platform, cpu) = foreign();
    let target = format!("{cpu}-unknown-linux-gnu");
    let cc = format!("{cpu}-linux-gnu-gcc");
    let made = Made { targets: &[&target], programs: &[&cc], static_libc: true };
    let rustc = Path::new("/opt/other/rustc");
    let found = find(&platform, Some(rustc), &made).unwrap();
    assert!(found.notes[1].contains("rustc 1.96.0 at /opt/other/rustc"), "{:?}", found.notes);
    let environment = found.environment(Path::new("/src"), Path::new("/home/me/.cargo"));
    assert_eq!(environment["RUSTC"], "/opt/other/rustc");
    let lower = target.replace('-', "_");
    assert_eq!(environment[&format!("CC_{lower}")], cc.as_str());
    assert_eq!(environment[&format!("CARGO_TARGET_{}_LINKER", lower.to_uppercase())], cc.as_str());
    let flags = environment["CARGO_ENCODED_RUSTFLAGS"].to_str().unwrap();
    let ours =
        "\x1f--remap-path-prefix=/src=/loadmaster\x1f--remap-path-prefix=/home/me/.cargo=/cargo";
    assert!(flags.contains("-Ctarget-feature=+crt-static\x1f"), "{flags}");
    assert!(flags.ends_with(ours), "{flags}");
}

#[test]
fn what_makes_a_link_for_arm64_take_thrice_the_memory_is_turned_off_there() {
    let programs = ["x86_64-linux-gnu-gcc", "aarch64-linux-gnu-gcc"];
    let targets = ["x86_64-unknown-linux-gnu", "aarch64-unknown-linux-gnu"];
    let made = Made { targets: &targets, programs: &programs, static_libc: true };
    for (platform, is_off) in [("linux/amd64", false), ("linux/arm64", true)] {
        let found = find(&platform.parse().unwrap(), None, &made).unwrap();
        let environment = found.environment(Path::new("/src"), Path::new("/cargo"));
        let flags = environment["CARGO_ENCODED_RUSTFLAGS"].to_str().unwrap();
        assert_eq!(flags.contains("machine-outliner=never"), is_off, "{platform}: {flags}");
    }
}
