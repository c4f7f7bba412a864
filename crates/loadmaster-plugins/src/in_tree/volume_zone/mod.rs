#![doc = include_str!("volume_zone.md")]

mod hints;

#[cfg(test)]
mod tests;

use std::{collections::BTreeSet, sync::Arc};

use loadmaster_framework::{
    Candidates, Cycle, CycleState, FieldError, Filter, Gates, Hooks, Kind, NodeInfo, Outcome,
    Plugin, PreFilter, Status,
    api::{PersistentVolume, PersistentVolumeClaim, Text, VolumeBindingMode},
};

use super::storage::{claim_class, find_claim};
use crate::NoArgs;

/// See the [module](self).
#[derive(Debug)]
pub struct VolumeZone;

impl Plugin for VolumeZone {
    const NAME: &'static str = "VolumeZone";
    const DOC: &'static str = include_str!("volume_zone.md");
    type Args = NoArgs;

    fn build(_: NoArgs, _: &Gates) -> Result<Hooks, FieldError> {
        let hooks = Hooks::of(Self).pre_filter().filter().enqueue_extensions();
        let read = [Kind::PersistentVolume, Kind::PersistentVolumeClaim, Kind::StorageClass];
        Ok(hooks.reads(&read).into())
    }
}

/// One zone or region label of a volume of the pod.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Topology {
    volume: Text,
    key: &'static str,
    values: BTreeSet<Text>,
}

/// What the labels of the pod's volumes ask of the node.
#[derive(Clone, Debug)]
struct Topologies(Arc<[Topology]>);

impl PreFilter for VolumeZone {
    fn pre_filter(&self, cx: Cycle<'_>, state: &mut CycleState) -> Outcome<Candidates> {
        let topologies = Topologies::of(cx)?;
        if topologies.0.is_empty() {
            return Ok(Candidates::Skip);
        }
        state.put(topologies);
        Ok(Candidates::All)
    }
}

impl Filter for VolumeZone {
    fn filter(&self, cx: Cycle<'_>, state: &CycleState, node: &NodeInfo) -> Outcome {
        match state.try_get::<Topologies>() {
            Some(topologies) => topologies.check(node),
            None => Topologies::of(cx)?.check(node),
        }
    }
}

impl Topologies {
    fn of(cx: Cycle<'_>) -> Outcome<Self> {
        let volumes = cx.pod.spec.volumes.iter();
        let mut all = Vec::new();
        for volume in volumes.filter_map(|it| it.persistent_volume_claim.as_ref()) {
            let name = &volume.claim_name;
            if name.is_empty() {
                return Err(Status::unresolvable("PersistentVolumeClaim had no name"));
            }
            let listers = cx.snapshot.listers();
            let claim = find_claim(listers, cx.pod, name).map_err(Status::unresolvable)?;
            let volume_name = &claim.spec.volume_name;
            if volume_name.is_empty() {
                check_unbound(cx, claim)?;
                continue;
            }
            let volume = listers.persistent_volumes.get("", volume_name);
            let missing =
                || Status::unresolvable(format!("persistentvolume {volume_name:?} not found"));
            all.extend(Topology::of(volume.ok_or_else(missing)?));
        }
        Ok(Self(all.into()))
    }

    fn check(&self, node: &NodeInfo) -> Outcome {
        // A node without any such label is of a cluster that has but one zone.
        if !LABELS.iter().any(|key| node.label(key).is_some()) {
            return Ok(());
        }
        let fits = |it: &Topology| {
            let value = node.label(it.key).or_else(|| node.label(successor(it.key)));
            value.is_some_and(|value| it.values.contains(value))
        };
        if self.0.iter().all(fits) {
            return Ok(());
        }
        Err(Status::unresolvable(CONFLICT))
    }
}

/// A claim without a volume is fine if it gets one once the pod has its node.
fn check_unbound(cx: Cycle<'_>, claim: &PersistentVolumeClaim) -> Outcome {
    let name = claim_class(claim);
    if name.is_empty() {
        let reason = "PersistentVolumeClaim had no pv name and storageClass name";
        return Err(Status::unresolvable(reason));
    }
    let Some(class) = cx.snapshot.listers().storage_classes.get("", name) else {
        let reason = format!("storageclass.storage.k8s.io {name:?} not found");
        return Err(Status::unresolvable(reason));
    };
    match class.volume_binding_mode {
        Some(VolumeBindingMode::WaitForFirstConsumer) => Ok(()),
        Some(VolumeBindingMode::Immediate | VolumeBindingMode::Unknown) => {
            Err(Status::unresolvable("PersistentVolume had no name"))
        }
        None => {
            let reason = format!("VolumeBindingMode not set for StorageClass {name:?}");
            Err(Status::unresolvable(reason))
        }
    }
}

impl Topology {
    /// What each zone or region label of `volume` says. A label that cannot be understood says
    /// nothing.
    fn of(volume: &PersistentVolume) -> impl Iterator<Item = Self> {
        let label = |key| Some((key, volume.metadata.labels.get(key)?));
        LABELS.into_iter().filter_map(label).filter_map(|(key, value)| {
            let values: BTreeSet<Text> = value.split("__").map(|it| it.trim().into()).collect();
            let volume = volume.metadata.name.clone();
            (!values.contains("")).then_some(Self { volume, key, values })
        })
    }
}

/// The label that nodes have today in the place of one from before.
fn successor(key: &str) -> &str {
    match key {
        "failure-domain.beta.kubernetes.io/zone" => "topology.kubernetes.io/zone",
        "failure-domain.beta.kubernetes.io/region" => "topology.kubernetes.io/region",
        key => key,
    }
}

const LABELS: [&str; 4] = [
    "failure-domain.beta.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region",
    "topology.kubernetes.io/zone",
    "topology.kubernetes.io/region",
];
const CONFLICT: &str = "node(s) had no available volume zone";
