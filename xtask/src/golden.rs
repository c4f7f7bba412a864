//! `cargo xtask golden`: our decisions beside those of kube-scheduler.

use std::{path::PathBuf, process::ExitCode};

use clap::Args;

use crate::{
    heavy::Insist,
    testing::{self, Output},
};

/// Compare our decisions with those recorded from kube-scheduler 1.36.2.
///
/// Prints a line for each family, and for a case that fails the smallest difference. Ends with 0
/// when every case is equal or deviates as docs/deviations.md says, with 1 when one fails, with 2
/// when the cases cannot be run.
#[derive(Debug, Args)]
pub(crate) struct Golden {
    /// Where the cases are, *.jsonl or *.jsonl.zst [default: those of this repository]
    #[arg(long)]
    dir: Option<PathBuf>,
    /// Only this family: 02-taints, or a part of its name
    #[arg(long)]
    family: Option<String>,
    /// Only the case of this id
    #[arg(long)]
    case: Option<String>,
    /// Begin though the machine has too little memory
    #[arg(long)]
    force: bool,
    /// How the result is shown
    #[arg(long, value_enum, default_value_t = Output::Text)]
    output: Output,
}

impl Golden {
    pub(crate) fn run(self) -> anyhow::Result<ExitCode> {
        let mut arguments = Vec::new();
        testing::push(&mut arguments, "--dir", self.dir);
        testing::push(&mut arguments, "--family", self.family);
        testing::push(&mut arguments, "--case", self.case);
        testing::push(&mut arguments, "--output", Some(self.output.word()));
        testing::run("golden", arguments, Insist::Forced(self.force))
    }
}
