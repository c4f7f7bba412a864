//! Defaults by kind: what decoding an object of that kind fills in.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};

use super::fill::{existing, fill, fill_text, items_in, object_in};
use super::{pod, quantity, workloads};

/// Fills in the defaults of a built-in kind and rewrites its quantities; other kinds stay as they
/// are. Applying it twice changes nothing more, so it serves creation, updates and patches alike.
pub fn default_object(api_version: &str, kind: &str, object: &mut Value) {
    if kind != "Event" {
        drop_nulls(object);
    }
    quantity::canonicalise(api_version, kind, object);
    let Some(object) = object.as_object_mut() else { return };
    match (group_of(api_version), kind) {
        ("", "Pod") => pod::default_pod(object),
        ("", "ReplicationController") => workloads::replication_controller(object),
        ("apps", "Deployment") => workloads::deployment(object),
        ("apps", "ReplicaSet") => workloads::replica_set(object),
        ("apps", "StatefulSet") => workloads::stateful_set(object),
        ("apps", "DaemonSet") => workloads::daemon_set(object),
        ("batch", "Job") => workloads::job(object),
        ("batch", "CronJob") => workloads::cron_job(object),
        ("", "Service") => service(object),
        ("", "Namespace") => namespace(object),
        ("", "Node") => node(object),
        ("", "PersistentVolume") => persistent_volume(object),
        ("", "PersistentVolumeClaim") => {
            if let Some(spec) = object_in(object, "spec") {
                fill_text(spec, "volumeMode", "Filesystem");
            }
        }
        ("", "LimitRange") => limit_range(object),
        ("", "Secret") => secret(object),
        ("coordination.k8s.io", "Lease") => lease(object),
        ("rbac.authorization.k8s.io", "RoleBinding" | "ClusterRoleBinding") => binding(object),
        ("scheduling.k8s.io", "PriorityClass") => {
            fill_text(object, "preemptionPolicy", "PreemptLowerPriority");
        }
        ("storage.k8s.io", "StorageClass") => {
            fill_text(object, "reclaimPolicy", "Delete");
            fill_text(object, "volumeBindingMode", "Immediate");
        }
        ("storage.k8s.io", "CSIDriver") => csi_driver(object),
        _ => {}
    }
}

fn group_of(api_version: &str) -> &str {
    api_version.split_once('/').map_or("", |(group, _)| group)
}

/// Nulls that clients write for absent members, as `creationTimestamp: null`; a status keeps its
/// own, since condition times are printed even when they are null.
fn drop_nulls(value: &mut Value) {
    match value {
        Value::Object(members) => {
            members.retain(|_, member| !member.is_null());
            for (name, member) in members.iter_mut() {
                if name != "status" {
                    drop_nulls(member);
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(drop_nulls),
        _ => {}
    }
}

fn service(object: &mut Map<String, Value>) {
    let Some(spec) = object_in(object, "spec") else { return };
    fill_text(spec, "type", "ClusterIP");
    fill_text(spec, "sessionAffinity", "None");
    if spec["type"] != "ExternalName" {
        fill_text(spec, "internalTrafficPolicy", "Cluster");
    }
    for port in items_in(spec, "ports") {
        fill_text(port, "protocol", "TCP");
        let number = port.get("port").cloned().unwrap_or_default();
        let target = port.get("targetPort");
        if target.is_none_or(|it| *it == json!(0) || *it == json!("")) {
            port.insert("targetPort".to_owned(), number);
        }
    }
}

/// What was given as text is kept as base64.
fn secret(object: &mut Map<String, Value>) {
    fill_text(object, "type", "Opaque");
    let Some(Value::Object(texts)) = object.remove("stringData") else { return };
    let Some(data) = object_in(object, "data") else { return };
    for (key, text) in texts {
        let text = STANDARD.encode(text.as_str().unwrap_or_default());
        data.insert(key, text.into());
    }
}

/// What belongs to coordinated leader election, which is off in 1.36, is dropped.
fn lease(object: &mut Map<String, Value>) {
    if let Some(spec) = existing(object, "spec") {
        spec.remove("strategy");
        spec.remove("preferredHolder");
    }
}

/// Roles, users and groups are of RBAC's group; service accounts are of none.
fn binding(object: &mut Map<String, Value>) {
    let group = "rbac.authorization.k8s.io";
    if let Some(reference) = object_in(object, "roleRef") {
        fill_text(reference, "apiGroup", group);
    }
    for subject in items_in(object, "subjects") {
        if matches!(subject.get("kind").and_then(Value::as_str), Some("User" | "Group")) {
            fill_text(subject, "apiGroup", group);
        }
    }
}

fn namespace(object: &mut Map<String, Value>) {
    let Some(metadata) = object_in(object, "metadata") else { return };
    let Some(name) = metadata.get("name").cloned() else { return };
    if let Some(labels) = object_in(metadata, "labels") {
        labels.insert("kubernetes.io/metadata.name".to_owned(), name);
    }
}

fn node(object: &mut Map<String, Value>) {
    let Some(status) = object_in(object, "status") else { return };
    if let Some(endpoints) = object_in(status, "daemonEndpoints")
        && let Some(kubelet) = object_in(endpoints, "kubeletEndpoint")
    {
        fill(kubelet, "Port", 0);
    }
    if let Some(info) = object_in(status, "nodeInfo") {
        for name in [
            "machineID",
            "systemUUID",
            "bootID",
            "kernelVersion",
            "osImage",
            "containerRuntimeVersion",
            "kubeletVersion",
            "kubeProxyVersion",
            "operatingSystem",
            "architecture",
        ] {
            fill(info, name, "");
        }
    }
    let capacity = status.get("capacity").and_then(Value::as_object).cloned().unwrap_or_default();
    if !capacity.is_empty()
        && let Some(allocatable) = object_in(status, "allocatable")
    {
        for (name, amount) in capacity {
            fill(allocatable, &name, amount);
        }
    }
}

fn persistent_volume(object: &mut Map<String, Value>) {
    let Some(spec) = object_in(object, "spec") else { return };
    fill_text(spec, "persistentVolumeReclaimPolicy", "Retain");
    fill_text(spec, "volumeMode", "Filesystem");
    if let Some(path) = existing(spec, "hostPath") {
        fill(path, "type", "");
    }
}

fn limit_range(object: &mut Map<String, Value>) {
    let Some(spec) = existing(object, "spec") else { return };
    for limit in items_in(spec, "limits") {
        if limit.get("type").and_then(Value::as_str) != Some("Container") {
            continue;
        }
        let copies = [("max", "default"), ("default", "defaultRequest"), ("min", "defaultRequest")];
        for (from, to) in copies {
            let source = limit.get(from).and_then(Value::as_object).cloned().unwrap_or_default();
            if source.is_empty() {
                continue;
            }
            if let Some(target) = object_in(limit, to) {
                for (name, amount) in source {
                    fill(target, &name, amount);
                }
            }
        }
    }
}

fn csi_driver(object: &mut Map<String, Value>) {
    let Some(spec) = object_in(object, "spec") else { return };
    fill(spec, "attachRequired", true);
    fill(spec, "podInfoOnMount", false);
    fill(spec, "storageCapacity", false);
    fill(spec, "fsGroupPolicy", "ReadWriteOnceWithFSType");
    fill(spec, "requiresRepublish", false);
    fill(spec, "seLinuxMount", false);
    fill(spec, "volumeLifecycleModes", json!(["Persistent"]));
}

#[cfg(test)]
mod tests;
