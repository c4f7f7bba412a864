//! The options of `cargo xtask doctor`, shared with the command that builds this program.

use clap::{Args, ValueEnum};

const EXAMPLES: &str = "\
Examples:
  cargo xtask doctor                    look at everything
  cargo xtask doctor --step push        what `build-image --push` looks at before it begins
  cargo xtask doctor --output json      for programs

Exit codes: 0 everything that the step needs is there; 1 something is not; 2 it cannot be looked at.";

/// Compare what this machine has with what building, pushing and running an image take.
#[derive(Clone, Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Options {
    /// Look at what this step needs [default: everything, where what only later steps need is a note].
    #[arg(long, value_enum)]
    pub(crate) step: Option<Step>,
    /// The image whose build is looked at.
    #[arg(long, value_name = "NAME", default_value = "concentrate-scheduler")]
    pub(crate) image: String,
    /// The registry to reach for.
    #[arg(long, value_name = "HOST[:PORT]", default_value = "forge.lab:5000")]
    pub(crate) registry: String,
    /// A Rust compiler for a platform other than the workspace's, as `linux/arm64=PATH`.
    #[arg(long, value_name = "PLATFORM=PATH", env = "XTASK_RUSTC", value_delimiter = ',')]
    pub(crate) rustc: Vec<String>,
    /// How the result is printed.
    #[arg(long, value_enum, default_value_t = Output::Table)]
    pub(crate) output: Output,
}

/// A heavy step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Step {
    /// A release build for this machine.
    Build,
    /// An image: a release build for each platform.
    Image,
    /// An image, and a registry to push it to.
    Push,
    /// A registry to pull it from and a cluster to run it in.
    Stage2,
}

/// A form of results.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Output {
    /// For people.
    Table,
    /// For programs; its `version` changes when a field changes its meaning.
    Json,
}
