use serde_json::json;

use crate::api::DeleteOptions;
use crate::controllers::testing::World;
use crate::resources::Collection;
use crate::values::list;

const SETS: Collection = Collection::REPLICA_SETS;
const PODS: Collection = Collection::PODS;

fn set(world: &World, replicas: usize) {
    world.make(
        SETS,
        json!({"metadata": {"name": "web"}, "spec": {"replicas": replicas,
        "selector": {"matchLabels": {"app": "web"}},
        "template": {"metadata": {"labels": {"app": "web"}, "annotations": {"note": "x"}},
            "spec": {"containers": [{"name": "c", "image": "i:1"}]}}}}),
    );
}

#[test]
fn a_set_makes_its_pods_and_counts_them() {
    let mut world = World::new(1);
    set(&world, 2);
    world.settle();
    let pods = world.list(PODS);
    assert_eq!(pods.len(), 2);
    let (pod, owner) = (&pods[0], world.get(SETS, "web").unwrap());
    assert!(pod["metadata"]["name"].as_str().unwrap().starts_with("web-"));
    assert_eq!(pod["metadata"]["labels"], json!({"app": "web"}));
    assert_eq!(pod["metadata"]["annotations"], json!({"note": "x"}));
    assert_eq!(
        pod["metadata"]["ownerReferences"],
        json!([{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web",
            "uid": owner["metadata"]["uid"], "controller": true, "blockOwnerDeletion": true}])
    );
    assert_eq!(
        owner["status"],
        json!({"replicas": 2, "fullyLabeledReplicas": 2, "terminatingReplicas": 0,
            "observedGeneration": 1})
    );
    assert_eq!(world.told("SuccessfulCreate").len(), 2);
    world.run();
    let status = world.get(SETS, "web").unwrap()["status"].clone();
    assert_eq!((&status["readyReplicas"], &status["availableReplicas"]), (&json!(2), &json!(2)));
}

#[test]
fn a_smaller_number_deletes_pods_that_are_not_bound_first() {
    let mut world = World::new(1);
    set(&world, 1);
    world.run();
    let bound = world.pods();
    world.edit(SETS, "web", |it| it["spec"]["replicas"] = json!(3));
    world.settle();
    assert_eq!(world.pods().len(), 3);
    world.edit(SETS, "web", |it| it["spec"]["replicas"] = json!(1));
    world.settle();
    assert_eq!(world.pods(), bound);
    assert_eq!(world.told("SuccessfulDelete").len(), 2);
}

#[test]
fn a_terminating_pod_is_replaced_at_once() {
    let mut world = World::new(0);
    set(&world, 1);
    world.settle();
    let first = world.pods().remove(0);
    world.edit(PODS, &first, |it| it["spec"]["nodeName"] = json!("elsewhere"));
    world.delete(PODS, &first, &DeleteOptions::default());
    world.settle();
    assert_eq!(world.pods().len(), 2);
    let status = &world.get(SETS, "web").unwrap()["status"];
    assert_eq!((&status["replicas"], &status["terminatingReplicas"]), (&json!(1), &json!(1)));
}

#[test]
fn a_pod_that_matches_is_adopted_and_one_that_does_not_any_more_is_let_go() {
    let mut world = World::new(0);
    world.make(
        PODS,
        json!({"metadata": {"name": "stray", "labels": {"app": "web"}},
        "spec": {"containers": [{"name": "c", "image": "i:1"}]}}),
    );
    set(&world, 1);
    world.settle();
    assert_eq!(world.pods(), ["stray"]);
    world.edit(PODS, "stray", |it| it["metadata"]["labels"]["app"] = json!("other"));
    world.settle();
    assert!(list(&world.get(PODS, "stray").unwrap(), "/metadata/ownerReferences").is_empty());
    assert_eq!(world.pods().len(), 2);
}

#[test]
fn minimum_ready_seconds_delay_availability() {
    let mut world = World::new(1);
    set(&world, 1);
    world.edit(SETS, "web", |it| it["spec"]["minReadySeconds"] = json!(10));
    world.run();
    let available =
        |world: &World| world.get(SETS, "web").unwrap()["status"]["availableReplicas"].clone();
    assert_eq!(available(&world), json!(null));
    world.pass(11);
    assert_eq!(available(&world), json!(1));
}
