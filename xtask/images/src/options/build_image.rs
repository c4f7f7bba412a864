//! The options of `cargo xtask build-image`, shared with the command that builds this program.

use clap::{Args, ValueEnum};

use super::{build::Effort, verify_tags::Transport};

const EXAMPLES: &str = "\
Examples:
  cargo xtask build-image                                       into target/images/concentrate-scheduler
  cargo xtask build-image --tag v1 --push                       and on to forge.lab:5000, verified there
  cargo xtask build-image scheduler --output oci-archive:s.tar  for `skopeo` and `kind load image-archive`
  cargo xtask build-image all                                   every file of images/

A platform that cannot be built fails the command before anything is compiled, with what to install.

Exit codes: 0 built (and pushed, and verified); 1 it does not build, would not fit, or the registry has
something else; 2 something must be changed first.";

/// Build an image for several platforms, without Docker, the same to the byte each time.
#[derive(Clone, Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Options {
    /// The images, each a file of images/; `all` is every one.
    #[arg(value_name = "NAME", default_value = "concentrate-scheduler")]
    pub(crate) names: Vec<String>,
    /// The platforms, all of which must be built.
    #[arg(
        long,
        value_name = "OS/ARCHITECTURE",
        value_delimiter = ',',
        default_value = "linux/amd64,linux/arm64"
    )]
    pub(crate) platform: Vec<String>,
    /// The image's tag.
    #[arg(long, default_value = "v1")]
    pub(crate) tag: String,
    /// The registry that the image is for.
    #[arg(long, value_name = "HOST[:PORT]", default_value = "forge.lab:5000")]
    pub(crate) registry: String,
    /// Push the image, then verify from outside that the registry has it.
    #[arg(long)]
    pub(crate) push: bool,
    /// Where the tag stands for another image in the registry, move it.
    #[arg(long, requires = "push")]
    pub(crate) overwrite: bool,
    #[command(flatten)]
    pub(crate) transport: Transport,
    /// Write the image elsewhere too; may be given several times.
    #[arg(long, value_name = "oci-archive:FILE|oci:DIR")]
    pub(crate) output: Vec<String>,
    /// How layers are compressed.
    #[arg(long, value_enum, default_value_t = Compression::Gzip)]
    pub(crate) compression: Compression,
    #[command(flatten)]
    pub(crate) effort: Effort,
    /// How the result is printed.
    #[arg(long, value_enum, default_value_t = super::build::Output::Table)]
    pub(crate) result: super::build::Output,
}

/// How layers are compressed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Compression {
    /// What everything reads.
    #[default]
    Gzip,
    /// A fifth smaller; needs containerd 1.5, skopeo 1.0 or later.
    Zstd,
}
