mod access;
mod cluster;
mod health;
mod listen;
mod zpages;

use clap::Parser;

use crate::app::ServingFlags;

/// Flags as a command line has them.
pub(super) fn flags(args: &[&str]) -> ServingFlags {
    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        serving: ServingFlags,
    }
    Line::try_parse_from([&["scheduler"], args].concat()).unwrap().serving
}
