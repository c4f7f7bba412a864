//! Expected texts are recorded answers of kube-apiserver 1.36.

use serde_json::{Value, json};

use super::*;
use crate::status::Status;

fn pod(spec: &Value) -> Value {
    let mut pod = json!({"metadata": {"name": "x", "namespace": "ns"}, "spec": {
        "restartPolicy": "Always", "containers": [{"name": "c", "image": "i"}]}});
    for (key, value) in spec.as_object().into_iter().flatten() {
        pod["spec"][key] = value.clone();
    }
    pod
}

fn told(collection: Collection, object: &Value) -> String {
    let resource = collection.resource();
    let errors = validate_create(resource, object);
    if errors.is_empty() {
        return "fine".to_owned();
    }
    let name = object["metadata"]["name"].as_str().unwrap_or_default();
    Status::invalid(resource, name, &errors).message
}

fn changed(old: &Value, new: &Value) -> String {
    let errors = validate_update(Collection::PODS.resource(), old, new);
    match errors.first() {
        Some(error) => format!("{}: {}", error.field, error.body),
        None => "fine".to_owned(),
    }
}

#[test]
fn a_plain_pod_is_fine() {
    assert_eq!(told(Collection::PODS, &pod(&json!({}))), "fine");
}

#[test]
fn several_faults_of_a_pod_are_told_in_the_servers_order() {
    let object = json!({"metadata": {"name": "Bad_Name"}, "spec": {"restartPolicy": "Often",
        "containers": [{"name": "c"}, {"name": "c", "image": "i"}],
        "nodeSelector": {"a b": "c"}, "tolerations": [{"operator": "Foo", "key": "k"}]}});
    assert_eq!(
        told(Collection::PODS, &object),
        "Pod \"Bad_Name\" is invalid: [metadata.name: Invalid value: \"Bad_Name\": a lowercase \
         RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and \
         must start and end with an alphanumeric character (e.g. 'example.com', regex used for \
         validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*'), \
         spec.containers[0].image: Required value, spec.containers[1].name: Duplicate value: \
         \"c\", spec.restartPolicy: Unsupported value: \"Often\": supported values: \"Always\", \
         \"OnFailure\", \"Never\", spec.nodeSelector: Invalid value: \"a b\": name part must \
         consist of alphanumeric characters, '-', '_' or '.', and must start and end with an \
         alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for \
         validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]'), spec.tolerations[0].operator: \
         Unsupported value: \"Foo\": supported values: \"Equal\", \"Exists\"]"
    );
}

#[test]
fn single_faults_of_a_pod_are_told_in_the_servers_words() {
    let cases = [
        (json!({"containers": []}), "spec.containers: Required value"),
        (
            json!({"containers": [{"name": "c", "image": "i",
                "resources": {"requests": {"cpu": "2"}, "limits": {"cpu": "1"}}}]}),
            "spec.containers[0].resources.requests: Invalid value: \"2\": must be less than or \
             equal to cpu limit of 1",
        ),
        (
            json!({"topologySpreadConstraints": [{"maxSkew": 0, "topologyKey": "z",
                "whenUnsatisfiable": "DoNotSchedule"}]}),
            "spec.topologySpreadConstraints[0].maxSkew: Invalid value: 0: must be greater than \
             zero",
        ),
        (
            json!({"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution":
                {"nodeSelectorTerms": [{"matchExpressions": [{"key": "a", "operator": "Is"}]}]}}}}),
            "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.\
             nodeSelectorTerms[0].matchExpressions[0].operator: Invalid value: \"Is\": not a valid \
             selector operator",
        ),
        (
            json!({"schedulingGates": [{"name": "a/b"}], "nodeName": "n"}),
            "spec.nodeName: Forbidden: cannot be set until all schedulingGates have been cleared",
        ),
    ];
    for (spec, expected) in cases {
        let expected = format!("Pod \"x\" is invalid: {expected}");
        assert_eq!(told(Collection::PODS, &pod(&spec)), expected);
    }
}

#[test]
fn a_pods_placement_cannot_be_changed_later() {
    let old = pod(&json!({}));
    let new = pod(&json!({"nodeSelector": {"x": "y"}}));
    assert!(changed(&old, &new).starts_with("spec: Forbidden: pod updates may not change fields"));
    let bound = pod(&json!({"nodeName": "n2"}));
    assert!(changed(&old, &bound).starts_with("spec: Forbidden: "));
}

#[test]
fn images_tolerations_and_deadlines_may_change() {
    let old = pod(&json!({"tolerations": [{"key": "a", "operator": "Exists"}]}));
    let new = pod(&json!({
        "containers": [{"name": "c", "image": "other"}],
        "tolerations": [{"key": "b", "operator": "Exists"}, {"key": "a", "operator": "Exists"}],
        "activeDeadlineSeconds": 100,
    }));
    assert_eq!(changed(&old, &new), "fine");
    let fewer = pod(&json!({"tolerations": []}));
    assert!(changed(&old, &fewer).starts_with("spec: Forbidden: "));
}

#[test]
fn a_gated_pod_may_be_narrowed_and_lose_its_gates() {
    let old = pod(&json!({"schedulingGates": [{"name": "a/b"}], "nodeSelector": {"a": "b"}}));
    let narrower = pod(&json!({"schedulingGates": [], "nodeSelector": {"a": "b", "x": "y"}}));
    assert_eq!(changed(&old, &narrower), "fine");
    let wider = pod(&json!({"schedulingGates": [{"name": "a/b"}]}));
    assert!(changed(&old, &wider).starts_with("spec: Forbidden: "));
    let more = pod(&json!({"schedulingGates": [{"name": "a/b"}]}));
    assert_eq!(
        changed(&pod(&json!({})), &more),
        "spec.schedulingGates[0].name: Forbidden: only deletion is allowed, but found new \
         scheduling gate 'a/b'"
    );
}

#[test]
fn taints_are_unique_and_their_effects_known() {
    let node = |taints: Value| json!({"metadata": {"name": "n"}, "spec": {"taints": taints}});
    assert_eq!(
        told(Collection::NODES, &node(json!([{"key": "a", "effect": "No"}]))),
        "Node \"n\" is invalid: metadata.taints[0].effect: Unsupported value: \"No\": supported \
         values: \"NoSchedule\", \"PreferNoSchedule\", \"NoExecute\""
    );
    let twice = json!([{"key": "a", "effect": "NoSchedule"}, {"key": "a", "effect": "NoSchedule"}]);
    assert_eq!(
        told(Collection::NODES, &node(twice)),
        "Node \"n\" is invalid: metadata.taints[1]: Duplicate value: {\"Key\":\"a\",\"Value\":\
         \"\",\"Effect\":\"NoSchedule\",\"TimeAdded\":null}: taints must be unique by key and \
         effect pair"
    );
}

#[test]
fn a_user_class_has_a_limit_and_keeps_its_value() {
    let class = |value: i64| json!({"metadata": {"name": "c"}, "value": value});
    assert_eq!(
        told(Collection::PRIORITY_CLASSES, &class(2_000_000_000)),
        "PriorityClass.scheduling.k8s.io \"c\" is invalid: value: Forbidden: maximum allowed value \
         of a user defined priority is 1000000000"
    );
    let errors = validate_update(Collection::PRIORITY_CLASSES.resource(), &class(7), &class(9));
    assert_eq!(errors[0].body, "Forbidden: may not be changed in an update.");
}

#[test]
fn a_workloads_selector_matches_its_template_and_stays() {
    let deployment = |selector: &str| {
        json!({"metadata": {"name": "d"}, "spec": {
            "selector": {"matchLabels": {"app": selector}},
            "template": {"metadata": {"labels": {"app": "x"}},
                "spec": {"restartPolicy": "Always", "containers": [{"name": "c", "image": "i"}]}}}})
    };
    assert_eq!(told(Collection::DEPLOYMENTS, &deployment("x")), "fine");
    let errors =
        validate_update(Collection::DEPLOYMENTS.resource(), &deployment("x"), &deployment("y"));
    let status = Status::invalid(Collection::DEPLOYMENTS.resource(), "d1", &errors);
    assert_eq!(
        status.message,
        "Deployment.apps \"d1\" is invalid: [spec.template.metadata.labels: Invalid value: \
         {\"app\":\"x\"}: `selector` does not match template `labels`, spec.selector: Invalid \
         value: {\"matchLabels\":{\"app\":\"y\"}}: field is immutable]"
    );
}

#[test]
fn an_event_of_the_new_api_needs_a_time_and_a_type() {
    let view = crate::resources::by_path("events.k8s.io", "v1", "events").unwrap();
    let event = json!({"metadata": {"name": "e3", "namespace": "wire-sem"}, "reason": "x"});
    let status =
        Status::invalid(Collection::EVENTS.resource(), "e3", &validate_create(view, &event));
    assert_eq!(
        status.message,
        "Event \"e3\" is invalid: [involvedObject.namespace: Invalid value: \"\": does not match \
         event.namespace, eventTime: Required value, type: Invalid value: \"\": has invalid value: \
         ]"
    );
}
