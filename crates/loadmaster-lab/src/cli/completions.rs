//! `lab completions`.

use std::process::ExitCode;

use clap::{Args, CommandFactory as _};
use clap_complete::Shell;

use super::arguments::Lab;
use super::output::say;

/// Print completions for a shell.
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  lab completions bash > ~/.local/share/bash-completion/completions/lab"
)]
pub(super) struct Completions {
    /// The shell.
    shell: Shell,
}

impl Completions {
    pub(super) fn run(self) -> anyhow::Result<ExitCode> {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut Lab::command(), "lab", &mut script);
        say(String::from_utf8(script)?.trim_end())?;
        Ok(ExitCode::SUCCESS)
    }
}
