//! The options of `cargo xtask stage1`, shared with the command that builds this program.

use std::path::PathBuf;

use clap::{Args, ValueEnum, builder::RangedU64ValueParser};

const EXAMPLES: &str = "\
Examples:
  cargo xtask stage1                              on a lab cluster of two nodes, gone afterwards
  cargo xtask stage1 --keep                       and look around with kubectl afterwards
  cargo xtask stage1 --nodes 3 --replicas 12      a larger one
  cargo xtask stage1 --write-down notes.md        keep what was seen
  cargo xtask stage1 --kubeconfig ~/.kube/config --context kind-kind

Exit codes: 0 the placement changed; 1 it did not; 2 something must be changed first.";

/// What stage 1 is done with.
#[derive(Clone, Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Options {
    /// How many nodes the lab cluster has.
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = RangedU64ValueParser::<u32>::new().range(2..=1000))]
    pub(crate) nodes: u32,
    /// How many pods the deployment has.
    #[arg(long, value_name = "N", default_value_t = 6, value_parser = RangedU64ValueParser::<u32>::new().range(2..=1000))]
    pub(crate) replicas: u32,
    /// The second scheduler's configuration; its first profile is used [default:
    /// profiles/concentrate.yaml].
    #[arg(long, value_name = "FILE")]
    pub(crate) profile: Option<PathBuf>,
    /// Run against the cluster of this kubeconfig instead of a lab cluster.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["nodes", "keep"])]
    pub(crate) kubeconfig: Option<PathBuf>,
    /// Run against the cluster of this context instead of a lab cluster.
    #[arg(long, value_name = "NAME", conflicts_with_all = ["nodes", "keep"])]
    pub(crate) context: Option<String>,
    /// Leave the lab cluster up, with both schedulers, and say how to use and how to stop it.
    #[arg(long)]
    pub(crate) keep: bool,
    /// Begin though the machine has too little of something.
    #[arg(long)]
    pub(crate) force: bool,
    /// Write what was seen to this file, in Markdown.
    #[arg(long, value_name = "FILE")]
    pub(crate) write_down: Option<PathBuf>,
    /// How the result is printed.
    #[arg(long, value_enum, default_value_t = Output::Table)]
    pub(crate) output: Output,
    /// How long each step may take.
    #[arg(long, value_name = "SECONDS", default_value_t = 120)]
    pub(crate) timeout: u64,
}

/// A form of results.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Output {
    /// For people.
    Table,
    /// For programs; its `version` changes when a field changes its meaning.
    Json,
}

impl Options {
    /// Whether the cluster is somebody else's.
    pub(crate) fn is_foreign(&self) -> bool {
        self.kubeconfig.is_some() || self.context.is_some()
    }
}
