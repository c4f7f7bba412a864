//! What roles and bindings allow.
//!
//! The state is read from the store with every question, so that a role that was just changed
//! counts at once.
//!
//! Source: `plugin/pkg/auth/authorizer/rbac` and `pkg/registry/rbac/validation` 1.36.

mod bootstrap;
mod escalation;
mod rules;

use serde_json::Value;

use super::attributes::Attributes;
use super::user::{User, service_account_name};
use crate::resources::Collection;
use crate::store::{Object, Store, text};
use crate::values;

pub(crate) use bootstrap::create as create_default_roles;
pub(crate) use escalation::{check_grant, grants_rights};
pub(crate) use rules::Rule;

/// What an authorizer says to a question.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Decision {
    /// Whether it may be done.
    pub allowed: bool,
    /// Why, or what went wrong on the way to a no; may be empty.
    pub reason: String,
}

/// A role that applies to a user.
#[derive(Debug)]
struct Grant {
    role: Object,
    /// By which binding, for people.
    source: String,
}

/// The rules that apply to a user in a namespace, and what went wrong in finding them.
#[derive(Debug, Default)]
struct Grants {
    granted: Vec<Grant>,
    faults: Vec<String>,
}

/// Whether the user may do this.
pub fn authorize(store: &Store, user: &User, what: &Attributes) -> Decision {
    if user.is_master() {
        return Decision { allowed: true, reason: String::new() };
    }
    let grants = grants(store, user, what.namespace());
    for grant in &grants.granted {
        if rules_of(&grant.role).any(|rule| rule.allows(what)) {
            return Decision {
                allowed: true,
                reason: format!("RBAC: allowed by {}", grant.source),
            };
        }
    }
    let reason = match grants.faults.as_slice() {
        [] => String::new(),
        [fault] => format!("RBAC: {fault}"),
        faults => format!("RBAC: [{}]", faults.join(", ")),
    };
    Decision { allowed: false, reason }
}

/// The rules that apply to a user in a namespace, or in the whole cluster where it is empty, and
/// what went wrong in finding them.
pub(crate) fn rules_for(store: &Store, user: &User, namespace: &str) -> (Vec<Value>, Vec<String>) {
    let Grants { granted, faults } = grants(store, user, namespace);
    let rules = granted.iter().flat_map(|it| values::list(&it.role, "/rules").to_vec()).collect();
    (rules, faults)
}

fn rules_of(role: &Value) -> impl Iterator<Item = Rule<'_>> {
    values::list(role, "/rules").iter().map(Rule)
}

fn grants(store: &Store, user: &User, namespace: &str) -> Grants {
    let mut grants = Grants::default();
    let (bindings, _) = store.list(Collection::CLUSTER_ROLE_BINDINGS, None);
    for binding in &bindings {
        grants.add(store, user, binding, "");
    }
    if !namespace.is_empty() {
        let (bindings, _) = store.list(Collection::ROLE_BINDINGS, Some(namespace));
        for binding in &bindings {
            grants.add(store, user, binding, namespace);
        }
    }
    grants
}

impl Grants {
    /// Adds the binding's role if one of its subjects is the user.
    fn add(&mut self, store: &Store, user: &User, binding: &Value, namespace: &str) {
        let subjects = values::list(binding, "/subjects");
        let Some(subject) = subjects.iter().find(|it| is_user(user, it, namespace)) else { return };
        let reference = &binding["roleRef"];
        match role_of(store, reference, namespace) {
            Ok(role) => {
                let source = describe(binding, subject, namespace);
                self.granted.push(Grant { role, source });
            }
            Err(fault) => self.faults.push(fault),
        }
    }
}

/// The role that a binding of this namespace (empty for the whole cluster) refers to.
fn role_of(store: &Store, reference: &Value, namespace: &str) -> Result<Object, String> {
    let name = reference["name"].as_str().unwrap_or_default();
    let (collection, namespace, resource) = match reference["kind"].as_str().unwrap_or_default() {
        "Role" => (Collection::ROLES, namespace, "role"),
        "ClusterRole" => (Collection::CLUSTER_ROLES, "", "clusterrole"),
        other => return Err(format!("unsupported role reference kind: {other:?}")),
    };
    store
        .get(collection, namespace, name)
        .ok_or_else(|| format!("{resource}.rbac.authorization.k8s.io {name:?} not found"))
}

/// Whether a subject of a binding is this user; service accounts without a namespace are those of
/// the binding's.
fn is_user(user: &User, subject: &Value, namespace: &str) -> bool {
    let member = |name: &str| subject[name].as_str().unwrap_or_default();
    let name = member("name");
    match member("kind") {
        "User" => user.name == name,
        "Group" => user.is_in(name),
        "ServiceAccount" => {
            let own = member("namespace");
            let namespace = if own.is_empty() { namespace } else { own };
            !namespace.is_empty() && user.name == service_account_name(namespace, name)
        }
        _ => false,
    }
}

/// The binding, for people.
fn describe(binding: &Value, subject: &Value, namespace: &str) -> String {
    let name = text(binding, "name");
    let binding_text = if namespace.is_empty() {
        format!("ClusterRoleBinding {name:?}")
    } else {
        format!("RoleBinding {:?}", format!("{name}/{namespace}"))
    };
    let member = |value: &Value, name: &str| value[name].as_str().unwrap_or_default().to_owned();
    let (kind, mut who) = (member(subject, "kind"), member(subject, "name"));
    if kind == "ServiceAccount" {
        let own = member(subject, "namespace");
        who = format!("{who}/{}", if own.is_empty() { namespace } else { &own });
    }
    let reference = &binding["roleRef"];
    format!(
        "{binding_text} of {} {:?} to {kind} {who:?}",
        member(reference, "kind"),
        member(reference, "name")
    )
}

#[cfg(test)]
mod tests;
