//! Pushing an image: its content first, the tag last.
//!
//! Until the last request nothing stands under the tag that was not there before, so a push that ends
//! early, whatever ends it, leaves only content that nobody is pointed at. The next push finds it and
//! goes on from there.

mod bars;
mod referrers;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use bytes::Bytes;
use futures::{StreamExt as _, TryStreamExt as _, stream};
use oci_client::RegistryOperation;
use serde::Serialize;

pub use self::bars::Bars;
use crate::{
    digest::Digest,
    layout::{Image, Layout, LayoutError},
    oci::{Descriptor, Manifest},
    transport::{Fault, Kind, OnBytes, Repository},
};

/// How many blobs go over the wire at once.
const AT_ONCE: usize = 3;

/// Is told how a push goes on.
pub trait Progress: Sync {
    /// Content of that size begins to move; the answer is told how far it is.
    fn begin(&self, what: &str, size: u64) -> OnBytes;
    /// Content is there, or was there before.
    fn end(&self, what: &str, moved: bool);
}

/// What to do about a tag that stands for another image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Existing {
    /// Leave it and fail.
    Keep,
    /// Move the tag.
    Overwrite,
}

/// What a push did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Pushed {
    /// What stands under the tag now.
    pub index: Digest,
    /// What stood there before, where that was another image.
    pub replaced: Option<Digest>,
    /// Blobs that were uploaded.
    pub uploaded: usize,
    /// Blobs that the registry had.
    pub present: usize,
}

/// Why an image was not pushed.
#[derive(Debug, thiserror::Error)]
pub enum PushError {
    /// The image is not what it says it is.
    #[error(transparent)]
    Layout(#[from] LayoutError),
    /// The registry does not take it.
    #[error("{fault}; {after}")]
    Registry {
        /// What failed.
        #[source]
        fault: Fault,
        /// What is under the tag now.
        after: String,
    },
    /// The tag stands for another image.
    #[error(
        "{reference} is another image already: {there} is there, {ours} was built here; nothing was \
         pushed. `--overwrite` moves the tag, or choose another with `--tag`"
    )]
    Taken {
        /// The reference.
        reference: String,
        /// What it stands for.
        there: Digest,
        /// What would have been pushed.
        ours: Digest,
    },
    /// Somebody else's list of referrers cannot be added to.
    #[error("{reference} is no list of referrers ({why}); remove that tag at the registry")]
    Referrers {
        /// The tag that stands in for the referrers API.
        reference: String,
        /// What is wrong with it.
        why: String,
    },
}

/// Pushes the image of a layout to a repository, under the tag.
///
/// Content that the repository has is not sent again. Manifests go by their digest, after them what
/// refers to them, and at the very end the image's index under the tag.
///
/// # Errors
/// When the layout is damaged, the registry does not take something, or the tag stands for another
/// image and `existing` says to keep it. In each case the tag is as it was.
pub async fn push(
    (layout, image): (&Layout, &Image),
    (repository, tag): (&Repository, &str),
    existing: Existing,
    progress: &dyn Progress,
) -> Result<Pushed, PushError> {
    repository.greet(RegistryOperation::Push).await.map_err(untagged)?;
    let replaced = replaced(repository, tag, &image.index.digest, existing).await?;
    let blobs = blobs(image);
    let moved = stream::iter(&blobs)
        .map(|(blob, what)| upload(layout, repository, (blob, what), progress))
        .buffer_unordered(AT_ONCE)
        .try_collect::<Vec<bool>>()
        .await?;
    for platform in &image.platforms {
        put_by_digest(layout, repository, &platform.descriptor).await?;
    }
    for referrer in &image.referrers {
        put_by_digest(layout, repository, &referrer.descriptor).await?;
        referrers::list(repository, referrer).await?;
    }
    let index = layout.get(&image.index)?;
    let tagged = repository.put_manifest(tag, &image.index.media_type, &index).await;
    tagged.map_err(|fault| PushError::Registry {
        fault,
        after: format!("`cargo xtask verify-tags` shows whether the tag {tag} was set after all"),
    })?;
    let uploaded = moved.iter().filter(|it| **it).count();
    let (index, present) = (image.index.digest.clone(), blobs.len() - uploaded);
    Ok(Pushed { index, replaced, uploaded, present })
}

/// What the tag stands for, if that is another image.
async fn replaced(
    repository: &Repository,
    tag: &str,
    ours: &Digest,
    existing: Existing,
) -> Result<Option<Digest>, PushError> {
    let there = match repository.manifest(tag).await {
        Ok(found) => found.map(|it| it.digest),
        // What is there is damaged: a reason to overwrite it, not one to stop.
        Err(Fault { kind: Kind::WrongDigest { actual, .. }, .. }) => actual.parse().ok(),
        Err(fault) => return Err(untagged(fault)),
    };
    match there.filter(|it| it != ours) {
        Some(there) if existing == Existing::Keep => Err(PushError::Taken {
            reference: format!("{}:{tag}", repository.full_name()),
            there,
            ours: ours.clone(),
        }),
        there => Ok(there),
    }
}

/// Everything that manifests name, each once, with words for the user.
fn blobs(image: &Image) -> Vec<(&Descriptor, String)> {
    let platforms = image.platforms.iter().map(|it| (&it.manifest, it.platform.to_string()));
    let referrers = image.referrers.iter().map(|it| {
        let kind = it.manifest.artifact_type.as_deref().unwrap_or("artifact");
        (&it.manifest, kind.to_owned())
    });
    let all = platforms.chain(referrers).flat_map(|(manifest, whose)| {
        let Manifest { config, layers, .. } = manifest;
        let config = (config, format!("{whose} config"));
        let layers = layers.iter().map(move |it| (it, format!("{whose} layer")));
        std::iter::once(config).chain(layers)
    });
    let mut once: BTreeMap<&Digest, (&Descriptor, String)> = BTreeMap::new();
    for (blob, what) in all {
        once.entry(&blob.digest).or_insert((blob, what));
    }
    once.into_values().collect()
}

/// Uploads a blob unless it is there; says whether it did.
async fn upload(
    layout: &Layout,
    repository: &Repository,
    (blob, what): (&Descriptor, &str),
    progress: &dyn Progress,
) -> Result<bool, PushError> {
    let is_missing = !repository.has(&blob.digest).await.map_err(untagged)?;
    if is_missing {
        let content = Bytes::from(layout.get(blob)?);
        let sent = progress.begin(what, blob.size);
        repository.put_blob(&blob.digest, content, sent).await.map_err(untagged)?;
    }
    progress.end(what, is_missing);
    Ok(is_missing)
}

/// Puts a manifest under its digest.
async fn put_by_digest(
    layout: &Layout,
    repository: &Repository,
    manifest: &Descriptor,
) -> Result<(), PushError> {
    let (content, at) = (layout.get(manifest)?, manifest.digest.to_string());
    repository.put_manifest(&at, &manifest.media_type, &content).await.map_err(untagged)
}

/// A failure before the tag was touched.
fn untagged(fault: Fault) -> PushError {
    PushError::Registry { fault, after: "the tag is as it was before".to_owned() }
}
