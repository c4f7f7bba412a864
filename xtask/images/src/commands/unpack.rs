//! What `cargo xtask stage2` asks for: an image's own program, so that nothing of the second scheduler comes
//! from the source.

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
};

use anstream::println;
use clap::Args;
use serde_json::json;
use xtask_images::{
    open::open,
    push::Bars,
    reference::{Reference, Which},
    signals::Stop,
    topology::Topology,
    unpack,
};

use super::prepare;

/// Take the program for this machine out of an image; says on the standard output where it is.
#[derive(Clone, Debug, Args)]
pub(crate) struct Options {
    /// The image in its registry.
    #[arg(long, required_unless_present = "archive")]
    image: Option<String>,
    /// Or what `build-image --output oci-archive:FILE` wrote.
    #[arg(long, conflicts_with = "image")]
    archive: Option<PathBuf>,
    /// The folder that the program is put into.
    #[arg(long)]
    to: PathBuf,
}

/// Takes it out.
pub(crate) async fn run(
    options: &Options,
    root: &Path,
    stop: &mut Stop,
) -> anyhow::Result<ExitCode> {
    let (platform, to) = (prepare::native(), &options.to);
    let unpacked = if let Some(archive) = &options.archive {
        unpack::from_archive(archive, &platform, to)?
    } else {
        let reference: Reference = options.image.as_deref().unwrap_or_default().parse()?;
        let topology = Topology::read(root)?;
        let repository = open(&reference, &topology, &[], Box::new(Bars::of_check())).await?;
        let at = match &reference.which {
            Which::Tag(tag) => tag.clone(),
            Which::Digest(digest) => digest.to_string(),
        };
        tokio::select! {
            unpacked = unpack::from_registry(&repository, &at, &platform, to) => unpacked?,
            stopped = stop.wanted() => return Err(stopped.into()),
        }
    };
    println!("{}", json!({"digest": unpacked.index, "program": unpacked.program}));
    Ok(ExitCode::SUCCESS)
}
