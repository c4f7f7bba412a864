//! `completions SHELL`.

use std::{io::Write, process::ExitCode};

use anyhow::Context;
use clap_complete::Shell;

/// Prints a completion script for a shell.
#[derive(Debug, clap::Args)]
pub(crate) struct Completions {
    /// The shell
    shell: Shell,
}

impl Completions {
    pub(super) fn run(self, command: &mut clap::Command) -> anyhow::Result<ExitCode> {
        let name = command.get_name().to_owned();
        let mut script = Vec::new();
        clap_complete::generate(self.shell, command, name, &mut script);
        anstream::stdout().write_all(&script).context("cannot print the script")?;
        Ok(ExitCode::SUCCESS)
    }
}
