use serde_json::{Value, json};

use super::*;
use crate::test_kit::check;

fn node(name: &str, labels: Value) -> Value {
    json!({"metadata": {"name": name, "labels": labels}})
}

fn zones() -> [Value; 3] {
    [
        node("n1", json!({"zone": "a", "disk": "ssd"})),
        node("n2", json!({"zone": "b"})),
        node("n3", json!({"zone": "b", "disk": "ssd"})),
    ]
}

fn required(terms: Value) -> Value {
    json!({"spec": {"affinity": {"nodeAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms},
    }}}})
}

fn preferred(terms: Value) -> Value {
    json!({"spec": {"affinity": {"nodeAffinity": {
        "preferredDuringSchedulingIgnoredDuringExecution": terms,
    }}}})
}

fn has(key: &str, value: &str) -> Value {
    json!({"matchExpressions": [{"key": key, "operator": "In", "values": [value]}]})
}

fn named(names: &[&str]) -> Value {
    json!({"key": "metadata.name", "operator": "In", "values": names})
}

const NO: &str = "UnschedulableAndUnresolvable: node(s) didn't match Pod's node affinity/selector";

/// The worked example of the page.
#[test]
fn selector_and_one_of_the_terms_must_match() {
    let mut pod = required(json!([has("zone", "a"), has("disk", "ssd")]));
    check::<NodeAffinity>(json!(null), pod.clone(), &zones()).is(&[
        "n1 ok",
        &format!("n2 {NO}"),
        "n3 ok",
    ]);
    pod["spec"]["nodeSelector"] = json!({"zone": "b"});
    check::<NodeAffinity>(json!(null), pod, &zones()).is(&[
        &format!("n1 {NO}"),
        &format!("n2 {NO}"),
        "n3 ok",
    ]);
}

#[test]
fn a_pod_without_any_affinity_skips_the_plugin() {
    let verdicts = check::<NodeAffinity>(json!(null), json!({}), &zones());
    assert!(verdicts.skipped_filter() && verdicts.skipped_score());
}

#[test]
fn an_affinity_without_terms_matches_nothing() {
    let all = ["n1", "n2", "n3"].map(|it| format!("{it} {NO}"));
    let all: Vec<&str> = all.iter().map(|it| &**it).collect();
    check::<NodeAffinity>(json!(null), required(json!([])), &zones()).is(&all);
    check::<NodeAffinity>(json!(null), required(json!([{}])), &zones()).is(&all);
}

#[test]
fn terms_that_all_name_nodes_narrow_the_search_to_them() {
    let only = |terms: Value| check::<NodeAffinity>(json!(null), required(terms), &zones());
    let of = |fields: &[Value]| json!({"matchFields": fields});
    only(json!([of(&[named(&["n1"])]), of(&[named(&["n3"])]), of(&[named(&["gone"])])])).is(&[
        "n1 ok",
        "n2 excluded",
        "n3 ok",
    ]);
    // One term without a name leaves every node in.
    only(json!([of(&[named(&["n1"])]), has("disk", "ssd")])).is(&[
        "n1 ok",
        &format!("n2 {NO}"),
        "n3 ok",
    ]);
    only(json!([of(&[named(&["n1"]), named(&["n2"])])]))
        .is(&["* UnschedulableAndUnresolvable: pod affinity terms conflict"]);
}

#[test]
fn preferred_terms_add_their_weights_and_the_best_node_gets_100() {
    let terms = json!([
        {"weight": 30, "preference": has("zone", "b")},
        {"weight": 10, "preference": has("disk", "ssd")},
        {"weight": 0, "preference": has("zone", "a")},
    ]);
    // 10, 30 and 40 of 40.
    check::<NodeAffinity>(json!(null), preferred(terms), &zones())
        .is(&["n1 25", "n2 75", "n3 100"]);
}

#[test]
fn a_preferred_term_that_cannot_be_understood_is_an_error() {
    let bad = json!({"matchExpressions": [{"key": "a", "operator": "Near", "values": []}]});
    let pod = crate::test_kit::pod(preferred(json!([{"weight": 1, "preference": bad}])));
    let snapshot = loadmaster_framework::Snapshot::default();
    let cx = crate::test_kit::cycle(&pod, &snapshot);
    let plugin = NodeAffinity { added_required: None, added_preferred: None };
    let status = plugin.pre_score(cx, &mut CycleState::default(), &[]).unwrap_err();
    assert!(status.is_error() && status.message().contains("Near"), "{status:?}");
}

#[test]
fn added_affinity_holds_for_every_pod_of_the_profile() {
    let args = json!({"addedAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution":
            {"nodeSelectorTerms": [has("disk", "ssd")]},
        "preferredDuringSchedulingIgnoredDuringExecution":
            [{"weight": 5, "preference": has("zone", "b")}],
    }});
    check::<NodeAffinity>(args.clone(), json!({}), &zones()).is(&[
        "n1 0",
        "n2 UnschedulableAndUnresolvable: node(s) didn't match scheduler-enforced node affinity",
        "n3 100",
    ]);
    let own = preferred(json!([{"weight": 20, "preference": has("zone", "a")}]));
    check::<NodeAffinity>(args, own, &zones()).is(&[
        "n1 100",
        "n2 UnschedulableAndUnresolvable: node(s) didn't match scheduler-enforced node affinity",
        "n3 25",
    ]);
}

#[test]
fn filter_and_score_alone_find_the_same() {
    let mut pod = required(json!([has("zone", "a")]));
    let more = preferred(json!([{"weight": 7, "preference": has("disk", "ssd")}]));
    let key = "preferredDuringSchedulingIgnoredDuringExecution";
    pod["spec"]["affinity"]["nodeAffinity"][key] =
        more["spec"]["affinity"]["nodeAffinity"][key].clone();
    let cluster = crate::test_kit::Cluster::new(&zones());
    let (pod, snapshot) = (crate::test_kit::pod(pod), cluster.snapshot());
    let cx = crate::test_kit::cycle(&pod, &snapshot);
    let (plugin, state) =
        (NodeAffinity { added_required: None, added_preferred: None }, CycleState::default());
    let [n1, n2, _] = snapshot.nodes() else { panic!("three nodes") };
    assert_eq!(plugin.filter(cx, &state, n1), Ok(()));
    assert_eq!(plugin.filter(cx, &state, n2), Err(Status::unresolvable(NO_MATCH)));
    assert_eq!(plugin.score(cx, &state, n1), Ok(7));
}
