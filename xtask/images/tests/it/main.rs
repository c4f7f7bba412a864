//! The program as a whole, with a cargo that does what a test wants.
#![expect(clippy::unwrap_used, reason = "tests")]

mod login;
mod margin;
mod place;

use std::{
    fs::File,
    io::{BufRead as _, BufReader, Read as _},
    os::unix::process::ExitStatusExt as _,
    process::Command,
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
fn a_build_that_fails_says_what_to_do_and_makes_no_image() {
    let place = Place::new();
    place.build("echo 'error: it is wrong' >&2\nexit 101\n");
    let output = place.run();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("it is wrong") && said.contains("run the same command again"), "{said}");
    assert!(!place.image().exists());
}

/// The program with its target folder on a disk of that size; what is below `images/` is printed after.
#[expect(clippy::print_stderr, reason = "what is not tested is told loudly")]
fn on_a_small_disk(place: &Place, bytes: u32) -> Option<std::process::Output> {
    if Command::new("bwrap").arg("--version").output().is_err() {
        assert!(std::env::var_os("CI").is_none(), "bwrap is missing; `apt install bubblewrap`");
        eprintln!("NOT TESTED: bwrap is missing; `apt install bubblewrap`");
        return None;
    }
    let own = place.command();
    let mut command = Command::new("bwrap");
    command.args(["--dev-bind", "/", "/", "--size", &bytes.to_string(), "--tmpfs"]);
    command.arg(place.target()).args(["sh", "-c"]);
    command.arg("\"$@\" >/dev/null; code=$?; ls -A \"$0/images\" 2>/dev/null; exit $code");
    command.arg(place.target()).arg(own.get_program()).args(own.get_args());
    for (name, value) in own.get_envs() {
        command.env(name, value.unwrap());
    }
    Some(command.output().unwrap())
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
        let Some(output) = on_a_small_disk(&place, 100_000) else { return };
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{said}");
        assert!(said.contains("No space left on device"), "{said}");
        assert!(said.contains("`cargo xtask doctor` says what takes how much"), "{said}");
        assert!(said.contains("run the same command again"), "{said}");
        assert_eq!(String::from_utf8_lossy(&output.stdout), "", "something is left");
    }
}
