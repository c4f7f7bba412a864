//! Which cluster events a change of an object amounts to.
//!
//! Source: `pkg/scheduler/framework/events.go`, v1.36.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use loadmaster_framework::api::{Node, Pod, PodRequestOptions, Text, pod_requests};
use loadmaster_framework::{ActionType, ClusterEvent, EventResource, Object};

/// A bound pod appeared, or a pod was bound.
pub const ASSIGNED_POD_ADD: ClusterEvent =
    ClusterEvent::new(EventResource::AssignedPod, ActionType::ADD);
/// A bound pod vanished.
pub const ASSIGNED_POD_DELETE: ClusterEvent =
    ClusterEvent::new(EventResource::AssignedPod, ActionType::DELETE);
/// A pod that is to be scheduled appeared.
pub const UNSCHEDULED_POD_ADD: ClusterEvent =
    ClusterEvent::new(EventResource::UnschedulablePod, ActionType::ADD);
/// A pod that is to be scheduled changed.
pub const UNSCHEDULED_POD_UPDATE: ClusterEvent =
    ClusterEvent::new(EventResource::UnschedulablePod, ActionType::UPDATE);
/// A pod that was to be scheduled vanished.
pub const UNSCHEDULED_POD_DELETE: ClusterEvent =
    ClusterEvent::new(EventResource::UnschedulablePod, ActionType::DELETE);
/// A pod came back from a try that failed.
pub const SCHEDULE_ATTEMPT_FAILURE: ClusterEvent = custom("ScheduleAttemptFailure");
/// A pod's backoff ended.
pub const BACKOFF_COMPLETE: ClusterEvent = custom("BackoffComplete");
/// A pod is tried before its backoff ended, since nobody else wants to be.
pub const POP_FROM_BACKOFF_Q: ClusterEvent = custom("PopFromBackoffQ");
/// A plugin asked for the pod to be tried again.
pub const FORCE_ACTIVATE: ClusterEvent = custom("ForceActivate");
/// Another configuration is in use.
pub const PROFILES_REPLACED: ClusterEvent = custom("ProfilesReplaced");
/// A pod was left among the unschedulable ones for too long.
pub const UNSCHEDULABLE_TIMEOUT: ClusterEvent = custom("UnschedulableTimeout");

const fn custom(label: &'static str) -> ClusterEvent {
    ClusterEvent { custom_label: Some(label), ..ClusterEvent::WILD_CARD }
}

/// The events that going from `old` to `new` amounts to, in upstream's order. `old` is `None` where
/// the object appeared, `new` where it vanished.
///
/// Empty where the change can help nobody: a node of which nothing changed that scheduling looks
/// at, or a kind of object that wakes nobody. A pod that was bound since is an assigned pod that
/// appeared.
pub fn events_of(old: Option<&Object>, new: Option<&Object>) -> Vec<ClusterEvent> {
    match (old, new) {
        (None, None) => Vec::new(),
        (None, Some(object)) => whole(object, ActionType::ADD),
        (Some(object), None) => whole(object, ActionType::DELETE),
        (Some(Object::Node(old)), Some(Object::Node(new))) => node_update_events(old, new),
        (Some(Object::Pod(old)), Some(Object::Pod(new))) => {
            if old.node_name().is_none() && new.node_name().is_some() {
                vec![ASSIGNED_POD_ADD]
            } else {
                pod_update_events(old, new)
            }
        }
        (Some(_), Some(object)) => whole(object, ActionType::UPDATE),
    }
}

fn whole(object: &Object, action: ActionType) -> Vec<ClusterEvent> {
    let resource = match object {
        Object::Pod(pod) => Some(pod_resource(pod)),
        other => other.resource(),
    };
    resource.map(|it| ClusterEvent::new(it, action)).into_iter().collect()
}

fn pod_resource(pod: &Pod) -> EventResource {
    if pod.node_name().is_some() {
        EventResource::AssignedPod
    } else {
        EventResource::UnschedulablePod
    }
}

/// What changed of a pod (upstream: `PodSchedulingPropertiesChange`); a change of nothing that has
/// an event of its own is a plain update.
pub fn pod_update_events(old: &Pod, new: &Pod) -> Vec<ClusterEvent> {
    let resource = pod_resource(new);
    let gates = (&old.spec.scheduling_gates, &new.spec.scheduling_gates);
    let claims = |pod: &Pod| pod.status.resource_claim_statuses.clone();
    let extended = |pod: &Pod| pod.status.extended_resource_claim_status.clone();
    let changes = [
        (old.metadata.labels != new.metadata.labels, ActionType::UPDATE_POD_LABEL),
        (scaled_down(old, new), ActionType::UPDATE_POD_SCALE_DOWN),
        (
            !gates.0.is_empty() && gates.1.is_empty(),
            ActionType::UPDATE_POD_SCHEDULING_GATES_ELIMINATED,
        ),
        // Tolerations can only be added, never changed or removed.
        (
            old.spec.tolerations.len() != new.spec.tolerations.len(),
            ActionType::UPDATE_POD_TOLERATION,
        ),
        (
            claims(old) != claims(new) || extended(old) != extended(new),
            ActionType::UPDATE_POD_GENERATED_RESOURCE_CLAIM,
        ),
    ];
    let events = of_changes(resource, &changes);
    if events.is_empty() { vec![ClusterEvent::new(resource, ActionType::UPDATE)] } else { events }
}

/// What changed of a node (upstream: `NodeSchedulingPropertiesChange`). Becoming unschedulable
/// helps nobody and is no event; becoming schedulable counts as a change of taints.
pub fn node_update_events(old: &Node, new: &Node) -> Vec<ClusterEvent> {
    let changes = [
        (old.spec.unschedulable && !new.spec.unschedulable, ActionType::UPDATE_NODE_TAINT),
        (old.status.allocatable != new.status.allocatable, ActionType::UPDATE_NODE_ALLOCATABLE),
        (old.metadata.labels != new.metadata.labels, ActionType::UPDATE_NODE_LABEL),
        (old.spec.taints != new.spec.taints, ActionType::UPDATE_NODE_TAINT),
        (conditions(old) != conditions(new), ActionType::UPDATE_NODE_CONDITION),
        (old.metadata.annotations != new.metadata.annotations, ActionType::UPDATE_NODE_ANNOTATION),
        (
            old.status.declared_features != new.status.declared_features,
            ActionType::UPDATE_NODE_DECLARED_FEATURE,
        ),
    ];
    of_changes(EventResource::Node, &changes)
}

fn of_changes(resource: EventResource, changes: &[(bool, ActionType)]) -> Vec<ClusterEvent> {
    let happened = changes.iter().filter(|(changed, _)| *changed);
    happened.map(|(_, action)| ClusterEvent::new(resource, *action)).collect()
}

fn conditions(node: &Node) -> BTreeMap<&Text, &Text> {
    node.status.conditions.iter().map(|it| (&it.r#type, &it.status)).collect()
}

/// Whether any request was lowered or dropped.
fn scaled_down(old: &Pod, new: &Pod) -> bool {
    let options = PodRequestOptions::on_node();
    let now = pod_requests(new, &options);
    pod_requests(old, &options)
        .iter()
        .any(|(name, was)| now.get(name).is_none_or(|is| was.milli_value() > is.milli_value()))
}
