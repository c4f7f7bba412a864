//! The options of `cargo xtask soak`, shared with the command that builds this program.

use clap::{Args, ValueEnum};

const EXAMPLES: &str = "\
Examples:
  cargo xtask soak --release                             the whole of it
  cargo xtask soak --pods 50000 --nodes 100              a quarter; fewer end before memory settles
  cargo xtask soak --release --output json

Exit codes: 0 memory stayed; 1 it grew by more than --growth percent; 2 it could not be run.";

/// Create and delete many pods, and see whether the scheduler's memory stays.
///
/// A lab cluster and a scheduler process are started. Its resident memory is read when the first
/// tenth of the pods has come and gone, and again when all have.
#[derive(Clone, Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Options {
    /// How many pods come and go.
    #[arg(long, value_name = "N", default_value_t = 200_000, value_parser = clap::value_parser!(u32).range(100..))]
    pub(crate) pods: u32,
    /// How many nodes there are.
    #[arg(long, value_name = "N", default_value_t = 500, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) nodes: u32,
    /// How many pods there are at once; at most a twentieth of all.
    #[arg(long, value_name = "N", default_value_t = 5000, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) living: u32,
    /// By how much memory may grow, in percent.
    #[arg(long, value_name = "PERCENT", default_value_t = 10.0)]
    pub(crate) growth: f64,
    /// How the finding is printed.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) output: Output,
    /// Build the scheduler as it is released, not as it is developed.
    #[arg(long)]
    pub(crate) release: bool,
    /// Begin though the machine has too little of something.
    #[arg(long)]
    pub(crate) force: bool,
}

/// How the finding is printed.
#[derive(Clone, Copy, Debug, Default, ValueEnum)]
pub(crate) enum Output {
    /// Lines for a person.
    #[default]
    Text,
    /// One JSON object.
    Json,
}
