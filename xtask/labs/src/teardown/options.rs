//! The options of `cargo xtask teardown`, shared with the command that builds this program.

use clap::Args;

const EXAMPLES: &str = "\
Examples:
  cargo xtask teardown
  cargo xtask teardown --dry-run

Images stay, and what builds took; it says where. In cargo's target folder those are images/, the
registry's forge/data/ and measurements.json. To remove them too, where that is target/:
  cargo xtask forge down --delete-data && rm -r target/images target/measurements.json";

/// Remove what stages have left: clusters, registries, namespaces, files. Images are kept.
#[derive(Clone, Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Options {
    /// Print what would be removed and remove nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,
}
