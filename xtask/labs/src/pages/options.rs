//! The options of `cargo xtask lab run`, shared with the command that builds this program.

use clap::Args;

const EXAMPLES: &str = "\
Examples:
  cargo xtask lab run 2               labs/02-concentrate.md
  cargo xtask lab run all             every page
  cargo xtask lab run 2 --dry-run     what it would type

kubectl is looked for in KUBECTL, then in PATH.
Exit codes: 0 every step printed what its page shows; 1 one did not; 2 it could not be run.";

/// Type a lab page's commands in order and compare what they print with what the page shows.
#[derive(Clone, Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Options {
    /// Numbers of pages, or `all`.
    #[arg(value_name = "N", required = true)]
    pub(crate) pages: Vec<String>,
    /// Print the commands and type none.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Begin though the machine has too little of something.
    #[arg(long)]
    pub(crate) force: bool,
    /// Show what every command prints.
    #[arg(long, short)]
    pub(crate) verbose: bool,
}
