//! Which changes may help a pod whose spreading could not be had.

use loadmaster_framework::{
    ActionType, ClusterEventWithHint, EnqueueExtensions, EventResource, Hint, Object, PluginError,
    QueueingHint,
    api::{Labels, Node, Pod, UnsatisfiableConstraintAction},
};

use super::{
    PodTopologySpread,
    constraint::{Constraint, has_all_keys},
};

impl EnqueueExtensions for PodTopologySpread {
    fn events_to_register(&self) -> Vec<ClusterEventWithHint> {
        let pod = ActionType::ADD
            | ActionType::UPDATE_POD_LABEL
            | ActionType::UPDATE_POD_TOLERATION
            | ActionType::DELETE;
        let node = ActionType::ADD
            | ActionType::DELETE
            | ActionType::UPDATE_NODE_LABEL
            | ActionType::UPDATE_NODE_TAINT;
        vec![
            ClusterEventWithHint::hinted(EventResource::Pod, pod),
            ClusterEventWithHint::hinted(EventResource::Node, node),
        ]
    }

    fn queueing_hint(&self, hint: Hint<'_>) -> Result<QueueingHint, PluginError> {
        let constraints = || {
            let action = UnsatisfiableConstraintAction::DoNotSchedule;
            self.constraints(hint.pod, hint.listers, action).map_err(PluginError::Other)
        };
        let helps = if hint.registered.resource == EventResource::Node {
            let node = |it: Option<&Object>| it.and_then(Object::as_node).cloned();
            node_change(node(hint.old).as_deref(), node(hint.new).as_deref(), &constraints()?)
        } else {
            let pod = |it: Option<&Object>| it.and_then(Object::as_pod).cloned();
            let (old, new) = (pod(hint.old), pod(hint.new));
            let counts = |it: &Pod| may_count(it, hint.pod);
            old.as_deref().is_none_or(counts)
                && new.as_deref().is_none_or(counts)
                && pod_change(old.as_deref(), new.as_deref(), hint.pod, &constraints()?)
        };
        Ok(if helps { QueueingHint::Queue } else { QueueingHint::Skip })
    }
}

/// Whether `other` may be among the pods that the constraints of `waiting` count: it is placed, or
/// about to be, in the same namespace – or it is the pod itself.
fn may_count(other: &Pod, waiting: &Pod) -> bool {
    let placed = other.node_name().is_some() || !other.status.nominated_node_name.is_empty();
    other.uid() == waiting.uid() || (placed && other.namespace() == waiting.namespace())
}

fn pod_change(
    old: Option<&Pod>,
    new: Option<&Pod>,
    waiting: &Pod,
    constraints: &[Constraint],
) -> bool {
    match (old, new) {
        (Some(old), Some(new)) => {
            let tolerates_more = new.uid() == waiting.uid()
                && new.spec.tolerations != old.spec.tolerations
                && constraints.iter().any(|it| it.honors_taints);
            let moved = |it: &Constraint| {
                it.selector.matches(&old.metadata.labels)
                    != it.selector.matches(&new.metadata.labels)
            };
            tolerates_more || constraints.iter().any(moved)
        }
        (Some(pod), None) | (None, Some(pod)) => {
            constraints.iter().any(|it| it.selector.matches(&pod.metadata.labels))
        }
        (None, None) => false,
    }
}

fn node_change(old: Option<&Node>, new: Option<&Node>, constraints: &[Constraint]) -> bool {
    let counts = |it: &Node| has_all_keys(&it.metadata.labels, constraints);
    match (old, new) {
        (Some(old), Some(new)) => {
            let is_domain = counts(new);
            let value = |labels: &Labels, it: &Constraint| labels.get(&it.topology_key).cloned();
            let moved = |it: &Constraint| {
                value(&old.metadata.labels, it) != value(&new.metadata.labels, it)
            };
            counts(old) != is_domain
                || (is_domain
                    && (constraints.iter().any(moved) || old.spec.taints != new.spec.taints))
        }
        (Some(node), None) | (None, Some(node)) => counts(node),
        (None, None) => false,
    }
}
