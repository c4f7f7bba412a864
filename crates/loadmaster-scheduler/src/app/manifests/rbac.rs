//! Roles and their bindings, made from what the scheduler needs.

use std::collections::{BTreeMap, BTreeSet};

use loadmaster_k8s::needs::Need;
use serde_json::{Value, json};

use super::{
    command::Deployed,
    objects::{Object, labels},
};

/// The cluster role, and a role in every namespace where something is needed, each bound to the
/// service account.
pub(super) fn objects(deployed: &Deployed) -> Vec<Object> {
    let mut by_namespace: BTreeMap<&str, Vec<&Need>> = BTreeMap::new();
    for need in &deployed.needs {
        by_namespace.entry(&need.scope.namespace).or_default().push(need);
    }
    by_namespace
        .into_iter()
        .flat_map(|(namespace, needs)| {
            [role(deployed, namespace, &needs), binding(deployed, namespace)]
        })
        .collect()
}

/// Names of the cluster are shared with everybody.
fn name(deployed: &Deployed) -> String {
    format!("loadmaster:{}", deployed.name)
}

fn metadata(deployed: &Deployed, namespace: &str) -> Value {
    let mut metadata = json!({"name": name(deployed), "labels": labels(deployed)});
    if !namespace.is_empty() {
        metadata["namespace"] = json!(namespace);
    }
    metadata
}

fn role(deployed: &Deployed, namespace: &str, needs: &[&Need]) -> Object {
    let (rules, needed_by) = rules(needs).into_iter().unzip::<_, _, Vec<Value>, Vec<String>>();
    let value = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": if namespace.is_empty() { "ClusterRole" } else { "Role" },
        "metadata": metadata(deployed, namespace),
        "rules": rules,
    });
    Object::role(value, needed_by)
}

/// A rule for what the same plugins need of one group with the same verbs, with who they are.
fn rules(needs: &[&Need]) -> Vec<(Value, String)> {
    type Key<'n> = (&'n BTreeSet<String>, &'n str, &'n str, &'n BTreeSet<String>);
    let mut merged: BTreeMap<Key<'_>, Vec<String>> = BTreeMap::new();
    for need in needs {
        let key = (&need.needed_by, &*need.scope.group, &*need.scope.name, &need.verbs);
        merged.entry(key).or_default().push(need.scope.path());
    }
    merged
        .into_iter()
        .map(|((needed_by, group, name, verbs), resources)| {
            let mut rule = json!({"apiGroups": [group], "resources": resources, "verbs": verbs});
            if !name.is_empty() {
                rule["resourceNames"] = json!([name]);
            }
            (rule, needed_by.iter().cloned().collect::<Vec<_>>().join(", "))
        })
        .collect()
}

fn binding(deployed: &Deployed, namespace: &str) -> Object {
    let (kind, role) = match namespace {
        "" => ("ClusterRoleBinding", "ClusterRole"),
        _ => ("RoleBinding", "Role"),
    };
    Object::new(json!({
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": kind,
        "metadata": metadata(deployed, namespace),
        "roleRef": {
            "apiGroup": "rbac.authorization.k8s.io",
            "kind": role,
            "name": name(deployed),
        },
        "subjects": [{
            "kind": "ServiceAccount",
            "name": deployed.name,
            "namespace": deployed.namespace,
        }],
    }))
}
