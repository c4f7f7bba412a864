//! Which changes may help a pod whose volumes are in other zones.

use loadmaster_framework::{
    ActionType, ClusterEventWithHint, EnqueueExtensions, EventResource, Hint, Object, PluginError,
    QueueingHint, api::VolumeBindingMode,
};

use super::{Topology, VolumeZone};
use crate::in_tree::storage::names_claim;

impl EnqueueExtensions for VolumeZone {
    fn events_to_register(&self) -> Vec<ClusterEventWithHint> {
        let node = ActionType::ADD | ActionType::UPDATE_NODE_LABEL;
        let change = ActionType::ADD | ActionType::UPDATE;
        vec![
            ClusterEventWithHint::hinted(EventResource::StorageClass, ActionType::ADD),
            ClusterEventWithHint::always(EventResource::Node, node),
            ClusterEventWithHint::hinted(EventResource::PersistentVolumeClaim, change),
            ClusterEventWithHint::hinted(EventResource::PersistentVolume, change),
        ]
    }

    fn queueing_hint(&self, hint: Hint<'_>) -> Result<QueueingHint, PluginError> {
        let helps = match (hint.old, hint.new) {
            (_, Some(Object::StorageClass(class))) => {
                class.volume_binding_mode == Some(VolumeBindingMode::WaitForFirstConsumer)
            }
            (_, Some(Object::PersistentVolumeClaim(claim))) => {
                names_claim(hint.pod, &claim.metadata.namespace, &claim.metadata.name)
            }
            (Some(Object::PersistentVolume(old)), Some(Object::PersistentVolume(new))) => {
                !Topology::of(old).eq(Topology::of(new))
            }
            (None, Some(Object::PersistentVolume(_))) => true,
            _ => false,
        };
        Ok(if helps { QueueingHint::Queue } else { QueueingHint::Skip })
    }
}
