use serde_json::{Value, json};

use crate::controllers::testing::World;
use crate::kubelet::STOPPED;
use crate::resources::Collection;
use crate::values::{condition, list};

const NODES: Collection = Collection::NODES;

/// `KEY:EFFECT` of a node's taints, without the common prefix.
fn taints(world: &World) -> Vec<String> {
    let node = world.get(NODES, "n1").unwrap();
    let text = |it: &Value, name: &str| it[name].as_str().unwrap().to_owned();
    list(&node, "/spec/taints")
        .iter()
        .map(|it| {
            let key = text(it, "key");
            format!("{}:{}", key.trim_start_matches("node.kubernetes.io/"), text(it, "effect"))
        })
        .collect()
}

#[test]
fn a_new_node_loses_its_taint_when_it_is_ready() {
    let world = World::new(1);
    assert_eq!(taints(&world), Vec::<String>::new());
    assert_eq!(world.told("RegisteredNode"), ["Node n1 event: Registered Node n1 in Controller"]);
    let node = world.get(NODES, "n1").unwrap();
    assert_eq!(node["metadata"]["labels"]["beta.kubernetes.io/os"], "linux");
}

#[test]
fn cordon_and_uncordon_put_a_taint_on_and_off() {
    let mut world = World::new(1);
    world.edit(NODES, "n1", |it| it["spec"]["unschedulable"] = json!(true));
    world.settle();
    assert_eq!(taints(&world), ["unschedulable:NoSchedule"]);
    let node = world.get(NODES, "n1").unwrap();
    assert!(node["spec"]["taints"][0]["timeAdded"].is_string());
    world.edit(NODES, "n1", |it| it["spec"]["unschedulable"] = json!(false));
    world.settle();
    assert_eq!(taints(&world), Vec::<String>::new());
}

#[test]
fn taints_follow_conditions_and_leave_foreign_ones_alone() {
    let mut world = World::new(1);
    world.edit(NODES, "n1", |it| {
        it["spec"]["taints"] = json!([{"key": "mine", "effect": "NoExecute"}]);
        it["status"]["conditions"] = json!([{"type": "Ready", "status": "False"},
            {"type": "MemoryPressure", "status": "True"}, {"type": "DiskPressure", "status": "False"}]);
    });
    world.settle();
    assert_eq!(
        taints(&world),
        [
            "mine:NoExecute",
            "not-ready:NoSchedule",
            "memory-pressure:NoSchedule",
            "not-ready:NoExecute"
        ]
    );
}

#[test]
fn a_silent_node_becomes_unknown_after_fifty_seconds() {
    let mut world = World::new(1);
    world.edit(NODES, "n1", |it| it["metadata"]["annotations"][STOPPED] = json!("stopped"));
    world.pass(49);
    assert_eq!(taints(&world), Vec::<String>::new());
    world.pass(2);
    assert_eq!(taints(&world), ["unreachable:NoSchedule", "unreachable:NoExecute"]);
    let node = world.get(NODES, "n1").unwrap();
    let ready = condition(&node, "Ready").unwrap();
    assert_eq!(
        (&ready["status"], &ready["reason"], &ready["message"]),
        (
            &json!("Unknown"),
            &json!("NodeStatusUnknown"),
            &json!("Kubelet stopped posting node status.")
        )
    );
    assert_eq!(world.told("NodeNotReady"), ["Node n1 status is now: NodeNotReady"]);
    // The kubelet comes back, and so does the node.
    world.edit(NODES, "n1", |it| it["metadata"]["annotations"] = json!({}));
    world.settle();
    assert_eq!(taints(&world), Vec::<String>::new());
}
