//! One row of a table: the cells of an object, and what of the object goes with them.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::age::since;
use super::text::{list, number, or_none, text};
use super::{event, node, pod, storage, workloads};

/// How much of the object a row carries (`includeObject`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum IncludeObject {
    /// Nothing.
    None,
    /// Its metadata, the default.
    #[default]
    Metadata,
    /// All of it.
    Object,
}

/// The row of an object of this kind, as it is at `now`.
pub fn row(kind: &str, object: &Value, include: IncludeObject, now: Timestamp) -> Value {
    let mut row = json!({"cells": cells(kind, object, now)});
    if kind == "Pod"
        && let Some(conditions) = pod::row_conditions(object)
    {
        row["conditions"] = conditions;
    }
    row["object"] = match include {
        IncludeObject::None => Value::Null,
        IncludeObject::Object => object.clone(),
        IncludeObject::Metadata => json!({"kind": "PartialObjectMetadata",
            "apiVersion": "meta.k8s.io/v1", "metadata": object["metadata"]}),
    };
    row
}

/// The cells of an object of this kind, in the order of its columns.
pub fn cells(kind: &str, object: &Value, now: Timestamp) -> Vec<Value> {
    let name = text(object, "/metadata/name");
    let age = since(&object["metadata"]["creationTimestamp"], now);
    let values = match kind {
        "Pod" => pod::cells(object, now),
        "Node" => node::cells(object, &age),
        "Event" => return event::cells(object, now),
        "Deployment" => workloads::deployment(object, &age),
        "ReplicaSet" | "ReplicationController" => workloads::replica_set(object, &age),
        "StatefulSet" => workloads::stateful_set(object, &age),
        "DaemonSet" => workloads::daemon_set(object, &age),
        "Job" => workloads::job(object, &age, now),
        "CronJob" => workloads::cron_job(object, &age, now),
        "PersistentVolumeClaim" => storage::claim(object, &age),
        "PersistentVolume" => storage::volume(object, &age),
        "StorageClass" => return storage::class(object, &age),
        "CSINode" => vec![list(object, "/spec/drivers").len().into(), age.into()],
        "CSIDriver" => storage::csi_driver(object, &age),
        "VolumeAttachment" => storage::attachment(object, &age),
        "Namespace" => vec![text(object, "/status/phase").into(), age.into()],
        "Lease" => vec![text(object, "/spec/holderIdentity").into(), age.into()],
        "PriorityClass" => vec![
            number(object, "/value").into(),
            (object["globalDefault"] == true).into(),
            age.into(),
            text(object, "/preemptionPolicy").into(),
        ],
        "PodDisruptionBudget" => workloads::budget(object, &age),
        "Service" => service(object, &age),
        "ConfigMap" => vec![data_count(object).into(), age.into()],
        "Secret" => vec![text(object, "/type").into(), data_count(object).into(), age.into()],
        "ResourceQuota" => quota(object, &age),
        "LimitRange" | "CSIStorageCapacity" | "Role" | "ClusterRole" => {
            vec![object["metadata"]["creationTimestamp"].clone()]
        }
        "RoleBinding" | "ClusterRoleBinding" => binding(object, &age),
        "ResourceClaim" => vec![claim_state(object).into(), age.into()],
        _ => vec![age.into()],
    };
    std::iter::once(Value::from(name)).chain(values).collect()
}

fn data_count(object: &Value) -> usize {
    ["data", "binaryData"]
        .iter()
        .filter_map(|name| object[*name].as_object())
        .map(serde_json::Map::len)
        .sum()
}

fn service(object: &Value, age: &str) -> Vec<Value> {
    let ports: Vec<String> = list(object, "/spec/ports")
        .iter()
        .map(|port| {
            let node_port = match number(port, "/nodePort") {
                0 => String::new(),
                node_port => format!(":{node_port}"),
            };
            format!("{}{node_port}/{}", number(port, "/port"), text(port, "/protocol"))
        })
        .collect();
    let selector = super::text::labels(object["spec"]["selector"].as_object());
    let external = match text(object, "/spec/type") {
        "ExternalName" => text(object, "/spec/externalName"),
        "LoadBalancer" => "<pending>",
        _ => "<none>",
    };
    vec![
        text(object, "/spec/type").into(),
        or_none(text(object, "/spec/clusterIP")).into(),
        external.into(),
        or_none(&ports.join(",")).into(),
        age.into(),
        selector.into(),
    ]
}

/// The role, and who has it, by kind.
fn binding(object: &Value, age: &str) -> Vec<Value> {
    let role = format!("{}/{}", text(object, "/roleRef/kind"), text(object, "/roleRef/name"));
    let subjects = |kind: &str| -> Value {
        let of_kind = list(object, "/subjects").iter().filter(|it| it["kind"] == kind);
        let names = of_kind.map(|it| match kind {
            "ServiceAccount" => format!("{}/{}", text(it, "/namespace"), text(it, "/name")),
            _ => text(it, "/name").to_owned(),
        });
        names.collect::<Vec<_>>().join(", ").into()
    };
    let who = ["User", "Group", "ServiceAccount"].map(subjects);
    [role.into(), age.into()].into_iter().chain(who).collect()
}

/// `pods: 17/100` per hard limit, those on limits in a column of their own.
fn quota(object: &Value, age: &str) -> Vec<Value> {
    let (mut requests, mut limits) = (Vec::new(), Vec::new());
    for (name, hard) in object["status"]["hard"].as_object().into_iter().flatten() {
        let used = text(&object["status"]["used"][name.as_str()], "");
        let shown = format!("{name}: {used}/{}", text(hard, ""));
        if name.starts_with("limits.") { limits.push(shown) } else { requests.push(shown) }
    }
    vec![requests.join(", ").into(), limits.join(", ").into(), age.into()]
}

/// `pending`, or a combination of `deleted`, `allocated` and `reserved`.
fn claim_state(object: &Value) -> String {
    let mut states = Vec::new();
    if !object["metadata"]["deletionTimestamp"].is_null() {
        states.push("deleted");
    }
    if object["status"]["allocation"].is_null() {
        if states.is_empty() {
            states.push("pending");
        }
    } else {
        states.push("allocated");
        if !list(object, "/status/reservedFor").is_empty() {
            states.push("reserved");
        }
    }
    states.join(",")
}

#[cfg(test)]
mod tests;
