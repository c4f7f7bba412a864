//! `NamespaceLifecycle`: nothing new in a namespace that is missing or going.

use crate::resources::{Collection, Resource};
use crate::status::Status;
use crate::store::{Store, is_being_deleted};

/// Namespaces that every cluster has and nobody may delete.
const IMMORTAL: [&str; 3] = ["default", "kube-system", "kube-public"];

/// Refuses a create in a namespace that does not exist or is being deleted.
pub(super) fn check_create(
    store: &Store,
    resource: &Resource,
    namespace: &str,
    name: &str,
) -> Result<(), Status> {
    if !resource.namespaced {
        return Ok(());
    }
    let Some(found) = store.get(Collection::NAMESPACES, "", namespace) else {
        return Err(Status::not_found(Collection::NAMESPACES.resource(), namespace));
    };
    if !is_being_deleted(&found) {
        return Ok(());
    }
    let why = format!(
        "unable to create new content in namespace {namespace} because it is being terminated"
    );
    let cause = format!("namespace {namespace} is being terminated");
    Err(Status::forbidden(resource, name, &why).with_cause(
        "NamespaceTerminating",
        &cause,
        "metadata.namespace",
    ))
}

/// Refuses the deletion of a namespace that the cluster cannot do without.
pub(super) fn check_delete(resource: &Resource, name: &str) -> Result<(), Status> {
    if resource.collection == Collection::NAMESPACES && IMMORTAL.contains(&name) {
        return Err(Status::forbidden(resource, name, "this namespace may not be deleted"));
    }
    Ok(())
}
