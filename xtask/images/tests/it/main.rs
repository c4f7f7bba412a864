//! The program as a whole, with a cargo that does what a test wants.
#![expect(clippy::unwrap_used, reason = "tests")]

mod login;
mod margin;
mod place;

use std::{
    env,
    ffi::OsStr,
    fs::{self, File},
    io::{BufRead as _, BufReader, Read as _},
    os::unix::process::ExitStatusExt as _,
    process::{Command, Output},
};

use rustix::process::{Pid, Signal, kill_process};
use xtask_images::layout::Layout;

use place::Place;

/// Compiles for a minute, which it tells the test's pipe that it holds open as long as any part of it
/// lives.
const LONG: &str =
    "exec 3>\"$0.pipe\"\necho begun >&3\n(sleep 60; echo ended by itself >&3) &\nwait\n";

#[test]
fn a_build_that_is_killed_leaves_the_earlier_image_no_compiler_and_a_way_on() {
    let place = Place::new();
    place.build(&place.succeeding());
    assert_eq!(place.run().status.code(), Some(0));
    let earlier = place.index();
    for (signal, code) in
        [(Signal::KILL, None), (Signal::TERM, Some(143)), (Signal::INT, Some(130))]
    {
        place.build(LONG);
        let pipe = place.pipe();
        let mut child = place.command().spawn().unwrap();
        let mut pipe = BufReader::new(File::open(pipe).unwrap());
        let mut begun = String::new();
        pipe.read_line(&mut begun).unwrap();
        assert_eq!(begun, "begun\n");

        kill_process(Pid::from_child(&child), signal).unwrap();
        let status = child.wait().unwrap();
        assert_eq!(status.code(), code);
        assert_eq!(status.signal(), code.is_none().then_some(9));
        // The pipe ends with the last of those who could write to it.
        let mut rest = String::new();
        pipe.read_to_string(&mut rest).unwrap();
        assert_eq!(rest, "", "the compiler lived on");
        assert_eq!(place.index(), earlier, "after {signal:?}");

        place.build(&place.succeeding());
        let next = place.run();
        assert_eq!(next.status.code(), Some(0), "{}", String::from_utf8_lossy(&next.stderr));
        assert_eq!(place.index(), earlier);
    }
    Layout::open(&place.image()).unwrap().image().unwrap();
}

#[test]
fn the_time_of_an_image_is_nothing_that_its_binary_is_compiled_anew_for() {
    let place = Place::new();
    let told = place.root().join("told");
    place.build(&format!(
        "echo \"${{SOURCE_DATE_EPOCH:-nothing}}\" >'{}'\n{}",
        told.display(),
        place.succeeding()
    ));
    let output = place.run();
    assert!(output.status.success(), "{output:?}");
    assert_eq!(fs::read_to_string(told).unwrap(), "nothing\n");
}

#[test]
fn a_build_that_fails_says_what_to_do_and_makes_no_image() {
    let place = Place::new();
    place.build("echo 'error: it is wrong' >&2\nexit 101\n");
    let output = place.run();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("it is wrong") && said.contains("run the same command again"), "{said}");
    assert!(!place.image().exists());
}

/// Runs the program with further words for `bwrap`, which changes what it sees of the system.
#[expect(clippy::print_stderr, reason = "what is not tested is told loudly")]
fn in_another_system(place: &Place, bwrap: &[&OsStr]) -> Option<Output> {
    if Command::new("bwrap").arg("--version").output().is_err() {
        assert!(env::var_os("CI").is_none(), "bwrap is missing; `apt install bubblewrap`");
        eprintln!("NOT TESTED: bwrap is missing; `apt install bubblewrap`");
        return None;
    }
    let own = place.command();
    let mut command = Command::new("bwrap");
    command.args(["--dev-bind", "/", "/"]).args(bwrap).args(["sh", "-c"]);
    // What is in the images' folder afterwards goes to the standard output.
    command.arg("\"$@\" >/dev/null; code=$?; ls -A \"$0/images\" 2>/dev/null; exit $code");
    command.arg(place.target()).arg(own.get_program()).args(own.get_args()).args(["--jobs", "2"]);
    for (name, value) in own.get_envs() {
        command.env(name, value.unwrap());
    }
    Some(command.output().unwrap())
}

#[test]
fn a_build_for_which_memory_does_not_suffice_goes_on_with_less_and_says_so() {
    let place = Place::new();
    let (manifest, vmstat) = (place.root().join("Cargo.toml"), place.root().join("cargo.vmstat"));
    fs::write(manifest, "[profile.release]\nlto = \"fat\"\n").unwrap();
    fs::write(&vmstat, "oom_kill 7\n").unwrap();
    // The system kills a compiler and counts that, until so little is optimised.
    for (enough, code, images) in [("off", 0, "x\n"), ("none", 1, "")] {
        let kill = "echo \"oom_kill $(( $(sed 's/[^0-9]//g' /proc/vmstat) + 1 ))\" >\"$0.vmstat\"";
        let killed = format!(
            "if [ \"$CARGO_PROFILE_RELEASE_LTO\" != {enough} ]; then {kill}; exit 101; fi\n"
        );
        place.build(&format!("{killed}{}", place.succeeding()));
        fs::remove_dir_all(place.target().join("images")).unwrap_or_default();
        let bind = [OsStr::new("--bind"), vmstat.as_os_str(), OsStr::new("/proc/vmstat")];
        let Some(output) = in_another_system(&place, &bind) else { return };
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{said}");
        for lto in ["fat", "thin", "off"] {
            let told = format!("again with lto = {lto} and 1 job");
            assert!(said.contains(&told), "{told}: {said}");
        }
        assert_eq!(said.contains("stop other programs"), code == 1, "{said}");
        assert_eq!(String::from_utf8_lossy(&output.stdout), images);
    }
}

#[test]
fn a_disk_that_is_full_while_compiling_or_assembling_is_said_to_be_and_leaves_nothing() {
    let place = Place::new();
    for (build, code) in [
        ("head -c 1000000 /dev/zero >\"$0.target/x\" || exit 101\n".to_owned(), 1),
        (place.succeeding(), 2),
    ] {
        place.build(&build);
        // Less than the authorities' certificates alone, compressed.
        let target = place.target();
        let disk = ["--size", "100000", "--tmpfs"].map(OsStr::new);
        let disk = [&disk[..], &[target.as_os_str()]].concat();
        let Some(output) = in_another_system(&place, &disk) else { return };
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{said}");
        assert!(said.contains("No space left on device"), "{said}");
        assert!(said.contains("`cargo xtask doctor` says what takes how much"), "{said}");
        assert!(said.contains("run the same command again"), "{said}");
        assert_eq!(String::from_utf8_lossy(&output.stdout), "", "something is left");
    }
}
