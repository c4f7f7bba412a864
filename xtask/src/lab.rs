//! `cargo xtask lab`: the lab cluster, and the lab pages run as a test.

use std::{env, ffi::OsString, process::ExitCode};

use anstream::println;
use anyhow::Context as _;
use clap::{Args, Subcommand};

use crate::{
    cargo::{self, Built},
    heavy::{self, Insist},
    stage1,
};

// The program that does the work has the same file; here it gives the help.
#[path = "../labs/src/pages/options.rs"]
mod options;

/// Run lab pages, or the lab cluster itself.
#[derive(Debug, Args)]
#[command(arg_required_else_help = true, after_help = PROGRAM)]
pub(crate) struct Lab {
    #[command(subcommand)]
    command: Command,
}

/// Words that clap cannot list: it does not know them.
const PROGRAM: &str = "\
The lab cluster's own commands, each with a --help:
  up      Start a cluster: `cargo xtask lab up --nodes 3 --detach`
  status  Say whether a cluster runs and how to reach it
  down    Stop the cluster and remove its files";

#[derive(Debug, Subcommand)]
enum Command {
    Run(options::Options),
    /// Build `lab` and `scheduler` and print the folder that holds them, for PATH.
    Path,
    /// Anything else is the `lab` program's.
    #[command(external_subcommand)]
    Program(Vec<OsString>),
}

impl Lab {
    pub(crate) fn run(self) -> anyhow::Result<ExitCode> {
        match self.command {
            // The program reads the same options from the same words: `run …`.
            Command::Run(options) => {
                let begun = heavy::before_a_dev_build(Insist::Forced(options.force))?;
                stage1::run_labs(env::args_os().skip(2), &begun)
            }
            Command::Path => {
                let built = Built::packages(cargo::LABS, Insist::Always)?;
                let dir = built.program("lab")?.parent().context("a program lies in a folder")?;
                println!("{}", dir.display());
                Ok(ExitCode::SUCCESS)
            }
            // `lab up` starts the scheduler that it finds beside itself, so both are built.
            Command::Program(words) => {
                let built = Built::packages(cargo::LABS, Insist::Always)?;
                cargo::become_program(built.program("lab")?, words)
            }
        }
    }
}
