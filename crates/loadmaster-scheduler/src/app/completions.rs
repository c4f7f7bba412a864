//! `completions SHELL`.

use std::process::ExitCode;

use clap_complete::Shell;

use super::print::print;

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
        print(&String::from_utf8_lossy(&script))?;
        Ok(ExitCode::SUCCESS)
    }
}
