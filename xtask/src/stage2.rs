//! `cargo xtask stage2` and `teardown`: the image as a second scheduler, and everything removed again.

use std::process::ExitCode;

use clap::Args;

use crate::stage1;

// The program that does the work has the same files; here they give the help.
#[path = "../labs/src/stage2/options.rs"]
mod options;
#[path = "../labs/src/teardown/options.rs"]
mod teardown;

/// Run the image from the registry as a cluster's second scheduler, and see where pods go.
#[derive(Debug, Args)]
pub(crate) struct Stage2 {
    #[command(flatten)]
    _options: options::Options,
}

/// Remove what stages have left: clusters, registries, namespaces, files. Images are kept.
#[derive(Debug, Args)]
pub(crate) struct Teardown {
    #[command(flatten)]
    _options: teardown::Options,
}

/// Becomes the program that does the work, which reads the same words.
pub(crate) fn run() -> anyhow::Result<ExitCode> {
    stage1::run_labs_with_images()
}
