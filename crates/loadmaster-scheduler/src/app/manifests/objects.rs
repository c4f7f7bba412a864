//! The objects, in the order in which they are applied.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{
    command::{CONFIG_FILE, Deployed},
    rbac, workload,
};

/// An object of the cluster.
#[derive(Clone, Debug)]
pub(super) struct Object {
    value: Value,
    /// Who needs each of its rules, where it has rules.
    needed_by: Vec<String>,
}

impl Object {
    pub(super) fn new(value: Value) -> Self {
        Self { value, needed_by: Vec::new() }
    }

    /// A role, with who needs each rule.
    pub(super) fn role(value: Value, needed_by: Vec<String>) -> Self {
        Self { value, needed_by }
    }

    /// The object with something changed in it.
    pub(super) fn map(&self, change: impl FnOnce(&mut Value)) -> Self {
        let mut it = self.clone();
        change(&mut it.value);
        it
    }

    pub(super) fn value(&self) -> &Value {
        &self.value
    }

    pub(super) fn needed_by(&self) -> &[String] {
        &self.needed_by
    }

    /// Whether it says who may do what: the account, roles and bindings, and where they are.
    pub(super) fn is_about_permissions(&self) -> bool {
        let kind = self.kind();
        kind == "Namespace" || kind == "ServiceAccount" || kind.contains("Role")
    }

    pub(super) fn kind(&self) -> &str {
        self.value["kind"].as_str().unwrap_or_default()
    }
}

/// Every object.
pub(super) fn all(deployed: &Deployed) -> Vec<Object> {
    let mut objects = namespaces(deployed);
    objects.push(service_account(deployed));
    objects.extend(rbac::objects(deployed));
    objects.push(config_map(deployed));
    objects.push(workload::deployment(deployed));
    objects.extend(workload::disruption_budget(deployed));
    objects
}

/// The labels of everything.
pub(super) fn labels(deployed: &Deployed) -> Value {
    json!({
        "app.kubernetes.io/name": deployed.name,
        "app.kubernetes.io/component": "scheduler",
    })
}

pub(super) fn metadata(deployed: &Deployed) -> Value {
    json!({"name": deployed.name, "namespace": deployed.namespace, "labels": labels(deployed)})
}

/// The namespaces in which something is, but those that every cluster has. Pods where the scheduler
/// runs must be as harmless as its own; where the lease alone is, nothing is said about pods.
fn namespaces(deployed: &Deployed) -> Vec<Object> {
    let mut names: BTreeSet<&str> =
        deployed.needs.iter().map(|it| &*it.scope.namespace).filter(|it| !it.is_empty()).collect();
    names.insert(&deployed.namespace);
    let is_there = ["kube-system", "default", "kube-public", "kube-node-lease"];
    let made = names.into_iter().filter(|it| !is_there.contains(it));
    made.map(|name| {
        let mut labels = labels(deployed);
        if name == deployed.namespace {
            labels["pod-security.kubernetes.io/enforce"] = json!("restricted");
        }
        Object::new(json!({
            "apiVersion": "v1",
            "kind": "Namespace",
            "metadata": {"name": name, "labels": labels},
        }))
    })
    .collect()
}

fn service_account(deployed: &Deployed) -> Object {
    Object::new(json!({
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": metadata(deployed),
        // The one pod that needs the token asks for it.
        "automountServiceAccountToken": false,
    }))
}

fn config_map(deployed: &Deployed) -> Object {
    Object::new(json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": metadata(deployed),
        "data": {CONFIG_FILE: deployed.config},
    }))
}
