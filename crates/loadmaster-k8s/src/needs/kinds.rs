//! Which kinds of object a profile needs: nodes and pods always, others where a plugin reads them.
//!
//! A profile without a plugin that reads volumes needs neither to see volumes nor the permission
//! to.

use std::collections::{BTreeMap, BTreeSet};

use loadmaster_core::profile::Profile;
use serde_json::Value;

use crate::kind::Kind;

/// The kinds that the plugins of `profiles` read or are woken by.
pub fn kinds_of<'a>(profiles: impl IntoIterator<Item = &'a Profile>) -> BTreeSet<Kind> {
    readers_of(profiles).into_keys().collect()
}

/// The same kinds, each with the plugins that read it or are woken by it; nobody in particular
/// reads nodes and pods.
pub fn readers_of<'a>(
    profiles: impl IntoIterator<Item = &'a Profile>,
) -> BTreeMap<Kind, BTreeSet<&'static str>> {
    let mut readers = BTreeMap::from([(Kind::Node, BTreeSet::new()), (Kind::Pod, BTreeSet::new())]);
    for profile in profiles {
        for hooks in profile.hooks() {
            let extensions = hooks.enqueue_extensions.as_ref();
            let registered = extensions.map(|it| it.events_to_register()).unwrap_or_default();
            let woken = registered.iter().filter_map(|it| Kind::of(it.event.resource));
            let args = profile.args().get(hooks.name).unwrap_or(&Value::Null);
            for kind in woken.chain(read_by(hooks.name, args).iter().copied()) {
                if !matches!(kind, Kind::Node | Kind::Pod) {
                    readers.entry(kind).or_default().insert(hooks.name);
                }
            }
        }
    }
    readers
}

/// What an upstream plugin reads beside nodes and pods (upstream: the listers that its `New` takes
/// from the informer factory).
fn read_by(plugin: &str, args: &Value) -> &'static [Kind] {
    match plugin {
        "InterPodAffinity" => &[Kind::Namespace],
        "PodTopologySpread" if deduces_selectors(args) => {
            &[Kind::Service, Kind::ReplicationController, Kind::ReplicaSet, Kind::StatefulSet]
        }
        "DefaultPreemption" => &[Kind::PodDisruptionBudget],
        "VolumeRestrictions" => &[Kind::PersistentVolumeClaim],
        "VolumeZone" => &[Kind::PersistentVolume, Kind::PersistentVolumeClaim, Kind::StorageClass],
        "NodeVolumeLimits" => &[
            Kind::PersistentVolume,
            Kind::PersistentVolumeClaim,
            Kind::StorageClass,
            Kind::CsiNode,
            Kind::VolumeAttachment,
        ],
        "VolumeBinding" => &[
            Kind::PersistentVolume,
            Kind::PersistentVolumeClaim,
            Kind::StorageClass,
            Kind::CsiNode,
            Kind::CsiDriver,
            Kind::CsiStorageCapacity,
        ],
        _ => &[],
    }
}

/// Whether there are default constraints, whose selectors come from a pod's services and owners.
fn deduces_selectors(args: &Value) -> bool {
    let listed = args["defaultConstraints"].as_array().is_some_and(|it| !it.is_empty());
    listed || args["defaultingType"] != "List"
}
