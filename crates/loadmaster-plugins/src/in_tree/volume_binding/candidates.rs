//! Volumes that are there and would do for a claim (upstream: `volume.FindMatchingVolume`).

use std::sync::Arc;

use loadmaster_framework::{
    Listers,
    api::{
        LabelSelector, Labels, PersistentVolume, PersistentVolumeClaim, Quantity, Selector, Text,
    },
};

use super::reach::Reach;
use crate::in_tree::storage::{claim_class, volume_class};

/// The volumes that would do for a claim, as far as no node is looked at.
#[derive(Debug)]
pub(super) struct Matching {
    /// Kept for this claim already.
    kept: Vec<Candidate>,
    /// Free ones, the smallest first.
    free: Vec<Candidate>,
}

#[derive(Debug)]
struct Candidate {
    volume: Arc<PersistentVolume>,
    reach: Reach,
}

impl Matching {
    /// The volumes for `claim`.
    ///
    /// # Errors
    /// Upstream's text where the claim's selector is wrong.
    pub(super) fn of(claim: &PersistentVolumeClaim, listers: &Listers) -> Result<Self, String> {
        let selector = claim.spec.selector.as_ref().map(LabelSelector::compile).transpose();
        let selector = selector.map_err(|error| {
            let key = claim.metadata.key();
            format!("error creating internal label selector for claim: {key}: {error}")
        })?;
        let class = claim_class(claim);
        let mut matching = Self { kept: Vec::new(), free: Vec::new() };
        for volume in listers.assumed_volumes().filter(|it| volume_class(it) == class) {
            if !suits(volume, claim) {
                continue;
            }
            let candidate = || Candidate { volume: Arc::clone(volume), reach: Reach::of(volume) };
            match &volume.spec.claim_ref {
                Some(_) if is_bound_to(volume, claim) => matching.kept.push(candidate()),
                None if is_free(volume, claim, selector.as_ref()) => {
                    matching.free.push(candidate());
                }
                _ => {}
            }
        }
        matching.free.sort_by_cached_key(|it| size(&it.volume));
        Ok(matching)
    }

    /// The volume for a node with `labels` that is not `taken` by another claim of the pod. One
    /// that is kept for the claim goes before all others, even where the node does not reach it.
    pub(super) fn pick(
        &self,
        labels: &Labels,
        taken: impl Fn(&Text) -> bool,
    ) -> Option<&Arc<PersistentVolume>> {
        let left = |it: &&Candidate| !taken(&it.volume.metadata.name);
        let reaches = |it: &&Candidate| it.reach.check(labels).is_ok();
        let found = match self.kept.iter().find(left) {
            Some(kept) => Some(kept).filter(reaches),
            None => self.free.iter().filter(left).find(reaches),
        };
        found.map(|it| &it.volume)
    }
}

fn size(volume: &PersistentVolume) -> Quantity {
    volume.spec.capacity.get("storage").cloned().unwrap_or_default()
}

/// How much a claim asks for.
pub(super) fn requested(claim: &PersistentVolumeClaim) -> Quantity {
    claim.spec.resources.requests.get("storage").cloned().unwrap_or_default()
}

/// Whether the volume is large enough, of the same mode and attributes, and there to stay.
fn suits(volume: &PersistentVolume, claim: &PersistentVolumeClaim) -> bool {
    let mode = |it: &Option<Text>| it.clone().unwrap_or_else(|| "Filesystem".into());
    let attributes = |it: &Option<Text>| it.clone().unwrap_or_default();
    size(volume) >= requested(claim)
        && mode(&volume.spec.volume_mode) == mode(&claim.spec.volume_mode)
        && attributes(&volume.spec.volume_attributes_class_name)
            == attributes(&claim.spec.volume_attributes_class_name)
        && volume.metadata.deletion_timestamp.is_none()
}

/// Whether the volume is available, has the claim's access modes and labels that it selects.
fn is_free(
    volume: &PersistentVolume,
    claim: &PersistentVolumeClaim,
    selector: Option<&Selector>,
) -> bool {
    &*volume.status.phase == "Available"
        && selector.is_none_or(|it| it.matches(&volume.metadata.labels))
        && claim.spec.access_modes.iter().all(|it| volume.spec.access_modes.contains(it))
}

/// Whether the volume is kept for, or bound to, the claim.
pub(super) fn is_bound_to(volume: &PersistentVolume, claim: &PersistentVolumeClaim) -> bool {
    volume.spec.claim_ref.as_ref().is_some_and(|it| {
        it.name == claim.metadata.name
            && it.namespace == claim.metadata.namespace
            && (it.uid.is_empty() || it.uid == claim.metadata.uid)
    })
}
