//! `cargo xtask stage2` and `teardown`: the image as a second scheduler, and everything removed again.

use std::process::ExitCode;

use clap::Args;

use crate::{
    cargo::Built,
    heavy::{self, Insist, Step},
    stage1,
};

// The program that does the work has the same files; here they give the help.
#[path = "../labs/src/stage2/options.rs"]
mod options;
#[path = "../labs/src/teardown/options.rs"]
mod teardown;

/// Run the image from the registry as a cluster's second scheduler, and see where pods go.
#[derive(Debug, Args)]
pub(crate) struct Stage2 {
    #[command(flatten)]
    options: options::Options,
}

/// Remove what stages have left: clusters, registries, namespaces, files. Images are kept.
#[derive(Debug, Args)]
pub(crate) struct Teardown {
    #[command(flatten)]
    _options: teardown::Options,
}

impl Stage2 {
    /// Becomes the program that does the work, which reads the same words.
    pub(crate) fn run(&self) -> anyhow::Result<ExitCode> {
        let options = &self.options;
        let (begun, images) = heavy::before(Step {
            name: "stage2",
            program: "xtask-labs",
            profile: "dev",
            registry: options
                .image
                .split_once('/')
                .map(|it| it.0)
                .filter(|_| options.kind.is_none()),
            kubeconfig: options.kubeconfig.as_deref().filter(|_| options.context.is_none()),
            force: options.force,
        })?;
        stage1::run_labs_with(&images, &begun)
    }
}

impl Teardown {
    /// Becomes the program that does the work; what gives memory back is never refused.
    pub(crate) fn run() -> anyhow::Result<ExitCode> {
        let begun = heavy::before_a_dev_build(Insist::Always)?;
        let built = Built::packages_with(&["xtask-images"], &[], &begun)?;
        stage1::run_labs_with(built.program("xtask-images")?, &begun)
    }
}
