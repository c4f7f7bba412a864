#![doc = include_str!("volume_restrictions.md")]

mod hints;

#[cfg(test)]
mod tests;

use std::{collections::BTreeSet, sync::Arc};

use loadmaster_framework::{
    Candidates, Cycle, CycleState, FieldError, Filter, Gates, Hooks, Kind, NodeInfo, Outcome,
    Plugin, PodInfo, PreFilter, Status,
    api::{Pod, Text, Volume},
};

use super::storage::{claim_key, find_claim};
use crate::NoArgs;

/// See the [module](self).
#[derive(Debug)]
pub struct VolumeRestrictions;

impl Plugin for VolumeRestrictions {
    const NAME: &'static str = "VolumeRestrictions";
    const DOC: &'static str = include_str!("volume_restrictions.md");
    type Args = NoArgs;

    fn build(_: NoArgs, _: &Gates) -> Result<Hooks, FieldError> {
        let hooks = Hooks::of(Self).pre_filter().filter().enqueue_extensions();
        Ok(hooks.reads(&[Kind::PersistentVolumeClaim]).into())
    }
}

/// The pod's claims that one pod alone may use, and how often pods use them.
#[derive(Clone, Debug)]
struct SinglePodClaims {
    names: Arc<BTreeSet<Text>>,
    in_use: i64,
}

impl PreFilter for VolumeRestrictions {
    fn pre_filter(&self, cx: Cycle<'_>, state: &mut CycleState) -> Outcome<Candidates> {
        let claims = SinglePodClaims::of(cx)?;
        if claims.in_use == 0 && !cx.pod.spec.volumes.iter().any(is_restricted) {
            return Ok(Candidates::Skip);
        }
        state.put(claims);
        Ok(Candidates::All)
    }

    fn add_pod(
        &self,
        _: Cycle<'_>,
        state: &mut CycleState,
        added: &PodInfo,
        _: &NodeInfo,
    ) -> Outcome {
        if let Some(claims) = state.get_mut::<SinglePodClaims>() {
            claims.in_use += claims.uses_by(added);
        }
        Ok(())
    }

    fn remove_pod(
        &self,
        _: Cycle<'_>,
        state: &mut CycleState,
        removed: &PodInfo,
        _: &NodeInfo,
    ) -> Outcome {
        if let Some(claims) = state.get_mut::<SinglePodClaims>() {
            claims.in_use -= claims.uses_by(removed);
        }
        Ok(())
    }
}

impl SinglePodClaims {
    fn of(cx: Cycle<'_>) -> Outcome<Self> {
        let volumes = cx.pod.spec.volumes.iter();
        let mut names = BTreeSet::new();
        for volume in volumes.filter_map(|it| it.persistent_volume_claim.as_ref()) {
            let claim = find_claim(cx.snapshot.listers(), cx.pod, &volume.claim_name)
                .map_err(Status::unresolvable)?;
            if claim.spec.access_modes.iter().any(|it| &**it == "ReadWriteOncePod") {
                names.insert(volume.claim_name.clone());
            }
        }
        let is_used = |name: &&Text| {
            let claim = claim_key(cx.pod, name);
            cx.snapshot.nodes().iter().any(|node| node.pvc_ref_count(&claim) > 0)
        };
        let in_use = i64::try_from(names.iter().filter(is_used).count()).unwrap_or(i64::MAX);
        Ok(Self { names: Arc::new(names), in_use })
    }

    /// How many volumes of `pod` use one of the claims. As upstream has it, claims of the same
    /// name in another namespace are taken for these; recordings have it so.
    fn uses_by(&self, pod: &Pod) -> i64 {
        let claims = pod.spec.volumes.iter().filter_map(|it| it.persistent_volume_claim.as_ref());
        let uses = claims.filter(|it| self.names.contains(&it.claim_name)).count();
        i64::try_from(uses).unwrap_or(i64::MAX)
    }

    fn check(&self) -> Outcome {
        if self.in_use > 0 {
            return Err(Status::unschedulable(READ_WRITE_ONCE_POD_CONFLICT));
        }
        Ok(())
    }
}

impl Filter for VolumeRestrictions {
    fn filter(&self, cx: Cycle<'_>, state: &CycleState, node: &NodeInfo) -> Outcome {
        let has_disks = cx.pod.spec.volumes.iter().any(is_restricted);
        if has_disks && node.pods().iter().any(|placed| have_conflict(cx.pod, placed)) {
            return Err(Status::unschedulable(DISK_CONFLICT));
        }
        match state.try_get::<SinglePodClaims>() {
            Some(claims) => claims.check(),
            None => SinglePodClaims::of(cx)?.check(),
        }
    }
}

/// Whether a disk of `pod` stands against one of `placed` on the same node.
fn have_conflict(pod: &Pod, placed: &Pod) -> bool {
    let mut mine = pod.spec.volumes.iter().filter(|it| is_restricted(it));
    mine.any(|mine| placed.spec.volumes.iter().any(|other| are_in_conflict(mine, other)))
}

/// Whether the disk is of a kind that not any number of pods can mount.
fn is_restricted(volume: &Volume) -> bool {
    volume.gce_persistent_disk.is_some()
        || volume.aws_elastic_block_store.is_some()
        || volume.rbd.is_some()
        || volume.iscsi.is_some()
}

/// Whether the two are one disk that both cannot mount. An Amazon disk can be mounted once; the
/// others several times, if all mount it for reading only.
fn are_in_conflict(a: &Volume, b: &Volume) -> bool {
    if let (Some(a), Some(b)) = (&a.gce_persistent_disk, &b.gce_persistent_disk)
        && a.pd_name == b.pd_name
        && !(a.read_only && b.read_only)
    {
        return true;
    }
    if let (Some(a), Some(b)) = (&a.aws_elastic_block_store, &b.aws_elastic_block_store)
        && a.volume_id == b.volume_id
    {
        return true;
    }
    if let (Some(a), Some(b)) = (&a.iscsi, &b.iscsi)
        && a.iqn == b.iqn
        && !(a.read_only && b.read_only)
    {
        return true;
    }
    if let (Some(a), Some(b)) = (&a.rbd, &b.rbd) {
        let same_cluster = a.ceph_monitors.iter().any(|it| b.ceph_monitors.contains(it));
        let same_image = a.rbd_pool == b.rbd_pool && a.rbd_image == b.rbd_image;
        return same_cluster && same_image && !(a.read_only && b.read_only);
    }
    false
}

const DISK_CONFLICT: &str = "node(s) had no available disk";
const READ_WRITE_ONCE_POD_CONFLICT: &str = "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already \
     in-use by another pod";
