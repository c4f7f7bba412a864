//! `cargo xtask soak`: many pods come and go, and memory stays.

use std::{env, process::ExitCode};

use clap::Args;

use crate::{
    cargo::{self, Built},
    heavy::{self, Step},
};

// The program that does the work has the same file; here it gives the help.
#[path = "../soak/src/options.rs"]
mod options;

use options::Options;

/// Create and delete many pods, and see whether the scheduler's memory stays.
#[derive(Debug, Args)]
pub(crate) struct Soak {
    #[command(flatten)]
    options: Options,
}

impl Soak {
    pub(crate) fn run(self) -> anyhow::Result<ExitCode> {
        let Options { release, force, .. } = self.options;
        let (profile, more): (_, &[&str]) =
            if release { ("release", &["--release"]) } else { ("dev", &[]) };
        let (begun, _) = heavy::before(Step {
            name: "soak",
            program: "scheduler",
            profile,
            registry: None,
            kubeconfig: None,
            force,
        })?;
        let packages = ["xtask-soak", "loadmaster-scheduler"];
        let built = Built::packages_with(&packages, more, &begun)?;
        let program = built.program("xtask-soak")?;
        let scheduler = ["--scheduler".into(), built.program("scheduler")?.into()];
        // It measures, and so takes the lock for itself when ours goes.
        let target = ["--target".into(), cargo::target()?.into()];
        let given = scheduler.into_iter().chain(target);
        // The program reads the same options from the same words.
        cargo::become_program(program, given.chain(env::args_os().skip(2)))
    }
}
