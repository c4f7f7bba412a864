//! Which changes may help a pod whose volumes could not be had.

use loadmaster_framework::{
    ActionType, ClusterEventWithHint, EnqueueExtensions, EventResource, Hint, Object, PluginError,
    QueueingHint,
    api::{CsiDriver, CsiNode, CsiStorageCapacity, Pod, Quantity},
};

use super::{VolumeBinding, provisioning::largest_volume, reach::MIGRATED_PLUGINS};
use crate::in_tree::storage::uses_claim;

impl EnqueueExtensions for VolumeBinding {
    fn events_to_register(&self) -> Vec<ClusterEventWithHint> {
        let change = ActionType::ADD | ActionType::UPDATE;
        let node = ActionType::ADD | ActionType::UPDATE_NODE_LABEL;
        vec![
            ClusterEventWithHint::hinted(EventResource::StorageClass, change),
            ClusterEventWithHint::hinted(EventResource::PersistentVolumeClaim, change),
            ClusterEventWithHint::always(EventResource::PersistentVolume, change),
            ClusterEventWithHint::always(EventResource::Node, node),
            ClusterEventWithHint::hinted(EventResource::CsiNode, change),
            ClusterEventWithHint::hinted(EventResource::CsiDriver, ActionType::UPDATE),
            ClusterEventWithHint::hinted(EventResource::CsiStorageCapacity, change),
        ]
    }

    fn queueing_hint(&self, hint: Hint<'_>) -> Result<QueueingHint, PluginError> {
        let helps = match (hint.old, hint.new) {
            (_, Some(Object::PersistentVolumeClaim(claim))) => {
                uses_claim(hint.pod, &claim.metadata.namespace, &claim.metadata.name)
            }
            (Some(Object::StorageClass(old)), Some(Object::StorageClass(new))) => {
                old.allowed_topologies != new.allowed_topologies
            }
            (Some(Object::CsiNode(old)), Some(Object::CsiNode(new))) => {
                let migrated =
                    |it: &CsiNode| it.metadata.annotations.get(MIGRATED_PLUGINS).cloned();
                migrated(old).unwrap_or_default() != migrated(new).unwrap_or_default()
            }
            (Some(Object::CsiDriver(old)), Some(Object::CsiDriver(new))) => {
                stops_telling_room(old, new, hint.pod)
            }
            (Some(Object::CsiStorageCapacity(old)), Some(Object::CsiStorageCapacity(new))) => {
                has_more_room(old, new)
            }
            (None, Some(_)) => true,
            _ => false,
        };
        Ok(if helps { QueueingHint::Queue } else { QueueingHint::Skip })
    }
}

/// Whether a driver of the pod's own volumes tells of its room no more, which then is no limit.
fn stops_telling_room(old: &CsiDriver, new: &CsiDriver, waiting: &Pod) -> bool {
    let tells = |it: &CsiDriver| it.spec.storage_capacity == Some(true);
    let drivers = waiting.spec.volumes.iter().filter_map(|it| it.csi.as_ref());
    let is_used = drivers.into_iter().any(|it| it.driver == new.metadata.name);
    is_used && tells(old) && !tells(new)
}

fn has_more_room(old: &CsiStorageCapacity, new: &CsiStorageCapacity) -> bool {
    let before = largest_volume(old).map(Quantity::value);
    largest_volume(new).is_some_and(|now| before.is_none_or(|before| now.value() > before))
}
