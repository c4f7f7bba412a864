//! The options of `cargo xtask write-down`, shared with the command that builds this program.

use std::path::PathBuf;

use clap::Args;

const EXAMPLES: &str = "\
Examples:
  cargo xtask write-down                      print it
  cargo xtask write-down --file notes.md      keep it

It collects what `cargo xtask stage1`, `build-image` and `stage2` have left in target/.
Exit codes: 0 all of it is there; 1 something was not done yet, which it says.";

/// Put together what the stages saw: extension points, image, placements, what the build took.
#[derive(Clone, Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Options {
    /// Write it to this file instead of printing it.
    #[arg(long, value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
}
