use std::time::Duration;

use loadmaster_framework::{Code, Object};
use serde_json::{Value, json};

use super::*;
use crate::test_kit::{Cluster, cycle, pod};

fn cluster() -> Cluster {
    Cluster::new(&[json!({
        "metadata": {"name": "n"},
        "status": {"allocatable": {"cpu": "4", "pods": "10", "example.com/gpu": "4"}},
    })])
}

fn claim(json: Value) -> Object {
    Object::ResourceClaim(serde_json::from_value(json).unwrap())
}

fn class(json: Value) -> Object {
    Object::DeviceClass(serde_json::from_value(json).unwrap())
}

fn with_claims(claims: Value, made: Value) -> Value {
    json!({
        "metadata": {"namespace": "ns", "name": "p", "uid": "u"},
        "spec": {"resourceClaims": claims},
        "status": {"resourceClaimStatuses": made},
    })
}

#[track_caller]
fn refused(cluster: &Cluster, pod: Value, reason: &str) {
    let line = format!("* UnschedulableAndUnresolvable: {reason}");
    cluster.check::<DynamicResources>(json!(null), pod).is(&[&line]);
}

#[test]
fn a_pod_without_claims_passes_with_0_points() {
    let verdicts = cluster().check::<DynamicResources>(json!(null), json!({}));
    assert!(verdicts.skipped_filter());
    verdicts.is(&["n 0"]);
}

#[test]
fn a_pod_with_claims_is_refused_and_told_why() {
    let named = with_claims(json!([{"name": "gpu", "resourceClaimName": "c"}]), json!(null));
    refused(&cluster(), named.clone(), "could not find resourceclaim \"ns/c\"");
    let ready = json!({"metadata": {"namespace": "ns", "name": "c", "uid": "k"}});
    refused(
        &cluster().with(claim(ready)),
        named.clone(),
        "this scheduler does not allocate devices: the pod has resource claims",
    );
    let going = json!({"metadata": {
        "namespace": "ns", "name": "c", "deletionTimestamp": "2026-01-01T00:00:00Z",
    }});
    refused(&cluster().with(claim(going)), named, "resourceclaim \"c\" is being deleted");
}

#[test]
fn a_claim_from_a_template_must_be_made_and_be_the_pods_own() {
    let template = json!([{"name": "gpu", "resourceClaimTemplateName": "t"}]);
    refused(
        &cluster(),
        with_claims(template.clone(), json!(null)),
        "pod \"ns/p\": ResourceClaim not created yet",
    );
    let made =
        with_claims(template.clone(), json!([{"name": "gpu", "resourceClaimName": "p-gpu"}]));
    let of_other = json!({"metadata": {"namespace": "ns", "name": "p-gpu", "ownerReferences": [
        {"apiVersion": "v1", "kind": "Pod", "name": "q", "uid": "other", "controller": true},
    ]}});
    refused(
        &cluster().with(claim(of_other)),
        made,
        "ResourceClaim ns/p-gpu was not created for Pod ns/p (Pod is not owner)",
    );
    // No claim was needed for the entry.
    let none = with_claims(template, json!([{"name": "gpu"}]));
    cluster().check::<DynamicResources>(json!(null), none).is(&["n 0"]);
}

#[test]
fn a_resource_that_a_device_class_stands_for_is_refused_even_where_a_node_has_it() {
    let explicit = json!({
        "metadata": {"name": "big-gpu"}, "spec": {"extendedResourceName": "example.com/gpu"},
    });
    let cluster = cluster().with(class(explicit));
    let asks = |name: &str, amount: &str| json!({"spec": {"containers": [{"resources": {"requests": {name: amount}}}]}});
    let text =
        "this scheduler does not allocate devices: example.com/gpu stands for device class big-gpu";
    refused(&cluster, asks("example.com/gpu", "1"), text);
    let implicit = "deviceclass.resource.kubernetes.io/big-gpu";
    let text = format!(
        "this scheduler does not allocate devices: {implicit} stands for device class big-gpu"
    );
    refused(&cluster, asks(implicit, "1"), &text);
    for free in [asks("example.com/gpu", "0"), asks("example.com/other", "1"), asks("cpu", "1")] {
        cluster.check::<DynamicResources>(json!(null), free).is(&["n 0"]);
    }
}

#[test]
fn no_point_lets_a_pod_with_claims_through_when_the_others_are_off() {
    let pod = pod(with_claims(json!([{"name": "g", "resourceClaimName": "c"}]), json!(null)));
    let snapshot = cluster().snapshot();
    let (cx, mut state) = (cycle(&pod, &snapshot), CycleState::default());
    let node = &snapshot.nodes()[0];
    let refused = |outcome: Outcome| outcome.unwrap_err().code();
    let code = Code::UnschedulableAndUnresolvable;
    assert_eq!(refused(DynamicResources.filter(cx, &state, node)), code);
    assert_eq!(refused(DynamicResources.pre_flight(cx, &state, "n").map(drop)), code);
    let step = DynamicResources.step(cx, &mut state, "n", PreBindInput::Start);
    assert!(matches!(step, PreBindStep::Fail(status) if status.code() == code));
}

#[test]
fn a_pod_waits_outside_the_queue_until_its_claim_is_made() {
    let ask = |json: Value| {
        let pod = pod(json);
        DynamicResources.pre_enqueue(Enqueue { pod: &pod, now: Duration::ZERO, preempting: false })
    };
    let template = json!([{"name": "gpu", "resourceClaimTemplateName": "t"}]);
    let status = ask(with_claims(template.clone(), json!(null))).unwrap_err();
    assert_eq!(status.message(), "pod \"ns/p\": ResourceClaim not created yet");
    assert_eq!(
        ask(with_claims(template, json!([{"name": "gpu", "resourceClaimName": "c"}]))),
        Ok(())
    );
    let status = ask(with_claims(json!([{"name": "gpu"}]), json!(null))).unwrap_err();
    let text = "pod \"ns/p\", spec.resourceClaim \"gpu\": none of the supported fields are set";
    assert_eq!(status.message(), text);
}
