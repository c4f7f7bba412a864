//! `cargo xtask soak`: many pods come and go, and memory stays.

use std::{env, process::ExitCode};

use clap::Args;

use crate::cargo::{self, Built};

// The program that does the work has the same file; here it gives the help.
#[path = "../soak/src/options.rs"]
mod options;

/// Create and delete many pods, and see whether the scheduler's memory stays.
#[derive(Debug, Args)]
pub(crate) struct Soak {
    #[command(flatten)]
    options: options::Options,
}

impl Soak {
    pub(crate) fn run(self) -> anyhow::Result<ExitCode> {
        let profile: &[&str] = if self.options.release { &["--release"] } else { &[] };
        let built = Built::packages_with(&["xtask-soak", "loadmaster-scheduler"], profile)?;
        let program = built.program("xtask-soak")?;
        let scheduler = ["--scheduler".into(), built.program("scheduler")?.into()];
        // The program reads the same options from the same words.
        cargo::become_program(program, scheduler.into_iter().chain(env::args_os().skip(2)))
    }
}
