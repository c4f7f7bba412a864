//! `cargo xtask gate`: the course's plugins, checked before they go into an image.

use std::process::ExitCode;

use clap::Args;

use crate::{
    heavy::Insist,
    testing::{self, Output},
};

/// Check the labs' plugins over a framework built with them.
///
/// Ends with 0 when every check passes, or, with --break, when every variant that is broken on
/// purpose is caught; else with 1.
#[derive(Debug, Args)]
pub(crate) struct Gate {
    /// Break a plugin on purpose for each check, and show the check failing
    #[arg(long = "break")]
    break_plugins: bool,
    /// Begin though the machine has too little memory
    #[arg(long)]
    force: bool,
    /// How the result is shown
    #[arg(long, value_enum, default_value_t = Output::Text)]
    output: Output,
}

impl Gate {
    pub(crate) fn run(self) -> anyhow::Result<ExitCode> {
        let mut arguments = Vec::new();
        if self.break_plugins {
            arguments.push("--break".into());
        }
        testing::push(&mut arguments, "--output", Some(self.output.word()));
        testing::run("gate", arguments, Insist::Forced(self.force))
    }
}
