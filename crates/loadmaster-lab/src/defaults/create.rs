//! What only the server decides when an object is created.

use serde_json::{Map, Value, json};

use super::fill::{fill, fill_text, object_in};
use super::matching_labels::merge_label_keys;
use super::qos::qos_class;

type Object = Map<String, Value>;

/// Sets the first status, finalizers and server-chosen fields of a new object. Call it after
/// [`default_object`](super::default_object) and admission, with `metadata.uid` already set; `now`
/// is an RFC 3339 time in whole seconds.
///
/// A status in the body is dropped, except for nodes, whose kubelet registers with one.
pub fn prepare_create(api_version: &str, kind: &str, object: &mut Value, now: &str) {
    let qos = if kind == "Pod" { qos_class(object) } else { "" };
    let Some(object) = object.as_object_mut() else { return };
    let group = api_version.split_once('/').map_or("", |(group, _)| group);
    let status = match (group, kind) {
        ("", "Pod") => {
            merge_label_keys(object);
            pod_status(object, qos, now)
        }
        ("", "Node") => {
            not_ready_taint(object);
            return;
        }
        ("", "Namespace") => {
            if let Some(spec) = object_in(object, "spec") {
                add_to_list(spec, "finalizers", &json!("kubernetes"));
            }
            json!({"phase": "Active"})
        }
        ("", "PersistentVolumeClaim") => {
            add_finalizer(object, "kubernetes.io/pvc-protection");
            json!({"phase": "Pending"})
        }
        ("", "PersistentVolume") => {
            add_finalizer(object, "kubernetes.io/pv-protection");
            json!({"phase": "Pending", "lastPhaseTransitionTime": now})
        }
        ("", "Service") => {
            cluster_ip(object);
            json!({"loadBalancer": {}})
        }
        ("batch", "Job") => {
            job_labels(object);
            json!({})
        }
        ("apps", "ReplicaSet") | ("", "ReplicationController") => json!({"replicas": 0}),
        ("apps", "StatefulSet") => json!({"replicas": 0, "availableReplicas": 0}),
        ("apps", "DaemonSet") => json!({"currentNumberScheduled": 0, "numberMisscheduled": 0,
            "desiredNumberScheduled": 0, "numberReady": 0}),
        ("policy", "PodDisruptionBudget") => json!({"disruptionsAllowed": 0, "currentHealthy": 0,
            "desiredHealthy": 0, "expectedPods": 0}),
        ("apps", "Deployment") | ("batch", "CronJob") | ("", "ResourceQuota") => json!({}),
        _ => return,
    };
    object.insert("status".to_owned(), status);
}

fn pod_status(pod: &Object, qos: &str, now: &str) -> Value {
    let gates = pod.get("spec").and_then(|it| it["schedulingGates"].as_array());
    let mut status = json!({"phase": "Pending", "qosClass": qos});
    if gates.is_some_and(|gates| !gates.is_empty()) {
        status["conditions"] = json!([{"type": "PodScheduled", "status": "False",
            "lastProbeTime": null, "lastTransitionTime": now, "reason": "SchedulingGated",
            "message": "Scheduling is blocked due to non-empty scheduling gates"}]);
    }
    status
}

/// New nodes take no pods until the node controller has seen them Ready.
fn not_ready_taint(node: &mut Object) {
    let Some(spec) = object_in(node, "spec") else { return };
    let taint = json!({"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"});
    let same = |it: &Value| it["key"] == taint["key"] && it["effect"] == taint["effect"];
    let known = spec.get("taints").and_then(Value::as_array).is_some_and(|it| it.iter().any(same));
    if !known {
        add_to_list(spec, "taints", &taint);
    }
}

fn add_finalizer(object: &mut Object, finalizer: &str) {
    if let Some(metadata) = object_in(object, "metadata") {
        add_to_list(metadata, "finalizers", &json!(finalizer));
    }
}

fn add_to_list(object: &mut Object, name: &str, item: &Value) {
    fill(object, name, json!([]));
    if let Some(list) = object.get_mut(name).and_then(Value::as_array_mut)
        && !list.contains(item)
    {
        list.push(item.clone());
    }
}

/// An address from 10.96.0.0/12, drawn from the uid: nothing routes to it in a lab.
fn cluster_ip(service: &mut Object) {
    let uid = service.get("metadata").and_then(|it| it["uid"].as_str()).unwrap_or_default();
    let number =
        uid.bytes().fold(0_u32, |sum, byte| sum.wrapping_mul(31).wrapping_add(byte.into()));
    let address =
        format!("10.{}.{}.{}", 96 + (number >> 16) % 16, (number >> 8) % 256, number % 256);
    let Some(spec) = object_in(service, "spec") else { return };
    if spec.get("type").and_then(Value::as_str) == Some("ExternalName") {
        return;
    }
    fill_text(spec, "clusterIP", &address);
    let first = spec["clusterIP"].clone();
    fill(spec, "clusterIPs", json!([first]));
    fill(spec, "ipFamilies", json!(["IPv4"]));
    fill_text(spec, "ipFamilyPolicy", "SingleStack");
}

/// A job selects its pods by its own uid and name.
fn job_labels(job: &mut Object) {
    let metadata = job.get("metadata").cloned().unwrap_or_default();
    let (uid, name) = (metadata["uid"].clone(), metadata["name"].clone());
    if job.get("spec").is_some_and(|it| it["manualSelector"] == true) {
        return;
    }
    let labels = [
        ("batch.kubernetes.io/controller-uid", &uid),
        ("batch.kubernetes.io/job-name", &name),
        ("controller-uid", &uid),
        ("job-name", &name),
    ];
    let put = |metadata: Option<&mut Object>| {
        if let Some(into) = metadata.and_then(|it| object_in(it, "labels")) {
            for (key, value) in labels {
                into.insert(key.to_owned(), value.clone());
            }
        }
    };
    put(object_in(job, "metadata"));
    let Some(spec) = object_in(job, "spec") else { return };
    spec.insert(
        "selector".to_owned(),
        json!({"matchLabels": {"batch.kubernetes.io/controller-uid": uid}}),
    );
    put(object_in(spec, "template").and_then(|it| object_in(it, "metadata")));
}
