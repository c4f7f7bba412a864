//! The options of `cargo xtask build`, shared with the command that builds this program.

use clap::{Args, ValueEnum};

const EXAMPLES: &str = "\
Examples:
  cargo xtask build                       the scheduler, for this machine
  cargo xtask build --lto thin --jobs 1   with less memory
  cargo xtask build --output json         what it took, for programs

What it took is kept in target/measurements.json; `cargo xtask doctor` and the next build read it.

Exit codes: 0 built; 1 it does not build, or would not fit; 2 something must be changed first.";

/// Build a static release binary and measure what that takes.
#[derive(Clone, Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Options {
    /// The image whose binary is built, a file of images/.
    #[arg(value_name = "NAME", default_value = "concentrate-scheduler")]
    pub(crate) name: String,
    /// For which platform [default: this machine's].
    #[arg(long, value_name = "OS/ARCHITECTURE")]
    pub(crate) platform: Option<String>,
    #[command(flatten)]
    pub(crate) effort: Effort,
    /// How the result is printed.
    #[arg(long, value_enum, default_value_t = Output::Table)]
    pub(crate) output: Output,
}

/// How much is done to build, whatever the machine has.
#[derive(Clone, Debug, Args)]
pub(crate) struct Effort {
    /// Build though the machine has too little of something.
    #[arg(long)]
    pub(crate) force: bool,
    /// How much is optimised across crates [default: what the profile says, less with little memory].
    #[arg(long, value_enum)]
    pub(crate) lto: Option<Lto>,
    /// How many compilers run at once [default: one for each processor, fewer with little memory].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) jobs: Option<u32>,
    /// A Rust compiler for a platform other than the workspace's, as `linux/arm64=PATH`.
    #[arg(long, value_name = "PLATFORM=PATH", env = "XTASK_RUSTC", value_delimiter = ',')]
    pub(crate) rustc: Vec<String>,
}

/// How much is optimised across crates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Lto {
    /// The whole program at once.
    Fat,
    /// Summaries of the others for each crate.
    Thin,
    /// Nothing.
    Off,
}

/// A form of results.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Output {
    /// For people.
    Table,
    /// For programs; its `version` changes when a field changes its meaning.
    Json,
}
