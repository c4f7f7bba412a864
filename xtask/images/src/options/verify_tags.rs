//! The options of `cargo xtask verify-tags`, shared with the command that builds this program.

use clap::Args;

use super::build::Output;

const EXAMPLES: &str = "\
Examples:
  cargo xtask verify-tags                                every image that was built, under its tag
  cargo xtask verify-tags concentrate-scheduler          one of them
  cargo xtask verify-tags concentrate-scheduler --tag v2 one of them, under another tag
  cargo xtask verify-tags forge.lab:5000/academy/concentrate-scheduler:v1
  cargo xtask verify-tags --output json                  for programs

Everything is read anew from the registry and hashed here: index, manifests, configurations, layers,
bills of materials. A reference is held against what was built here for its repository and tag, if
anything was; otherwise against what it says itself.

Exit codes: 0 the registry has what was built; 1 it has something else, or less; 2 it cannot be asked.";

/// Verify from outside that the registry has the images that were built.
#[derive(Clone, Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Options {
    /// Images of images/, or references as REGISTRY/REPOSITORY:TAG [default: every image that was built].
    #[arg(value_name = "NAME|REFERENCE")]
    pub(crate) images: Vec<String>,
    /// The tag to look under [default: the one that the image was built for].
    #[arg(long)]
    pub(crate) tag: Option<String>,
    /// The registry that has images given by name.
    #[arg(long, value_name = "HOST[:PORT]", default_value = "forge.lab:5000")]
    pub(crate) registry: String,
    #[command(flatten)]
    pub(crate) transport: Transport,
    /// How the result is printed.
    #[arg(long, value_enum, default_value_t = Output::Table)]
    pub(crate) output: Output,
}

/// How registries are spoken to.
#[derive(Clone, Debug, Args)]
pub(crate) struct Transport {
    /// Speak to this registry without TLS; may be given several times. That is done without asking on
    /// the loopback, and where labs/topology.toml says `plain-http`.
    #[arg(long, value_name = "HOST[:PORT]")]
    pub(crate) insecure_registry: Vec<String>,
}
