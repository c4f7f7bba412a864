//! A margin that cannot be met, by the real command.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
};

use tempfile::TempDir;

/// A repository with one small program, and with guests that do not fit their machine.
fn repository() -> TempDir {
    let root = tempfile::tempdir().unwrap();
    for (file, text) in [
        (
            "Cargo.toml",
            "[package]\nname = \"hello\"\nversion = \"1.0.0\"\nedition = \"2024\"\n\n[workspace]\n",
        ),
        ("Cargo.lock", "version = 4\n\n[[package]]\nname = \"hello\"\nversion = \"1.0.0\"\n"),
        ("src/main.rs", "fn main() {}\n"),
        (
            "images/hello.toml",
            "description = \"A greeting\"\nrepository = \"academy/hello\"\n\n[binary]\n\
             package = \"hello\"\nname = \"hello\"\n\n[run]\nentrypoint = \"/hello\"\n",
        ),
        (
            "labs/topology.toml",
            "ceiling = \"1GB\"\nbuilder = \"forge\"\n\n[guests.forge]\nmemory = \"2560MB\"\n",
        ),
    ] {
        let file = root.path().join(file);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
    }
    root
}

fn target(root: &Path) -> PathBuf {
    root.join("built")
}

fn build(root: &Path, more: &[&str]) -> (Option<i32>, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_xtask-images"));
    command.arg("--root").arg(root).args(["build", "hello"]).args(more);
    let Output { status, stdout, stderr } =
        command.env("CARGO_TARGET_DIR", target(root)).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (status.code(), text(stdout), text(stderr))
}

#[test]
fn what_does_not_fit_is_not_begun_and_is_built_all_the_same_where_that_is_forced() {
    let repository = repository();
    let root = repository.path();
    let (code, _, said) = build(root, &[]);
    assert_eq!(code, Some(1), "{said}");
    // 2560 MB are given, and 1024 MB are the ceiling.
    let line = said.lines().find(|it| it.contains("ceiling of all guests")).unwrap_or_default();
    assert!(line.contains("FAILS") && line.contains("-1536 MB"), "{said}");
    assert!(said.contains("not begun") && said.contains("--force"), "{said}");
    assert!(!target(root).exists(), "nothing was compiled");

    let (code, printed, said) = build(root, &["--force"]);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("going on although these fail"), "{said}");
    let program = printed.lines().last().unwrap_or_default();
    assert!(Command::new(program).status().unwrap().success(), "{printed}");
}
