//! `cargo xtask stage1`: see one plugin change where pods go.

use std::{env, ffi::OsString, path::Path, process::ExitCode};

use anstream::println;
use clap::Args;

use crate::{
    cargo::{self, Built},
    heavy::{self, Begun, Insist},
};

// The program that does the work has the same file; here it gives the help.
#[path = "../labs/src/stage1/options.rs"]
mod options;

/// See one plugin change where pods go, on real objects and through a real scheduler process.
#[derive(Debug, Args)]
pub(crate) struct Stage1 {
    #[command(flatten)]
    options: options::Options,
    /// Print what would be done and do nothing.
    #[arg(long)]
    dry_run: bool,
}

impl Stage1 {
    pub(crate) fn run(self) -> anyhow::Result<ExitCode> {
        if self.dry_run {
            println!("cargo {}", cargo::build_arguments(cargo::LABS).join(" "));
            for step in steps(&self.options) {
                println!("{step}");
            }
            return Ok(ExitCode::SUCCESS);
        }
        // The program reads the same options from the same words.
        let begun = heavy::before_a_dev_build(Insist::Forced(self.options.force))?;
        run_labs(env::args_os().skip(1), &begun)
    }
}

/// Builds and becomes the program behind the labs' commands, with `images`, the one behind the images', at
/// hand.
pub(crate) fn run_labs_with(images: &Path, begun: &Begun) -> anyhow::Result<ExitCode> {
    let images = [OsString::from("--images"), images.into()];
    run_labs(images.into_iter().chain(env::args_os().skip(1)), begun)
}

/// Builds and becomes the program behind the labs' commands.
pub(crate) fn run_labs(
    words: impl Iterator<Item = OsString>,
    begun: &Begun,
) -> anyhow::Result<ExitCode> {
    let built = Built::packages_with(cargo::LABS, &[], begun)?;
    let option = |name: &str, value: OsString| [name.into(), value];
    let given = [
        option("--root", cargo::root().into()),
        option("--target", cargo::target()?.into()),
        option("--lab", built.program("lab")?.into()),
        option("--scheduler", built.program("scheduler")?.into()),
    ];
    let program = built.program("xtask-labs")?;
    cargo::become_program(program, given.into_iter().flatten().chain(words))
}

/// What would be done, a line a step.
fn steps(options: &options::Options) -> Vec<String> {
    let profile = options.profile.clone().unwrap_or_else(|| "profiles/concentrate.yaml".into());
    let (profile, pods) = (profile.display(), options.replicas);
    let mut steps = vec![
        format!("scheduler --config {profile} --kubeconfig KUBECONFIG -v 4"),
        "create namespace sched-lab".to_owned(),
        format!("create deployment spread of {pods} pods for default-scheduler, count, delete"),
        format!("create deployment spread of {pods} pods for the profile's scheduler, count"),
        "print the pods per node, the events, and where the extension point is declared".to_owned(),
    ];
    if !options.is_foreign() {
        steps.insert(0, format!("lab up --nodes {}", options.nodes));
    }
    if !options.keep {
        steps.push("remove everything again".to_owned());
    }
    steps
}
