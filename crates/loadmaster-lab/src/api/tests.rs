//! Expected texts and effects are recorded answers of kube-apiserver 1.36.

use serde_json::{Value, json};

use super::*;
use crate::resources::Collection;
use crate::store::{ChangeKind, is_being_deleted, text, version_of};

const PODS: Collection = Collection::PODS;

fn api() -> Api {
    let api = Api::new(Arc::new(Store::new()));
    make(&api, Collection::NAMESPACES, json!({"metadata": {"name": "ns"}}));
    api
}

fn make(api: &Api, collection: Collection, object: Value) -> Object {
    let resource = collection.resource();
    let namespace = if resource.namespaced { "ns" } else { "" };
    api.create(resource, namespace, object, false).unwrap()
}

fn pod(name: &str) -> Value {
    json!({"metadata": {"name": name}, "spec": {"containers": [{"name": "c", "image": "i:1"}]}})
}

fn map(name: &str) -> Value {
    json!({"metadata": {"name": name}, "data": {"a": "1"}})
}

fn binding(name: &str, node: &str) -> Value {
    json!({"metadata": {"name": name}, "target": {"kind": "Node", "name": node}})
}

fn patch<'a>(content_type: &'a str, body: &'a str) -> PatchRequest<'a> {
    PatchRequest {
        content_type,
        body: body.as_bytes(),
        field_manager: "",
        force: false,
        validation: FieldValidation::Warn,
        dry_run: false,
    }
}

const MERGE: &str = "application/merge-patch+json";
const APPLY: &str = "application/apply-patch+yaml";

#[test]
fn a_created_pod_is_defaulted_and_admitted() {
    let api = api();
    let made = make(&api, PODS, pod("p"));
    assert_eq!(made["status"], json!({"phase": "Pending", "qosClass": "BestEffort"}));
    assert_eq!(made["spec"]["priority"], 0);
    assert_eq!(made["spec"]["schedulerName"], "default-scheduler");
    assert_eq!(text(&made, "namespace"), "ns");
}

#[test]
fn creates_that_contradict_themselves_are_refused() {
    let api = api();
    let refuse = |namespace: &str, object: Value| {
        let status = api.create(PODS.resource(), namespace, object, false).unwrap_err();
        (status.code, status.message)
    };
    let mut versioned = pod("rv");
    versioned["metadata"]["resourceVersion"] = json!("5");
    assert_eq!(
        refuse("ns", versioned),
        (500, "resourceVersion should not be set on objects to be created".to_owned())
    );
    let mut elsewhere = pod("p");
    elsewhere["metadata"]["namespace"] = json!("other");
    assert_eq!(refuse("ns", elsewhere).0, 400);
    assert_eq!(refuse("zz", pod("p")), (404, "namespaces \"zz\" not found".to_owned()));
    make(&api, PODS, pod("p"));
    assert_eq!(refuse("ns", pod("p")), (409, "pods \"p\" already exists".to_owned()));
}

#[test]
fn generated_names_that_are_taken_are_drawn_again() {
    let api = api();
    // 27 to the fifth power names: two of 20,000 are equal all but certainly.
    let mut object = map("");
    object["metadata"]["generateName"] = json!("m-");
    let maps = Collection::CONFIG_MAPS.resource();
    for _ in 0..20_000 {
        api.create(maps, "ns", object.clone(), false).unwrap();
    }
    assert_eq!(api.store().list(Collection::CONFIG_MAPS, None).0.len(), 20_000);
}

#[test]
fn a_dry_run_stores_nothing() {
    let api = api();
    let version = api.store().version();
    let answer = api.create(PODS.resource(), "ns", pod("p"), true).unwrap();
    assert_eq!((text(&answer, "uid").len(), text(&answer, "resourceVersion")), (36, ""));
    make(&api, Collection::CONFIG_MAPS, map("m"));
    let request = PatchRequest { dry_run: true, ..patch(MERGE, r#"{"data":{"a":"2"}}"#) };
    let written =
        api.patch(Collection::CONFIG_MAPS.resource(), Part::Whole, ("ns", "m"), request).unwrap();
    assert_eq!(written.object["data"]["a"], "2");
    api.delete(
        Collection::CONFIG_MAPS.resource(),
        "ns",
        "m",
        &DeleteOptions { dry_run: true, ..DeleteOptions::default() },
    )
    .unwrap();
    assert_eq!(api.store().version(), version + 1);
}

#[test]
fn a_put_with_a_stale_version_is_a_conflict_and_without_one_is_not() {
    let api = api();
    let made = make(&api, Collection::CONFIG_MAPS, map("m"));
    let put = |object: Value| {
        api.replace(Collection::CONFIG_MAPS.resource(), Part::Whole, ("ns", "m"), object, false)
    };
    let mut fresh = Value::clone(&made);
    fresh["data"]["a"] = json!("2");
    put(fresh.clone()).unwrap();
    assert_eq!(
        put(fresh.clone()).unwrap_err().message,
        "Operation cannot be fulfilled on configmaps \"m\": the object has been modified; please \
         apply your changes to the latest version and try again"
    );
    let before = api.store().version();
    fresh["metadata"].as_object_mut().unwrap().remove("resourceVersion");
    put(fresh.clone()).unwrap();
    assert_eq!(api.store().version(), before, "nothing changed");
    fresh["metadata"]["uid"] = json!("00000000-0000-0000-0000-000000000000");
    let refused = put(fresh).unwrap_err();
    assert_eq!(refused.code, 409);
    assert!(refused.message.contains("Precondition failed: UID in precondition: 00000000"));
}

#[test]
fn a_lease_is_created_by_put_and_needs_a_version_afterwards() {
    let api = api();
    let lease = json!({"spec": {"holderIdentity": "a"}});
    let put = |object| {
        api.replace(Collection::LEASES.resource(), Part::Whole, ("ns", "l1"), object, false)
    };
    assert!(put(lease.clone()).unwrap().created);
    assert_eq!(
        put(lease).unwrap_err().message,
        "leases.coordination.k8s.io \"l1\" is invalid: metadata.resourceVersion: Invalid value: 0: \
         must be specified for an update"
    );
}

#[test]
fn status_and_spec_are_written_through_their_own_paths() {
    let api = api();
    let made = make(&api, PODS, pod("p"));
    let mut next = Value::clone(&made);
    next["status"]["phase"] = json!("Running");
    next["spec"]["activeDeadlineSeconds"] = json!(5);
    next["metadata"]["labels"] = json!({"a": "b"});
    let through_status =
        api.replace(PODS.resource(), Part::Status, ("ns", "p"), next, false).unwrap().object;
    assert_eq!(through_status["status"]["phase"], "Running");
    assert_eq!(through_status["spec"], made["spec"]);
    assert_eq!(through_status["metadata"]["labels"]["a"], "b");
    let mut next = Value::clone(&through_status);
    next["status"]["phase"] = json!("Failed");
    let through_main =
        api.replace(PODS.resource(), Part::Whole, ("ns", "p"), next, false).unwrap().object;
    assert_eq!(through_main["status"]["phase"], "Running");
}

#[test]
fn patches_are_refused_for_what_they_may_not_change() {
    let api = api();
    make(&api, PODS, pod("p"));
    let refuse = |request: PatchRequest<'_>| {
        let status = api.patch(PODS.resource(), Part::Whole, ("ns", "p"), request).unwrap_err();
        (status.code, status.message)
    };
    let message = "the name of the object (zz) does not match the name on the URL (p)".to_owned();
    assert_eq!(refuse(patch(MERGE, r#"{"metadata":{"name":"zz"}}"#)), (400, message));
    let (code, message) = refuse(patch(MERGE, r#"{"metadata":{"uid":"0"}}"#));
    assert_eq!(code, 422);
    assert!(message.ends_with("metadata.uid: Invalid value: \"0\": field is immutable"));
    assert_eq!(refuse(patch(MERGE, r#"{"metadata":{"resourceVersion":"1"}}"#)).0, 409);
    assert_eq!(refuse(patch("text/plain", "{}")).0, 415);
    let forced = PatchRequest { force: true, ..patch(MERGE, "{}") };
    assert_eq!(
        refuse(forced).1,
        "PatchOptions.meta.k8s.io \"\" is invalid: force: Forbidden: may not be specified for \
         non-apply patch"
    );
}

#[test]
fn unknown_fields_of_a_patch_are_dropped_told_or_refused() {
    let api = api();
    make(&api, PODS, pod("p"));
    let run = |validation| {
        let request = PatchRequest { validation, ..patch(MERGE, r#"{"spec":{"nope":1}}"#) };
        api.patch(PODS.resource(), Part::Whole, ("ns", "p"), request)
    };
    let warned = run(FieldValidation::Warn).unwrap();
    assert_eq!(warned.warnings, ["unknown field \"spec.nope\""]);
    assert_eq!(warned.object["spec"]["nope"], Value::Null);
    assert_eq!(run(FieldValidation::Ignore).unwrap().warnings, Vec::<String>::new());
    let refused = run(FieldValidation::Strict).unwrap_err();
    assert!(refused.message.ends_with("strict decoding error: unknown field \"spec.nope\""));
}

fn apply(api: &Api, manager: &str, body: &str, force: bool) -> Result<Written, Status> {
    let request = PatchRequest { field_manager: manager, force, ..patch(APPLY, body) };
    api.patch(Collection::CONFIG_MAPS.resource(), Part::Whole, ("ns", "ssa"), request)
}

#[test]
fn server_side_apply_creates_conflicts_and_lets_go() {
    let api = api();
    let body = |data: &str| {
        format!(
            "{{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{{\"name\":\"ssa\"}},\"data\":{data}}}"
        )
    };
    assert!(apply(&api, "", &body("{}"), false).unwrap_err().message.contains("fieldManager"));
    assert!(apply(&api, "m1", &body(r#"{"a":"1","b":"1"}"#), false).unwrap().created);
    let version = api.store().version();
    apply(&api, "m1", &body(r#"{"a":"1","b":"1"}"#), false).unwrap();
    assert_eq!(api.store().version(), version);
    let conflict = apply(&api, "m2", &body(r#"{"b":"2"}"#), false).unwrap_err();
    assert_eq!(conflict.message, "Apply failed with 1 conflict: conflict with \"m1\": .data.b");
    let forced = apply(&api, "m2", &body(r#"{"b":"2"}"#), true).unwrap();
    assert_eq!(forced.object["data"], json!({"a": "1", "b": "2"}));
    let dropped = apply(&api, "m1", &body("{}"), false).unwrap();
    assert_eq!(dropped.object["data"], json!({"b": "2"}));
}

#[test]
fn a_binding_sets_the_node_and_the_condition_in_one_write() {
    let api = api();
    make(
        &api,
        Collection::NODES,
        json!({"metadata": {"name": "n1", "labels": {
        "topology.kubernetes.io/zone": "z1"}}}),
    );
    make(&api, PODS, pod("b1"));
    api.store()
        .edit(PODS, "ns", "b1", |it| it["status"]["nominatedNodeName"] = json!("n2"))
        .unwrap();
    let before = api.store().version();
    let mut wanted = binding("b1", "n1");
    wanted["metadata"]["annotations"] = json!({"keep": "1"});
    api.bind("ns", "b1", &wanted, false).unwrap();
    let bound = api.get(PODS.resource(), "ns", "b1").unwrap();
    assert_eq!(version_of(&bound), before + 1);
    assert_eq!(bound["spec"]["nodeName"], "n1");
    assert_eq!(bound["metadata"]["generation"], 1);
    assert_eq!(bound["metadata"]["annotations"]["keep"], "1");
    assert_eq!(bound["metadata"]["labels"]["topology.kubernetes.io/zone"], "z1");
    assert_eq!(bound["status"]["phase"], "Pending");
    assert_eq!(bound["status"]["nominatedNodeName"], Value::Null);
    let condition = &bound["status"]["conditions"][0];
    assert_eq!(
        (&condition["type"], &condition["status"]),
        (&json!("PodScheduled"), &json!("True"))
    );
}

#[test]
fn bindings_are_refused_in_the_servers_words() {
    let api = api();
    make(&api, PODS, pod("b1"));
    let mut gated = pod("b3");
    gated["spec"]["schedulingGates"] = json!([{"name": "a/b"}]);
    make(&api, PODS, gated);
    let refuse = |name: &str, binding: Value| {
        let status = api.bind("ns", name, &binding, false).unwrap_err();
        (status.code, status.message)
    };
    assert_eq!(refuse("nope", binding("nope", "n")).0, 404);
    assert_eq!(
        refuse("b3", binding("b3", "n")).1,
        "Operation cannot be fulfilled on pods/binding \"b3\": pod b3 has non-empty \
         .spec.schedulingGates"
    );
    assert_eq!(refuse("b1", binding("b2", "n")).0, 400);
    assert_eq!(refuse("b1", binding("b1", "")), (500, "target.name: Required value".to_owned()));
    let mut other = binding("b1", "n");
    other["metadata"]["uid"] = json!("0");
    assert_eq!(refuse("b1", other).0, 409);
    api.bind("ns", "b1", &binding("b1", "no-such-node"), false).unwrap();
    assert_eq!(
        refuse("b1", binding("b1", "n2")).1,
        "Operation cannot be fulfilled on pods/binding \"b1\": pod b1 is already assigned to node \
         \"no-such-node\""
    );
}

#[test]
fn an_unbound_pod_goes_at_once_and_is_seen_twice() {
    let api = api();
    make(&api, PODS, pod("x1"));
    let (_, mut watch) = api.store().list_and_watch(PODS, None);
    let deleted = api.delete(PODS.resource(), "ns", "x1", &DeleteOptions::default()).unwrap();
    assert!(matches!(deleted, Deleted::Gone(_)));
    let seen: Vec<_> = watch.ready().unwrap();
    assert_eq!(seen[0].kind, ChangeKind::Modified);
    assert_eq!(seen[0].object["metadata"]["deletionGracePeriodSeconds"], 0);
    assert_eq!(seen[0].object["metadata"]["generation"], 2);
    assert_eq!(seen[1].kind, ChangeKind::Deleted);
}

#[test]
fn a_bound_pod_gets_its_grace_which_can_only_be_shortened() {
    let api = api();
    make(&api, PODS, pod("x2"));
    api.bind("ns", "x2", &binding("x2", "n"), false).unwrap();
    let delete = |grace| {
        let options = DeleteOptions { grace_seconds: grace, ..DeleteOptions::default() };
        api.delete(PODS.resource(), "ns", "x2", &options).unwrap()
    };
    let grace = |it: &Deleted| it.object()["metadata"]["deletionGracePeriodSeconds"].clone();
    let first = delete(None);
    assert_eq!((grace(&first), &first.object()["metadata"]["generation"]), (json!(30), &json!(2)));
    assert_eq!(delete(None), first);
    assert_eq!(delete(Some(60)), first);
    let shorter = delete(Some(5));
    assert_eq!(
        (grace(&shorter), &shorter.object()["metadata"]["generation"]),
        (json!(5), &json!(2))
    );
    assert!(matches!(delete(Some(0)), Deleted::Gone(_)));
    assert_eq!(api.get(PODS.resource(), "ns", "x2").unwrap_err().code, 404);
}

#[test]
fn finalizers_hold_an_object_until_the_last_is_taken_off() {
    let api = api();
    let maps = Collection::CONFIG_MAPS.resource();
    let mut held = map("fin");
    held["metadata"]["finalizers"] = json!(["wire/x"]);
    make(&api, Collection::CONFIG_MAPS, held);
    let going = api.delete(maps, "ns", "fin", &DeleteOptions::default()).unwrap();
    assert!(is_being_deleted(going.object()));
    let more = patch(MERGE, r#"{"metadata":{"finalizers":["wire/x","wire/y"]}}"#);
    let refused = api.patch(maps, Part::Whole, ("ns", "fin"), more).unwrap_err();
    assert_eq!(
        refused.message,
        "ConfigMap \"fin\" is invalid: metadata.finalizers: Forbidden: no new finalizers can be \
         added if the object is being deleted, found new finalizers []string{\"wire/y\"}"
    );
    let none = patch(MERGE, r#"{"metadata":{"finalizers":null}}"#);
    api.patch(maps, Part::Whole, ("ns", "fin"), none).unwrap();
    assert_eq!(api.get(maps, "ns", "fin").unwrap_err().code, 404);
}

#[test]
fn propagation_policies_leave_their_finalizers() {
    let api = api();
    let maps = Collection::CONFIG_MAPS.resource();
    for (policy, finalizer) in
        [(Propagation::Foreground, "foregroundDeletion"), (Propagation::Orphan, "orphan")]
    {
        make(&api, Collection::CONFIG_MAPS, map(finalizer.to_lowercase().as_str()));
        let options = DeleteOptions { propagation: Some(policy), ..DeleteOptions::default() };
        let going = api.delete(maps, "ns", &finalizer.to_lowercase(), &options).unwrap();
        assert_eq!(going.object()["metadata"]["finalizers"], json!([finalizer]));
    }
}

#[test]
fn delete_preconditions_are_told_apart() {
    let api = api();
    make(&api, PODS, pod("x3"));
    let refuse = |options: DeleteOptions| {
        api.delete(PODS.resource(), "ns", "x3", &options).unwrap_err().message
    };
    let uid = DeleteOptions { uid: Some("0".to_owned()), ..DeleteOptions::default() };
    assert!(refuse(uid).starts_with(
        "Operation cannot be fulfilled on Pod \"x3\": the UID in the precondition (0) does not \
         match the UID in record ("
    ));
    let version =
        DeleteOptions { resource_version: Some("1".to_owned()), ..DeleteOptions::default() };
    assert!(refuse(version).ends_with("The object might have been modified"));
}

#[test]
fn a_namespace_waits_for_its_content_and_the_basic_ones_stay() {
    let api = api();
    let namespaces = Collection::NAMESPACES.resource();
    let going = api.delete(namespaces, "", "ns", &DeleteOptions::default()).unwrap();
    assert_eq!(going.object()["status"]["phase"], "Terminating");
    let refused =
        api.create(Collection::CONFIG_MAPS.resource(), "ns", map("late"), false).unwrap_err();
    assert_eq!(refused.code, 403);
    assert_eq!(refused.details.unwrap().causes[0].reason, "NamespaceTerminating");
    let mut emptied = Value::clone(going.object());
    emptied["spec"]["finalizers"] = json!([]);
    api.replace(namespaces, Part::Finalize, ("", "ns"), emptied, false).unwrap();
    assert_eq!(api.get(namespaces, "", "ns").unwrap_err().code, 404);
    make(&api, Collection::NAMESPACES, json!({"metadata": {"name": "default"}}));
    let kept = api.delete(namespaces, "", "default", &DeleteOptions::default()).unwrap_err();
    assert_eq!(
        kept.message,
        "namespaces \"default\" is forbidden: this namespace may not be deleted"
    );
}

#[test]
fn a_budget_with_nothing_left_refuses_an_eviction() {
    let api = api();
    let mut labelled = pod("ev2");
    labelled["metadata"]["labels"] = json!({"pdb": "1"});
    make(&api, PODS, labelled);
    make(
        &api,
        Collection::POD_DISRUPTION_BUDGETS,
        json!({"metadata": {"name": "pdb"},
        "spec": {"minAvailable": 1, "selector": {"matchLabels": {"pdb": "1"}}}}),
    );
    api.store()
        .edit(PODS, "ns", "ev2", |it| {
            it["status"] = json!({"phase": "Running",
                "conditions": [{"type": "Ready", "status": "True"}]});
        })
        .unwrap();
    api.store()
        .edit(Collection::POD_DISRUPTION_BUDGETS, "ns", "pdb", |it| {
            it["status"] = json!({"observedGeneration": 1, "disruptionsAllowed": 0,
                "desiredHealthy": 1, "currentHealthy": 1});
        })
        .unwrap();
    let refused = api.evict("ns", "ev2", &DeleteOptions::default()).unwrap_err();
    assert_eq!((refused.code, refused.reason), (429, "TooManyRequests"));
    assert_eq!(
        refused.details.unwrap().causes[0].message,
        "The disruption budget pdb needs 1 healthy pods and has 1 currently"
    );
    api.store()
        .edit(Collection::POD_DISRUPTION_BUDGETS, "ns", "pdb", |it| {
            it["status"]["disruptionsAllowed"] = json!(1);
        })
        .unwrap();
    api.evict("ns", "ev2", &DeleteOptions::default()).unwrap();
    assert_eq!(api.get(PODS.resource(), "ns", "ev2").unwrap_err().code, 404);
    let budget = api.store().get(Collection::POD_DISRUPTION_BUDGETS, "ns", "pdb").unwrap();
    assert_eq!(budget["status"]["disruptionsAllowed"], 0);
}

#[test]
fn scale_reads_and_writes_replicas() {
    let api = api();
    make(
        &api,
        Collection::DEPLOYMENTS,
        json!({"metadata": {"name": "d1"}, "spec": {"replicas": 1,
        "selector": {"matchLabels": {"app": "x"}}, "template": {
            "metadata": {"labels": {"app": "x"}},
            "spec": {"containers": [{"name": "c", "image": "a:1"}]}}}}),
    );
    let deployments = Collection::DEPLOYMENTS.resource();
    let mut scale = api.scale(deployments, "ns", "d1").unwrap();
    assert_eq!(scale["spec"]["replicas"], 1);
    assert_eq!(scale["status"]["selector"], "app=x");
    scale["spec"]["replicas"] = json!(2);
    let written = api.replace_scale(deployments, ("ns", "d1"), &scale, false).unwrap();
    assert_eq!(written["spec"]["replicas"], 2);
    let stale = api.replace_scale(deployments, ("ns", "d1"), &scale, false).unwrap_err();
    assert_eq!(stale, Status::modified(deployments, "d1"));
    let patched = api
        .patch_scale(deployments, ("ns", "d1"), patch(MERGE, r#"{"spec":{"replicas":3}}"#))
        .unwrap();
    assert_eq!(patched["spec"]["replicas"], 3);
    assert_eq!(api.get(deployments, "ns", "d1").unwrap()["metadata"]["generation"], 3);
}

#[test]
fn a_resize_changes_what_containers_ask_for_and_keeps_the_class() {
    let api = api();
    let mut asking = pod("r");
    asking["spec"]["containers"][0]["resources"] = json!({"requests": {"cpu": "1"}});
    make(&api, PODS, asking);
    let resize = |body: &str| {
        api.patch(
            PODS.resource(),
            Part::Resize,
            ("ns", "r"),
            patch("application/strategic-merge-patch+json", body),
        )
    };
    let body = r#"{"spec":{"nodeName":"n","containers":[
        {"name":"c","image":"other","resources":{"requests":{"cpu":"1500m"}}}]}}"#;
    let resized = resize(body).unwrap().object;
    let container = &resized["spec"]["containers"][0];
    assert_eq!(container["resources"]["requests"]["cpu"], "1500m");
    assert_eq!((&container["image"], &resized["spec"]["nodeName"]), (&json!("i:1"), &Value::Null));
    assert_eq!(resized["metadata"]["generation"], 2);
    let refused = resize(r#"{"spec":{"containers":[{"name":"c","resources":null}]}}"#);
    assert_eq!(
        refused.unwrap_err().message,
        "Pod \"r\" is invalid: spec: Invalid value: \"Burstable\": Pod QOS Class may not change \
         as a result of resizing"
    );
}
