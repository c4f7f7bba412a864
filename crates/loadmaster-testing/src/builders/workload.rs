//! What pods belong to, and what guards them. The objects are in namespace `default`.

use loadmaster_framework::api::{
    LabelSelector, Labels, Namespace, ObjectMeta, PodDisruptionBudget, ReplicaSet,
    ReplicationController, Service, StatefulSet, Text,
};

use super::NAMESPACE;

/// Metadata of an object of `kind` in namespace `default`.
pub(super) fn metadata(kind: &str, name: &str) -> ObjectMeta {
    ObjectMeta {
        name: name.into(),
        namespace: NAMESPACE.into(),
        uid: format!("{kind}/{name}").into(),
        ..ObjectMeta::default()
    }
}

/// A namespace with these labels.
pub fn namespace<K: Into<Text>, V: Into<Text>>(
    name: &str,
    labels: impl IntoIterator<Item = (K, V)>,
) -> Namespace {
    Namespace {
        metadata: ObjectMeta {
            namespace: Text::default(),
            labels: Labels::from_iter(labels),
            ..metadata("Namespace", name)
        },
    }
}

/// A service for pods with these labels.
pub fn service<K: Into<Text>, V: Into<Text>>(
    name: &str,
    labels: impl IntoIterator<Item = (K, V)>,
) -> Service {
    let mut service = Service { metadata: metadata("Service", name), ..Service::default() };
    service.spec.selector = Labels::from_iter(labels);
    service
}

/// A replication controller of pods with these labels.
pub fn replication_controller<K: Into<Text>, V: Into<Text>>(
    name: &str,
    labels: impl IntoIterator<Item = (K, V)>,
) -> ReplicationController {
    let mut controller = ReplicationController {
        metadata: metadata("ReplicationController", name),
        ..ReplicationController::default()
    };
    controller.spec.selector = Labels::from_iter(labels);
    controller
}

/// A replica set of the pods that `selector` is about.
pub fn replica_set(name: &str, selector: LabelSelector) -> ReplicaSet {
    let mut set = ReplicaSet { metadata: metadata("ReplicaSet", name), ..ReplicaSet::default() };
    set.spec.selector = Some(selector);
    set
}

/// A stateful set of the pods that `selector` is about.
pub fn stateful_set(name: &str, selector: LabelSelector) -> StatefulSet {
    let mut set = StatefulSet { metadata: metadata("StatefulSet", name), ..StatefulSet::default() };
    set.spec.selector = Some(selector);
    set
}

/// A budget by which so many of the pods that `selector` is about may go now.
pub fn pod_disruption_budget(
    name: &str,
    selector: LabelSelector,
    disruptions_allowed: i32,
) -> PodDisruptionBudget {
    let mut budget = PodDisruptionBudget {
        metadata: metadata("PodDisruptionBudget", name),
        ..PodDisruptionBudget::default()
    };
    budget.spec.selector = Some(selector);
    budget.status.disruptions_allowed = disruptions_allowed;
    budget
}
