//! A repository of one image, and a cargo to build it with.

use std::{
    env,
    fs::{self, Permissions},
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::{Command, Output},
};

use serde_json::json;
use tempfile::TempDir;

/// A repository with the image `x`.
pub(crate) struct Place(TempDir);

const RECIPE: &str = r#"
description = "A test's."
repository = "academy/x"
[binary]
package = "x"
name = "x"
[run]
entrypoint = "/x"
"#;

/// Does what the test's own words say for `cargo build`, and `rustc` too.
const CARGO: &str = r#"#!/bin/sh
case $1 in
metadata) cat "$0.metadata" ;;
tree) printf '0\tx v0.1.0 (/src)\tApache-2.0\n' ;;
build) . "$0.build" ;;
--print) dirname "$0.std/libstd-x.rlib" ;;
--version) echo rustc 1.95.0 ;;
esac
"#;

impl Place {
    pub(crate) fn new() -> Self {
        let place = Self(tempfile::tempdir().unwrap());
        let root = place.0.path();
        for folder in ["images", "labs", "cargo.target", "cargo.std"] {
            fs::create_dir(root.join(folder)).unwrap();
        }
        let topology = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../labs/topology.toml");
        fs::copy(topology, root.join("labs/topology.toml")).unwrap();
        let package = json!({"name": "x", "version": "0.1.0", "license": "Apache-2.0",
            "targets": [{"name": "x", "kind": ["bin"]}]});
        let metadata = json!({"target_directory": place.target(), "packages": [package]});
        for (file, content) in [
            ("images/x.toml", RECIPE),
            ("Cargo.lock", "[[package]]\nname = \"x\"\nversion = \"0.1.0\"\n"),
            ("cargo", CARGO),
            ("cargo.metadata", &metadata.to_string()),
            ("cargo.std/libstd-x.rlib", ""),
        ] {
            fs::write(root.join(file), content).unwrap();
        }
        fs::write(root.join("program"), program()).unwrap();
        fs::set_permissions(root.join("cargo"), Permissions::from_mode(0o755)).unwrap();
        place
    }

    /// What `cargo build` does from now on; the cargo's own path is `$0`.
    pub(crate) fn build(&self, script: &str) {
        fs::write(self.0.path().join("cargo.build"), script).unwrap();
    }

    /// Words for [`Place::build`] that build the program.
    pub(crate) fn succeeding(&self) -> String {
        let executable = self.0.path().join("program");
        let message = json!({"reason": "compiler-artifact", "target": {"name": "x"},
            "executable": executable, "fresh": false});
        format!("cat <<'END'\n{message}\nEND\n")
    }

    /// A pipe to the running cargo, `$0.pipe` there.
    pub(crate) fn pipe(&self) -> PathBuf {
        let pipe = self.0.path().join("cargo.pipe");
        if !pipe.exists() {
            assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        }
        pipe
    }

    pub(crate) fn target(&self) -> PathBuf {
        self.0.path().join("cargo.target")
    }

    /// Where the finished image is.
    pub(crate) fn image(&self) -> PathBuf {
        self.target().join("images/x")
    }

    /// What the finished image lists.
    pub(crate) fn index(&self) -> String {
        fs::read_to_string(self.image().join("index.json")).unwrap()
    }

    pub(crate) fn root(&self) -> &Path {
        self.0.path()
    }

    /// The program, without a word yet of what it is to do.
    pub(crate) fn program(&self) -> Command {
        let cargo = self.root().join("cargo");
        let mut command = Command::new(env!("CARGO_BIN_EXE_xtask-images"));
        command.arg("--root").arg(self.root());
        command.env("CARGO", &cargo).env("RUSTC", &cargo).env("SOURCE_DATE_EPOCH", "1");
        command
    }

    /// `build-image`, whatever the machine has.
    pub(crate) fn command(&self) -> Command {
        let mut command = self.program();
        command.args(["build-image", "x", "--force", "--platform"]);
        command.arg(if cfg!(target_arch = "aarch64") { "linux/arm64" } else { "linux/amd64" });
        command
    }

    pub(crate) fn run(&self) -> Output {
        self.command().output().unwrap()
    }
}

/// The header of an ELF file for this machine, without any segment: see chapter 4 of the System V ABI.
fn program() -> Vec<u8> {
    let machine: u16 = if cfg!(target_arch = "aarch64") { 183 } else { 62 };
    let mut file = b"\x7fELF\x02\x01\x01".to_vec();
    file.resize(16, 0);
    for half in [2, machine, 1, 0] {
        file.extend(half.to_le_bytes()); // e_type, e_machine, e_version
    }
    file.resize(52, 0);
    for half in [64_u16, 56, 0, 64, 0, 0] {
        file.extend(half.to_le_bytes()); // e_ehsize … e_shstrndx
    }
    file
}
