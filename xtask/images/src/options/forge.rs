//! The options of `cargo xtask forge`, shared with the command that builds this program.

use clap::{Args, Subcommand};

use super::build::Output;

const EXAMPLES: &str = "\
Examples:
  cargo xtask forge up                  on 127.0.0.1:5000, where labs/topology.toml has forge.lab:5000
  cargo xtask forge up --port 0         on any port that is free; the command says which
  cargo xtask forge status --output json
  cargo xtask forge down                images stay in target/forge/data
  cargo xtask forge down --delete-data

The registry is CNCF distribution: Debian's `docker-registry`, or the program that FORGE_REGISTRY_BIN
names. It runs in the background and listens on the loopback alone.

Exit codes: 0 done; 1 (status) none is running; 2 something must be changed first.";

/// Run a registry of one's own: CNCF distribution on the loopback.
#[derive(Clone, Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Options {
    #[command(subcommand)]
    pub(crate) action: Action,
}

/// What is done with the registry.
#[derive(Clone, Debug, Subcommand)]
pub(crate) enum Action {
    /// Start it in the background, unless it runs.
    Up {
        /// The port on 127.0.0.1; 0 takes any that is free.
        #[arg(long, default_value_t = 5000)]
        port: u16,
        /// How the result is printed.
        #[arg(long, value_enum, default_value_t = Output::Table)]
        output: Output,
    },
    /// Stop it.
    Down {
        /// Remove the images that it keeps, too.
        #[arg(long)]
        delete_data: bool,
    },
    /// Tell whether it runs, where, and how much it keeps.
    Status {
        /// How the result is printed.
        #[arg(long, value_enum, default_value_t = Output::Table)]
        output: Output,
    },
}
