//! Validation: which objects are refused with 422, and in which words.
//!
//! Pods are checked in what a scheduling lab may get wrong (names, labels, resources, placement
//! rules, what may change later); other kinds in what labs rely on. Texts and field paths are those
//! of kube-apiserver 1.36.

mod data;
mod metadata;
mod names;
mod others;
mod pod;
mod pod_update;
mod rbac;
mod scheduling;
mod selectors;

pub use metadata::validate_metadata;

use serde_json::Value;

use crate::resources::{Collection, Resource};
use crate::status::FieldError;

/// The faults of a new object, after defaults and admission; `resource` is the view that it came
/// through.
pub fn validate_create(resource: &Resource, object: &Value) -> Vec<FieldError> {
    let mut errors = validate_metadata(resource.collection.resource(), object);
    match resource.collection {
        Collection::PODS => errors.extend(pod::validate(object)),
        Collection::NODES => errors.extend(others::node(object)),
        Collection::PRIORITY_CLASSES => errors.extend(others::new_priority_class(object)),
        Collection::EVENTS => errors.extend(others::event(resource, object)),
        Collection::DEPLOYMENTS
        | Collection::REPLICA_SETS
        | Collection::STATEFUL_SETS
        | Collection::DAEMON_SETS => errors.extend(others::workload(object)),
        Collection::CONFIG_MAPS => errors.extend(data::config_map(object)),
        Collection::SECRETS => errors.extend(data::secret(object)),
        Collection::LEASES => errors.extend(data::lease(object)),
        Collection::POD_DISRUPTION_BUDGETS => errors.extend(data::disruption_budget(object)),
        Collection::ROLES
        | Collection::CLUSTER_ROLES
        | Collection::ROLE_BINDINGS
        | Collection::CLUSTER_ROLE_BINDINGS => errors.extend(rbac::validate(resource, object)),
        _ => {}
    }
    errors
}

/// The faults of a changed object, given what it was.
pub fn validate_update(resource: &Resource, old: &Value, new: &Value) -> Vec<FieldError> {
    let mut errors = validate_metadata(resource, new);
    match resource.collection {
        Collection::PODS => errors.extend(pod_update::validate(old, new)),
        Collection::NODES => errors.extend(others::changed_node(old, new)),
        Collection::PRIORITY_CLASSES => errors.extend(others::changed_priority_class(old, new)),
        Collection::DEPLOYMENTS
        | Collection::REPLICA_SETS
        | Collection::STATEFUL_SETS
        | Collection::DAEMON_SETS => errors.extend(others::changed_workload(old, new)),
        Collection::CONFIG_MAPS => errors.extend(data::changed_config_map(old, new)),
        Collection::SECRETS => errors.extend(data::changed_secret(old, new)),
        Collection::LEASES => errors.extend(data::lease(new)),
        Collection::POD_DISRUPTION_BUDGETS => errors.extend(data::disruption_budget(new)),
        Collection::ROLES
        | Collection::CLUSTER_ROLES
        | Collection::ROLE_BINDINGS
        | Collection::CLUSTER_ROLE_BINDINGS => {
            errors.extend(rbac::validate_update(resource, old, new));
        }
        _ => {}
    }
    errors
}

/// The faults of a pod whose containers were given other resources.
pub fn validate_resize(old: &Value, new: &Value) -> Vec<FieldError> {
    pod_update::validate_resize(old, new)
}

/// The items of a list; none when it is absent or no list.
fn items(list: &Value) -> impl Iterator<Item = (usize, &Value)> {
    list.as_array().into_iter().flatten().enumerate()
}

/// A member's text, empty when absent.
fn text<'a>(object: &'a Value, member: &str) -> &'a str {
    object[member].as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests;
