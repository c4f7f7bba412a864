//! Which changes may help a pod whose volumes others held.

use loadmaster_framework::{
    ActionType, ClusterEventWithHint, EnqueueExtensions, EventResource, Hint, Object, PluginError,
    QueueingHint, api::Pod,
};

use super::{VolumeRestrictions, have_conflict};
use crate::in_tree::storage::names_claim;

impl EnqueueExtensions for VolumeRestrictions {
    fn events_to_register(&self) -> Vec<ClusterEventWithHint> {
        vec![
            ClusterEventWithHint::hinted(EventResource::Pod, ActionType::DELETE),
            ClusterEventWithHint::always(EventResource::Node, ActionType::ADD),
            ClusterEventWithHint::hinted(EventResource::PersistentVolumeClaim, ActionType::ADD),
        ]
    }

    fn queueing_hint(&self, hint: Hint<'_>) -> Result<QueueingHint, PluginError> {
        let helps = match (hint.old, hint.new) {
            (Some(Object::Pod(gone)), _) => {
                gone.namespace() == hint.pod.namespace() && held(gone, hint.pod)
            }
            (_, Some(Object::PersistentVolumeClaim(claim))) => {
                names_claim(hint.pod, &claim.metadata.namespace, &claim.metadata.name)
            }
            _ => false,
        };
        Ok(if helps { QueueingHint::Queue } else { QueueingHint::Skip })
    }
}

/// Whether `gone` held a disk or a claim of `waiting`. Whether the claim is for one pod alone is
/// not looked at.
fn held(gone: &Pod, waiting: &Pod) -> bool {
    let claims = gone.spec.volumes.iter().filter_map(|it| it.persistent_volume_claim.as_ref());
    have_conflict(waiting, gone)
        || claims.into_iter().any(|it| names_claim(waiting, gone.namespace(), &it.claim_name))
}
