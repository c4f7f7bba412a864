//! Making what refers to a manifest findable by that manifest.

use std::collections::BTreeMap;

use super::{PushError, untagged};
use crate::{
    digest::Digest,
    layout::Referrer,
    oci::{Descriptor, Index, media_type},
    transport::Repository,
};

/// The tag under which clients look for what refers to `subject` where a registry has no referrers
/// API: the referrers tag schema of the distribution specification, 1.1.
pub(crate) fn tag(subject: &Digest) -> String {
    format!("sha256-{}", subject.hex())
}

/// Sees to it that a referrer that was just pushed is listed for its subject. A registry with a
/// referrers API does so by itself; for any other the list under the subject's tag is added to.
pub(super) async fn list(repository: &Repository, referrer: &Referrer) -> Result<(), PushError> {
    let Some(subject) = &referrer.manifest.subject else { return Ok(()) };
    let listed = repository.referrers(&subject.digest).await.map_err(untagged)?;
    if listed.contains(&referrer.descriptor.digest) {
        return Ok(());
    }
    let tag = tag(&subject.digest);
    let broken = |why: serde_json::Error| PushError::Referrers {
        reference: format!("{}:{tag}", repository.full_name()),
        why: why.to_string(),
    };
    let mut index = match repository.manifest(&tag).await.map_err(untagged)? {
        Some(stored) => serde_json::from_slice(&stored.content).map_err(broken)?,
        None => Index::new(Vec::new(), BTreeMap::new()),
    };
    index.manifests.push(entry(referrer));
    let content = serde_json::to_vec(&index).map_err(broken)?;
    let put = repository.put_manifest(&tag, media_type::INDEX, &content).await;
    put.map_err(untagged)
}

/// How a list of referrers shows one: with the kind and the annotations of its manifest.
fn entry(referrer: &Referrer) -> Descriptor {
    let manifest = &referrer.manifest;
    let kind = manifest.artifact_type.clone();
    Descriptor {
        platform: None,
        // A manifest without a kind of its own is of its configuration's.
        artifact_type: kind.or_else(|| Some(manifest.config.media_type.clone())),
        annotations: manifest.annotations.clone(),
        ..referrer.descriptor.clone()
    }
}
