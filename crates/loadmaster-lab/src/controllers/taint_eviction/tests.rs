use serde_json::json;

use super::*;
use crate::controllers::testing::World;
use crate::kubelet::STOPPED;

fn taint(world: &World, taints: &Value) {
    world.edit(Collection::NODES, "n1", |it| {
        it["metadata"]["annotations"][STOPPED] = json!("stopped");
        it["spec"]["taints"] = taints.clone();
    });
}

fn going(world: &World, name: &str) -> bool {
    is_being_deleted(&world.get(Collection::PODS, name).unwrap())
}

#[test]
fn a_pod_goes_at_once_in_time_or_never_by_its_tolerations() {
    let mut world = World::new(1);
    let tolerating = |seconds: Value| {
        move |it: &mut Value| {
            let mut toleration = json!({"key": "k", "operator": "Exists", "effect": "NoExecute"});
            if seconds.is_number() {
                toleration["tolerationSeconds"] = seconds;
            }
            it["spec"]["tolerations"] = json!([toleration]);
        }
    };
    world.pod_on("none", "n1", |_| {});
    world.pod_on("some", "n1", tolerating(json!(20)));
    world.pod_on("ever", "n1", tolerating(Value::Null));
    world.settle();
    taint(
        &world,
        &json!([{"key": "k", "value": "v", "effect": "NoExecute"},
        {"key": "other", "effect": "NoSchedule"}]),
    );
    world.settle();
    assert!(going(&world, "none") && !going(&world, "some"));
    let gone = world.get(Collection::PODS, "none").unwrap();
    let reason = &crate::values::condition(&gone, "DisruptionTarget").unwrap()["reason"];
    assert_eq!(reason, "DeletionByTaintManager");
    assert_eq!(world.told("TaintManagerEviction"), ["Marking for deletion Pod ns/none"]);
    world.pass(19);
    assert!(!going(&world, "some"));
    world.pass(2);
    assert!(going(&world, "some") && !going(&world, "ever"));
}

#[test]
fn taking_the_taint_off_in_time_calls_it_off() {
    let mut world = World::new(1);
    world.pod_on("p", "n1", |it| {
        it["spec"]["tolerations"] = json!([{"operator": "Exists", "tolerationSeconds": 20,
            "effect": "NoExecute"}]);
    });
    world.settle();
    taint(&world, &json!([{"key": "k", "effect": "NoExecute"}]));
    world.pass(10);
    taint(&world, &json!([]));
    world.pass(30);
    assert!(!going(&world, "p"));
    assert_eq!(world.told("TaintManagerEviction"), ["Cancelling deletion of Pod ns/p"]);
}

#[test]
fn tolerations_match_as_upstream_documents() {
    let taint = json!({"key": "k", "value": "5", "effect": "NoExecute"});
    let cases = [
        (json!({"operator": "Exists"}), true),
        (json!({"key": "k", "value": "5"}), true),
        (json!({"key": "k", "operator": "Equal", "value": "6"}), false),
        (json!({"key": "k", "operator": "Exists", "effect": "NoSchedule"}), false),
        (json!({"key": "x", "operator": "Exists"}), false),
        (json!({"key": "k", "operator": "Gt", "value": "4"}), true),
        (json!({"key": "k", "operator": "Lt", "value": "4"}), false),
    ];
    for (toleration, expected) in cases {
        assert_eq!(tolerates(&toleration, &taint), expected, "{toleration}");
    }
}
