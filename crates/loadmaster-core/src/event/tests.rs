use loadmaster_framework::api::{Node, PersistentVolumeClaim, Pod, Service};
use loadmaster_framework::{ClusterEvent, Object};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::events_of;

fn object<T: DeserializeOwned + Into<Object>>(value: Value) -> Object {
    serde_json::from_value::<T>(value).unwrap().into()
}

fn check<T: DeserializeOwned + Into<Object>>(old: Value, new: Value, expected: &[&str]) {
    let known = |value: Value| (!value.is_null()).then(|| object::<T>(value));
    let events = events_of(known(old).as_ref(), known(new).as_ref());
    assert_eq!(events.iter().map(ClusterEvent::label).collect::<Vec<_>>(), expected);
}

fn running(cpu: &str) -> Value {
    json!({"spec": {"nodeName": "n1", "containers": [
        {"name": "c", "resources": {"requests": {"cpu": cpu}}}
    ]}})
}

#[test]
fn coming_and_going_is_told_by_kind_and_by_whether_a_pod_is_bound() {
    check::<Node>(Value::Null, json!({}), &["NodeAdd"]);
    check::<Node>(json!({}), Value::Null, &["NodeDelete"]);
    check::<Pod>(Value::Null, json!({}), &["UnschedulablePodAdd"]);
    check::<Pod>(running("1"), Value::Null, &["AssignedPodDelete"]);
    check::<PersistentVolumeClaim>(json!({}), json!({}), &["PersistentVolumeClaimUpdate"]);
    check::<Service>(Value::Null, json!({}), &[]);
}

#[test]
fn a_pod_that_is_bound_appears_as_an_assigned_pod() {
    check::<Pod>(json!({}), json!({"spec": {"nodeName": "n1"}}), &["AssignedPodAdd"]);
}

#[test]
fn each_change_of_a_pod_is_an_event_in_upstreams_order() {
    let old = json!({"spec": {"schedulingGates": [{"name": "g"}], "containers": [
        {"name": "c", "resources": {"requests": {"cpu": "2", "memory": "1Gi"}}}
    ]}});
    let new = json!({
        "metadata": {"labels": {"app": "a"}},
        "spec": {"tolerations": [{"operator": "Exists"}], "containers": [
            {"name": "c", "resources": {"requests": {"cpu": "1999m", "memory": "1Gi"}}}
        ]},
        "status": {"resourceClaimStatuses": [{"name": "r", "resourceClaimName": "k"}]},
    });
    check::<Pod>(
        old,
        new,
        &[
            "UnschedulablePodUpdatePodLabel",
            "UnschedulablePodUpdatePodScaleDown",
            "UnschedulablePodUpdatePodSchedulingGatesEliminated",
            "UnschedulablePodUpdatePodToleration",
            "UnschedulablePodUpdatePodGeneratedResourceClaim",
        ],
    );
}

#[test]
fn only_lower_requests_and_the_last_gate_count() {
    check::<Pod>(running("1"), running("2"), &["AssignedPodUpdate"]);
    check::<Pod>(running("2"), running("1"), &["AssignedPodUpdatePodScaleDown"]);
    let gates = |names: &[&str]| {
        let gates: Vec<_> = names.iter().map(|it| json!({"name": it})).collect();
        json!({"spec": {"schedulingGates": gates}})
    };
    check::<Pod>(gates(&["a", "b"]), gates(&["a"]), &["UnschedulablePodUpdate"]);
}

#[test]
fn each_change_of_a_node_is_an_event_in_upstreams_order() {
    let old = json!({"spec": {"unschedulable": true}});
    let new = json!({
        "metadata": {"labels": {"a": "b"}, "annotations": {"a": "b"}},
        "spec": {"taints": [{"key": "k", "effect": "NoSchedule"}]},
        "status": {
            "allocatable": {"cpu": "1"},
            "conditions": [{"type": "Ready", "status": "True"}],
            "declaredFeatures": ["GuaranteedQoSPodCPUResize"],
        },
    });
    check::<Node>(
        old,
        new,
        &[
            "NodeUpdateNodeTaint",
            "NodeUpdateNodeAllocatable",
            "NodeUpdateNodeLabel",
            "NodeUpdateNodeTaint",
            "NodeUpdateNodeCondition",
            "NodeUpdateNodeAnnotation",
            "NodeUpdateNodeDeclaredFeature",
        ],
    );
}

#[test]
fn a_node_that_helps_nobody_more_than_before_is_no_event() {
    check::<Node>(json!({}), json!({"spec": {"unschedulable": true}}), &[]);
    // The same amount in another notation.
    let allocatable = |cpu: &str| json!({"status": {"allocatable": {"cpu": cpu}}});
    check::<Node>(allocatable("1"), allocatable("1000m"), &[]);
    // The same conditions in another order.
    let ready = json!({"type": "Ready", "status": "True"});
    let full = json!({"type": "DiskPressure", "status": "False"});
    let conditions = |list: [&Value; 2]| json!({"status": {"conditions": list}});
    check::<Node>(conditions([&ready, &full]), conditions([&full, &ready]), &[]);
}
