//! `cargo xtask doctor`, `build`, `build-image`, `verify-tags`, `forge`, `write-down`: from the source to an image in
//! a registry.

use std::{env, ffi::OsString, process::ExitCode};

use crate::{
    cargo::{self, Built},
    heavy::Insist,
};

// The program that does the work has the same files; here they give the help.
#[path = "../images/src/options/mod.rs"]
mod options;

pub(crate) use options::{
    build::Options as Build, build_image::Options as BuildImage, doctor::Options as Doctor,
    forge::Options as Forge, verify_tags::Options as VerifyTags, write_down::Options as WriteDown,
};

/// Builds and becomes the program behind the images' commands, which reads the same words. It looks itself
/// whether there is room for what it is asked for, and so must come to run.
pub(crate) fn run() -> anyhow::Result<ExitCode> {
    let built = Built::packages(&["xtask-images"], Insist::Always)?;
    let root: [OsString; 2] = ["--root".into(), cargo::root().into()];
    let words = root.into_iter().chain(env::args_os().skip(1));
    cargo::become_program(built.program("xtask-images")?, words)
}
