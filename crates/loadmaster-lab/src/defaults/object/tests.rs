//! `testdata/created.jsonl` holds what kube-apiserver 1.36 made of bodies sent to it: `in` as sent,
//! `out` as answered, with uid and times fixed and the server's counters left out.

use serde_json::{Value, json};

use crate::defaults::{AdmissionWorld, admit_pod, default_object, prepare_create};

/// The recorded namespace `wire-q` had one limit range.
struct Recorded;

impl AdmissionWorld for Recorded {
    fn priority_class(&self, name: &str) -> Option<Value> {
        let value = if name == "system-cluster-critical" { 2_000_000_000 } else { return None };
        Some(json!({"metadata": {"name": name}, "value": value}))
    }

    fn default_priority_class(&self) -> Option<Value> {
        None
    }

    fn limit_ranges(&self, namespace: &str) -> Vec<Value> {
        let range = json!({"spec": {"limits": [{"type": "Container", "default": {"cpu": "1"},
            "defaultRequest": {"cpu": "250m"}, "max": {"cpu": "2"}}]}});
        if namespace == "wire-q" { vec![range] } else { Vec::new() }
    }
}

fn create(mut object: Value) -> Value {
    let text = |name: &str| object[name].as_str().unwrap().to_owned();
    let (api_version, kind) = (text("apiVersion"), text("kind"));
    default_object(&api_version, &kind, &mut object);
    if kind == "Pod" {
        admit_pod(&mut object, true, &Recorded).unwrap();
    }
    prepare_create(&api_version, &kind, &mut object, "NOW");
    object
}

#[test]
fn created_objects_are_stored_as_the_api_server_stores_them() {
    let mut wrong = Vec::new();
    for line in include_str!("../../../testdata/created.jsonl").lines() {
        let mut case: Value = serde_json::from_str(line).unwrap();
        let mut got = create(case["in"].take());
        if got["kind"] == "Service" {
            // Addresses are drawn at random.
            let spec = got["spec"].as_object_mut().unwrap();
            assert!(spec["clusterIP"].as_str().unwrap().starts_with("10."));
            spec.retain(|name, _| !name.starts_with("clusterIP"));
        }
        if got != case["out"] {
            wrong.push(format!("{}\n  got    {got}\n  wanted {}", case["case"], case["out"]));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn defaults_applied_twice_change_nothing() {
    for line in include_str!("../../../testdata/created.jsonl").lines() {
        let case: Value = serde_json::from_str(line).unwrap();
        let mut again = case["out"].clone();
        let text = |name: &str| again[name].as_str().unwrap().to_owned();
        let (api_version, kind) = (text("apiVersion"), text("kind"));
        default_object(&api_version, &kind, &mut again);
        assert_eq!(again, case["out"], "{}", case["case"]);
    }
}

#[test]
fn nulls_from_clients_are_dropped_but_condition_times_stay() {
    let mut object = json!({"metadata": {"name": "x", "creationTimestamp": null},
        "data": {"a": "1"}, "status": {"conditions": [{"lastProbeTime": null}]}});
    default_object("v1", "ConfigMap", &mut object);
    assert_eq!(
        object,
        json!({"metadata": {"name": "x"}, "data": {"a": "1"},
            "status": {"conditions": [{"lastProbeTime": null}]}})
    );
}
