//! The roles and bindings that every cluster begins with, as far as a lab needs them.
//!
//! Source: `plugin/pkg/auth/authorizer/rbac/bootstrappolicy` 1.36 with its default feature gates.

use serde_json::Value;

use crate::api::Api;
use crate::resources::Collection;
use crate::store::text;
use crate::values::list;

/// `clusterRoles`, `clusterRoleBindings`, `roles` and `roleBindings`, one object a line.
const DEFAULTS: &str = include_str!("../../../data/default-roles.json");

/// Creates the default roles and bindings; their namespaces must exist.
pub(crate) fn create(api: &Api) {
    let defaults: Value =
        serde_json::from_str(DEFAULTS).expect("the file is part of the crate and a test reads it");
    for (member, collection) in [
        ("/clusterRoles", Collection::CLUSTER_ROLES),
        ("/clusterRoleBindings", Collection::CLUSTER_ROLE_BINDINGS),
        ("/roles", Collection::ROLES),
        ("/roleBindings", Collection::ROLE_BINDINGS),
    ] {
        for object in list(&defaults, member) {
            let namespace = text(object, "namespace");
            let created = api.create(collection.resource(), namespace, object.clone(), false);
            if let Err(status) = created {
                let name = text(object, "name");
                tracing::error!(%collection, name, %status, "cannot create a default role");
            }
        }
    }
}
