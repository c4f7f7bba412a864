//! Running the programs of `loadmaster-testing`, which hold what this program is too light for.

use std::{ffi::OsString, process::ExitCode};

use anyhow::Context as _;
use clap::ValueEnum;

use crate::cargo;

/// How a result is shown.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Output {
    /// For people.
    Text,
    /// For programs.
    Json,
}

/// Appends `--name value` where there is a value.
pub(crate) fn push(arguments: &mut Vec<OsString>, name: &str, value: Option<impl Into<OsString>>) {
    if let Some(value) = value {
        arguments.extend([name.into(), value.into()]);
    }
}

impl Output {
    /// The word by which it is asked for.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Json => "json",
        }
    }
}

/// Builds and runs a program of `loadmaster-testing`, and ends as it does.
pub(crate) fn run(program: &str, arguments: Vec<OsString>) -> anyhow::Result<ExitCode> {
    let manifest = cargo::root().join("Cargo.toml");
    let status = cargo::command()
        .args(["run", "--quiet", "--manifest-path"])
        .arg(manifest)
        .args(["--package", "loadmaster-testing", "--bin", program, "--"])
        .args(arguments)
        .status()
        .with_context(|| format!("cannot run cargo to build {program}"))?;
    let code = status.code().and_then(|it| u8::try_from(it).ok());
    Ok(code.map_or(ExitCode::FAILURE, ExitCode::from))
}
