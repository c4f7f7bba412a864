//! Which changes may help a pod whose volumes were too many for the nodes.

use loadmaster_framework::{
    ActionType, ClusterEventWithHint, EnqueueExtensions, EventResource, Hint, Object, PluginError,
    QueueingHint,
    api::{CsiNode, CsiNodeDriver, Pod, VolumeAttachment},
};

use super::{NodeVolumeLimits, may_count};
use crate::in_tree::storage::{migration::InTree, uses_claim};

impl EnqueueExtensions for NodeVolumeLimits {
    fn events_to_register(&self) -> Vec<ClusterEventWithHint> {
        vec![
            ClusterEventWithHint::always(EventResource::CsiNode, ActionType::ADD),
            ClusterEventWithHint::hinted(EventResource::CsiNode, ActionType::UPDATE),
            ClusterEventWithHint::hinted(EventResource::Pod, ActionType::DELETE),
            ClusterEventWithHint::hinted(EventResource::PersistentVolumeClaim, ActionType::ADD),
            ClusterEventWithHint::hinted(EventResource::VolumeAttachment, ActionType::DELETE),
        ]
    }

    fn queueing_hint(&self, hint: Hint<'_>) -> Result<QueueingHint, PluginError> {
        let helps = match (hint.old, hint.new) {
            (Some(Object::CsiNode(old)), Some(Object::CsiNode(new))) => raises_a_limit(old, new),
            (Some(Object::Pod(gone)), _) => {
                is_placed(gone) && gone.spec.volumes.iter().any(may_count)
            }
            (_, Some(Object::PersistentVolumeClaim(claim))) => {
                uses_claim(hint.pod, &claim.metadata.namespace, &claim.metadata.name)
            }
            (Some(Object::VolumeAttachment(gone)), _) => may_have_held(gone, hint.pod)?,
            _ => false,
        };
        Ok(if helps { QueueingHint::Queue } else { QueueingHint::Skip })
    }
}

fn is_placed(pod: &Pod) -> bool {
    pod.node_name().is_some() || !pod.status.nominated_node_name.is_empty()
}

/// Whether a driver can attach more volumes than before; one without a limit counts as 0.
fn raises_a_limit(old: &CsiNode, new: &CsiNode) -> bool {
    let limit = |it: &CsiNodeDriver| it.allocatable.as_ref().and_then(|it| it.count).unwrap_or(0);
    new.spec.drivers.iter().any(|driver| {
        let before = old.spec.drivers.iter().rev().find(|it| it.name == driver.name);
        limit(driver) > before.map_or(0, limit)
    })
}

/// Whether the attachment may have taken the place of a volume of `waiting`.
fn may_have_held(gone: &VolumeAttachment, waiting: &Pod) -> Result<bool, PluginError> {
    for volume in &waiting.spec.volumes {
        if volume.persistent_volume_claim.is_some() {
            return Ok(true);
        }
        let Some(kind) = InTree::of_inline(volume) else { continue };
        kind.inline_handle(volume).map_err(|error| {
            let name = &volume.name;
            PluginError::Other(format!("converting volume({name}) from inline to csi: {error}"))
        })?;
        if *gone.spec.attacher == *kind.driver() {
            return Ok(true);
        }
    }
    Ok(false)
}
