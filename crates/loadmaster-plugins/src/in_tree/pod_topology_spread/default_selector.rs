//! Which pods are alike, where a pod does not say so itself: those of the same services and the
//! same controller (upstream: `helper.DefaultSelector`).

use loadmaster_framework::{
    Listers,
    api::{LabelSelector, Labels, Pod, Selector},
};

/// What the services that select `pod` and the controller that owns it select; without any of
/// them the selector has no requirement.
pub(super) fn of(pod: &Pod, listers: &Listers) -> Selector {
    let selects = |selector: &Labels| {
        selector.iter().all(|(key, value)| pod.metadata.labels.get(key) == Some(value))
    };
    let services = listers.services.in_namespace(pod.namespace()).map(|it| &it.spec.selector);
    let mut labels: Labels =
        services.filter(|it| selects(it)).flat_map(|it| it.iter().cloned()).collect();

    let Some(owner) = pod.metadata.controller() else {
        return Selector::from_labels(&labels);
    };
    let (namespace, name) = (&**pod.namespace(), &*owner.name);
    let further = match (&*owner.api_version, &*owner.kind) {
        ("v1", "ReplicationController") => {
            if let Some(it) = listers.replication_controllers.get(namespace, name) {
                labels = labels.iter().chain(&it.spec.selector).cloned().collect();
            }
            None
        }
        ("apps/v1", "ReplicaSet") => {
            let owner = listers.replica_sets.get(namespace, name);
            owner.and_then(|it| it.spec.selector.as_ref())
        }
        ("apps/v1", "StatefulSet") => {
            let owner = listers.stateful_sets.get(namespace, name);
            owner.and_then(|it| it.spec.selector.as_ref())
        }
        _ => None,
    };
    let selector = Selector::from_labels(&labels);
    match further.map(LabelSelector::compile) {
        Some(Ok(it)) => selector.and(it.requirements().unwrap_or_default().iter().cloned()),
        // A selector that cannot be understood narrows nothing.
        Some(Err(_)) | None => selector,
    }
}
