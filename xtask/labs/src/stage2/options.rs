//! The options of `cargo xtask stage2`, shared with the command that builds this program.

use std::path::PathBuf;

use clap::{Args, ValueEnum, builder::RangedU64ValueParser};

const EXAMPLES: &str = "\
Examples:
  cargo xtask stage2                              on a lab cluster of three nodes, gone afterwards
  cargo xtask stage2 --keep                       and look around with kubectl; `cargo xtask teardown` ends it
  cargo xtask stage2 --kubeconfig ~/.kube/config --context pair
  cargo xtask stage2 --kind academy --archive target/concentrate-scheduler.tar

The image comes from the registry and never from the source: `cargo xtask forge up` runs one, and
`cargo xtask build-image concentrate-scheduler --push` fills it.
Exit codes: 0 the image's scheduler leads and changes where pods go; 1 it changes nothing; 2 something
must be changed first.";

/// Run the image from the registry as a cluster's second scheduler, and see where pods go.
#[derive(Clone, Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Options {
    /// The image, by tag; it is run by the digest that the registry has for it.
    #[arg(
        long,
        value_name = "REFERENCE",
        default_value = "forge.lab:5000/academy/concentrate-scheduler:v1"
    )]
    pub(crate) image: String,
    /// How many nodes the lab cluster has.
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = RangedU64ValueParser::<u32>::new().range(2..=1000))]
    pub(crate) nodes: u32,
    /// How many pods the deployment has that both schedulers place.
    #[arg(long, value_name = "N", default_value_t = 6, value_parser = RangedU64ValueParser::<u32>::new().range(2..=1000))]
    pub(crate) replicas: u32,
    /// The second scheduler's configuration, with leader election [default:
    /// profiles/concentrate-scheduler/scheduler.yaml].
    #[arg(long, value_name = "FILE")]
    pub(crate) profile: Option<PathBuf>,
    /// Run in the cluster of this kubeconfig instead of a lab cluster.
    #[arg(long, value_name = "FILE", conflicts_with = "nodes")]
    pub(crate) kubeconfig: Option<PathBuf>,
    /// Run in the cluster of this context instead of a lab cluster.
    #[arg(long, value_name = "NAME", conflicts_with = "nodes")]
    pub(crate) context: Option<String>,
    /// Run in this kind cluster, after loading the archive into it; no registry is needed then, and one
    /// that answers must have the same image. A node of kind knows an archive's image by its tag alone.
    #[arg(long, value_name = "NAME", requires = "archive", conflicts_with_all = ["nodes", "context"])]
    pub(crate) kind: Option<String>,
    /// What `cargo xtask build-image --output oci-archive:FILE` wrote.
    #[arg(long, value_name = "FILE", requires = "kind")]
    pub(crate) archive: Option<PathBuf>,
    /// Leave everything up, and say how to use and how to remove it.
    #[arg(long)]
    pub(crate) keep: bool,
    /// Begin though the machine has too little of something.
    #[arg(long)]
    pub(crate) force: bool,
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
