#![doc = include_str!("node_volume_limits.md")]

mod attachable;
mod hints;

#[cfg(test)]
mod tests;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use loadmaster_framework::{
    Candidates, Cycle, CycleState, FieldError, Filter, Gates, Hooks, Kind, Listers, NodeInfo,
    Outcome, Plugin, PreFilter, Status,
    api::{CsiNode, CsiNodeDriver, Pod, Text, Volume},
};

use self::attachable::{Attachable, Uncountable, VolumeId};
use super::storage::migration::InTree;
use crate::NoArgs;

/// See the [module](self).
#[derive(Debug)]
pub struct NodeVolumeLimits;

impl Plugin for NodeVolumeLimits {
    const NAME: &'static str = "NodeVolumeLimits";
    const DOC: &'static str = include_str!("node_volume_limits.md");
    type Args = NoArgs;

    fn build(_: NoArgs, _: &Gates) -> Result<Hooks, FieldError> {
        let hooks = Hooks::of(Self).pre_filter().filter().enqueue_extensions();
        let read = [
            Kind::PersistentVolume,
            Kind::PersistentVolumeClaim,
            Kind::StorageClass,
            Kind::CsiNode,
            Kind::VolumeAttachment,
        ];
        Ok(hooks.reads(&read).into())
    }
}

/// What of the pod counts, and what is attached to nodes already by the same drivers.
#[derive(Clone, Debug)]
struct Wanted(Arc<WantedData>);

#[derive(Debug)]
struct WantedData {
    /// On a node of which drivers are known.
    with_csi_node: Outcome<BTreeSet<Attachable>>,
    /// On another, where disks of clouds are not counted.
    without_csi_node: Outcome<BTreeSet<Attachable>>,
    /// By node, what `VolumeAttachment`s say.
    attached: BTreeMap<Text, BTreeSet<Attachable>>,
}

impl PreFilter for NodeVolumeLimits {
    fn pre_filter(&self, cx: Cycle<'_>, state: &mut CycleState) -> Outcome<Candidates> {
        if !cx.pod.spec.volumes.iter().any(may_count) {
            return Ok(Candidates::Skip);
        }
        state.put(Wanted::of(cx.pod, cx.snapshot.listers()));
        Ok(Candidates::All)
    }
}

/// Whether the volume may be one that a driver attaches.
fn may_count(volume: &Volume) -> bool {
    volume.persistent_volume_claim.is_some()
        || volume.ephemeral.is_some()
        || InTree::of_inline(volume).is_some()
}

impl Wanted {
    fn of(pod: &Pod, listers: &Listers) -> Self {
        let count = |has_csi_node| {
            let mut volumes = BTreeSet::new();
            let counted = attachable::collect(pod, listers, has_csi_node, true, &mut volumes);
            counted.map(|()| volumes).map_err(|error| match error {
                Uncountable::NotFound(text) => Status::unresolvable(text),
                Uncountable::Broken(text) => Status::error(text),
            })
        };
        let (with_csi_node, without_csi_node) = (count(true), count(false));
        let drivers: BTreeSet<&Text> =
            with_csi_node.iter().flatten().map(|it| &it.driver).collect();
        let mut attached: BTreeMap<Text, BTreeSet<Attachable>> = BTreeMap::new();
        if !drivers.is_empty() {
            let attachments = listers.volume_attachments.iter().map(|it| &it.spec);
            for spec in attachments.filter(|it| drivers.contains(&it.attacher)) {
                let volume = spec.source.persistent_volume_name.as_ref();
                let volume = volume.and_then(|it| listers.persistent_volumes.get("", it));
                let Some(csi) = volume.and_then(|it| it.spec.csi.as_ref()) else { continue };
                let id = VolumeId::Handle(csi.volume_handle.clone());
                let volume = Attachable { driver: spec.attacher.clone(), id };
                attached.entry(spec.node_name.clone()).or_default().insert(volume);
            }
        }
        Self(Arc::new(WantedData { with_csi_node, without_csi_node, attached }))
    }
}

impl Filter for NodeVolumeLimits {
    fn filter(&self, cx: Cycle<'_>, state: &CycleState, node: &NodeInfo) -> Outcome {
        if cx.pod.spec.volumes.is_empty() {
            return Ok(());
        }
        let listers = cx.snapshot.listers();
        match state.try_get::<Wanted>() {
            Some(wanted) => wanted.0.check(listers, node),
            None => Wanted::of(cx.pod, listers).0.check(listers, node),
        }
    }
}

impl WantedData {
    fn check(&self, listers: &Listers, node: &NodeInfo) -> Outcome {
        let csi_node = listers.csi_nodes.get("", node.name());
        let wanted = if csi_node.is_some() { &self.with_csi_node } else { &self.without_csi_node };
        let wanted = wanted.as_ref().map_err(Clone::clone)?;
        let limits = csi_node.map(|it| limits(it)).unwrap_or_default();
        if wanted.is_empty() || limits.is_empty() {
            return Ok(());
        }
        let mut present = BTreeSet::new();
        for placed in node.pods() {
            attachable::collect(placed, listers, true, false, &mut present)
                .map_err(Status::error)?;
        }
        // A volume that a pod on the node uses is not attached twice. One that is attached while no
        // pod uses it counts twice, as upstream has it.
        let new = wanted.difference(&present);
        let none = BTreeSet::new();
        let attached = self.attached.get(node.name()).unwrap_or(&none);
        let mut counts: BTreeMap<&Text, (i64, bool)> = BTreeMap::new();
        for it in present.iter().chain(attached.difference(&present)) {
            counts.entry(&it.driver).or_default().0 += 1;
        }
        for it in new {
            let (count, is_new) = counts.entry(&it.driver).or_default();
            *count += 1;
            *is_new = true;
        }
        let exceeds = |(driver, (count, is_new)): (&&Text, &(i64, bool))| {
            *is_new && limits.get(&***driver).is_some_and(|limit| count > limit)
        };
        if counts.iter().any(exceeds) {
            return Err(Status::unschedulable(MAX_VOLUME_COUNT_EXCEEDED));
        }
        Ok(())
    }
}

/// How many volumes each driver can attach, where there is a limit.
fn limits(node: &CsiNode) -> BTreeMap<&str, i64> {
    let drivers = node.spec.drivers.iter();
    let limit = |it: &CsiNodeDriver| it.allocatable.as_ref()?.count;
    drivers.filter_map(|it| Some((&*it.name, i64::from(limit(it)?)))).collect()
}

const MAX_VOLUME_COUNT_EXCEEDED: &str = "node(s) exceed max volume count";
