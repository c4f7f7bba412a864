//! What the commands that speak to a registry share.

use anyhow::Context as _;
use xtask_images::{
    layout::{Image, Layout},
    open::open,
    push::{Bars, Existing, Pushed, push},
    reference::{Reference, Which},
    signals::Stop,
    topology::Topology,
    verify::{Report, verify},
};

use crate::{options::verify_tags::Transport, progress::note};

/// Pushes an image to where its reference says, then verifies from outside that it is there.
///
/// Whoever stops this finds the tag as it was, unless it was being set at that moment.
pub(crate) async fn push_and_verify(
    (layout, reference): (&Layout, &Reference),
    topology: &Topology,
    (transport, existing): (&Transport, Existing),
    stop: &mut Stop,
) -> anyhow::Result<(Pushed, Report)> {
    let image = layout.image()?;
    let tag = reference.tag().context("an image is pushed under a tag")?;
    let bars = Bars::of_upload();
    let insecure = &transport.insecure_registry;
    let repository = open(reference, topology, insecure, Box::new(bars.clone())).await?;
    note(&format!("pushing {reference} to {}", repository.endpoint()));
    let pushed = tokio::select! {
        pushed = push((layout, &image), (&repository, tag), existing, &bars) => pushed?,
        stopped = stop.wanted() => {
            note(&format!(
                "stopped: the tag {tag} is as it was before, unless it was being set just now, which \
                 `cargo xtask verify-tags` shows. What was uploaded is not uploaded again."
            ));
            return Err(stopped.into());
        }
    };
    note(&told(&pushed, reference));
    let report = verified(reference, Some(&image), topology, transport, stop).await?;
    Ok((pushed, report))
}

/// Verifies what a registry has under a reference.
pub(crate) async fn verified(
    reference: &Reference,
    built: Option<&Image>,
    topology: &Topology,
    transport: &Transport,
    stop: &mut Stop,
) -> anyhow::Result<Report> {
    let bars = Bars::of_check();
    let insecure = &transport.insecure_registry;
    let repository = open(reference, topology, insecure, Box::new(bars.clone())).await?;
    let at = match &reference.which {
        Which::Tag(tag) => tag.clone(),
        Which::Digest(digest) => digest.to_string(),
    };
    note(&format!("verifying {reference}"));
    tokio::select! {
        report = verify(&repository, &at, built, &bars) => Ok(report?),
        stopped = stop.wanted() => Err(stopped.into()),
    }
}

/// What a push did, in a line.
fn told(pushed: &Pushed, reference: &Reference) -> String {
    let Pushed { index, replaced, uploaded, present } = pushed;
    let before = match replaced {
        Some(replaced) => format!(" It was {replaced}, which stays there under that digest."),
        None => String::new(),
    };
    format!("{reference} is {index}: {uploaded} blobs uploaded, {present} there before.{before}")
}
