//! Running the programs of `loadmaster-testing`, which hold what this program is too light for.

use std::{ffi::OsString, process::ExitCode};

use clap::ValueEnum;

use crate::{
    cargo::{self, Built},
    heavy::{self, Insist},
};

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

/// Builds and becomes a program of `loadmaster-testing`.
pub(crate) fn run(
    program: &str,
    arguments: Vec<OsString>,
    insist: Insist,
) -> anyhow::Result<ExitCode> {
    let begun = heavy::before_a_dev_build(insist)?;
    let built = Built::packages_with(&["loadmaster-testing"], &["--quiet"], &begun)?;
    cargo::become_program(built.program(program)?, arguments)
}
