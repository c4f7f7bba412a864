//! The node controller: taints that follow a node's conditions, mirrored labels, and nodes that
//! have stopped reporting.
//!
//! Source: `pkg/controller/nodelifecycle` 1.36.

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::events::{Recorder, Severity};
use super::runner::{Controller, Key};
use crate::api::Api;
use crate::resources::Collection;
use crate::status::Status;
use crate::store::{Object, text};
use crate::values::{condition, list};

/// The controller of node taints and of nodes' last signs of life.
#[derive(Clone, Copy, Debug)]
pub struct NodeTaints;

const RECORDER: Recorder = Recorder("node-controller");

/// A node that has not renewed its lease for this long is not known to be alive.
const SILENCE_MAX: SignedDuration = SignedDuration::from_secs(50);

/// Where nodes keep their leases.
pub(crate) const LEASE_NAMESPACE: &str = "kube-node-lease";

impl Controller for NodeTaints {
    fn watches(&self) -> Vec<Collection> {
        vec![Collection::NODES, Collection::LEASES]
    }

    fn keys(&self, _: &Api, collection: Collection, object: &Value) -> Vec<Key> {
        if collection == Collection::LEASES {
            let node_lease = text(object, "namespace") == LEASE_NAMESPACE;
            return node_lease.then(|| Key::new("", text(object, "name"))).into_iter().collect();
        }
        vec![Key::of(object)]
    }

    fn reconcile(
        &mut self,
        api: &Api,
        key: &Key,
        now: Timestamp,
    ) -> Result<Option<Timestamp>, Status> {
        let Some(node) = api.store().get(Collection::NODES, "", &key.name) else {
            return Ok(None);
        };
        welcome(api, &node, now);
        let silent_from = last_sign(api, &node).map(|it| it + SILENCE_MAX);
        let silent = silent_from.is_some_and(|it| it <= now);
        let time = now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
        let edited = api.store().edit(Collection::NODES, "", &key.name, |node| {
            if silent {
                mark_unknown(node, &time);
            }
            mirror_labels(node);
            let taints = wanted_taints(node, &time);
            if taints.is_empty() {
                if let Some(spec) = node["spec"].as_object_mut() {
                    spec.remove("taints");
                }
            } else {
                node["spec"]["taints"] = json!(taints);
            }
        });
        match edited {
            Ok(after) if silent && is_ready(&node) && !is_ready(&after) => {
                let message = format!("Node {} status is now: NodeNotReady", key.name);
                RECORDER.record(api, &node, Severity::Normal, "NodeNotReady", &message, now);
            }
            _ => {}
        }
        Ok(silent_from.filter(|_| !silent))
    }
}

fn is_ready(node: &Value) -> bool {
    crate::values::condition_is_true(node, "Ready")
}

/// Tells once that a node has come.
fn welcome(api: &Api, node: &Object, now: Timestamp) {
    let name = text(node, "name");
    let message = format!("Node {name} event: Registered Node {name} in Controller");
    RECORDER.record_once(api, node, Severity::Normal, "RegisteredNode", &message, now);
}

/// When the node was last heard of: its lease, or the heartbeat of its Ready condition.
fn last_sign(api: &Api, node: &Value) -> Option<Timestamp> {
    let lease = api.store().get(Collection::LEASES, LEASE_NAMESPACE, text(node, "name"));
    let renewed = lease.and_then(|it| it["spec"]["renewTime"].as_str()?.parse().ok());
    let heartbeat = condition(node, "Ready")
        .and_then(|it| it["lastHeartbeatTime"].as_str())
        .and_then(|it| it.parse().ok());
    renewed.max(heartbeat)
}

/// Nothing is known any more about a node that does not report.
fn mark_unknown(node: &mut Value, now: &str) {
    let Some(conditions) = node["status"]["conditions"].as_array_mut() else { return };
    for condition in conditions.iter_mut().filter(|it| it["status"] != "Unknown") {
        condition["status"] = json!("Unknown");
        condition["reason"] = json!("NodeStatusUnknown");
        condition["message"] = json!("Kubelet stopped posting node status.");
        condition["lastTransitionTime"] = json!(now);
    }
}

/// Old clients look for the operating system and architecture under their beta names.
fn mirror_labels(node: &mut Value) {
    for (from, to) in [
        ("kubernetes.io/os", "beta.kubernetes.io/os"),
        ("kubernetes.io/arch", "beta.kubernetes.io/arch"),
    ] {
        if let Some(value) = node["metadata"]["labels"].get(from).cloned() {
            node["metadata"]["labels"][to] = value;
        }
    }
}

/// The taints that this controller alone sets and takes off.
const MANAGED: [(&str, &str); 9] = [
    ("node.kubernetes.io/not-ready", "NoSchedule"),
    ("node.kubernetes.io/unreachable", "NoSchedule"),
    ("node.kubernetes.io/network-unavailable", "NoSchedule"),
    ("node.kubernetes.io/memory-pressure", "NoSchedule"),
    ("node.kubernetes.io/disk-pressure", "NoSchedule"),
    ("node.kubernetes.io/pid-pressure", "NoSchedule"),
    ("node.kubernetes.io/unschedulable", "NoSchedule"),
    ("node.kubernetes.io/not-ready", "NoExecute"),
    ("node.kubernetes.io/unreachable", "NoExecute"),
];

/// The node's taints as its conditions ask for them: foreign ones stay, present ones keep their
/// time.
fn wanted_taints(node: &Value, now: &str) -> Vec<Value> {
    let ready = condition(node, "Ready").map(|it| it["status"].as_str().unwrap_or_default());
    let is_true = |kind: &str| crate::values::condition_is_true(node, kind);
    let wanted = |key: &str| match key.rsplit('/').next().unwrap_or(key) {
        "not-ready" => ready == Some("False"),
        "unreachable" => ready == Some("Unknown"),
        "network-unavailable" => is_true("NetworkUnavailable"),
        "memory-pressure" => is_true("MemoryPressure"),
        "disk-pressure" => is_true("DiskPressure"),
        "pid-pressure" => is_true("PIDPressure"),
        "unschedulable" => node["spec"]["unschedulable"] == true,
        _ => false,
    };
    let mut taints = list(node, "/spec/taints").to_vec();
    for (key, effect) in MANAGED {
        let same = |it: &Value| it["key"] == key && it["effect"] == effect;
        // Before the first report a new node keeps the taint that it was created with.
        if key.ends_with("not-ready") && ready.is_none() {
            continue;
        }
        if !wanted(key) {
            taints.retain(|it| !same(it));
        } else if !taints.iter().any(same) {
            taints.push(json!({"key": key, "effect": effect, "timeAdded": now}));
        }
    }
    taints
}

#[cfg(test)]
mod tests;
