use serde_json::json;

use crate::api::{DeleteOptions, Propagation};
use crate::controllers::testing::World;
use crate::kubelet::STOPPED;
use crate::resources::Collection;
use crate::store::is_being_deleted;
use crate::values::list;

const DEPLOYMENTS: Collection = Collection::DEPLOYMENTS;
const SETS: Collection = Collection::REPLICA_SETS;

fn running() -> World {
    let mut world = World::new(1);
    world.deployment(2, |_| {});
    world.run();
    world
}

fn propagation(propagation: Propagation) -> DeleteOptions {
    DeleteOptions { propagation: Some(propagation), ..DeleteOptions::default() }
}

#[test]
fn what_a_deployment_made_goes_with_it() {
    let mut world = running();
    world.delete(DEPLOYMENTS, "web", &DeleteOptions::default());
    assert!(world.get(DEPLOYMENTS, "web").is_none());
    world.settle();
    assert!(world.list(SETS).is_empty());
    assert!(world.pods().is_empty());
}

#[test]
fn in_the_foreground_the_owner_goes_last() {
    let mut world = running();
    // A kubelet that does not answer keeps the pods, and they keep their owners.
    world.edit(Collection::NODES, "n1", |it| {
        it["metadata"]["annotations"][STOPPED] = json!("stopped");
    });
    world.delete(DEPLOYMENTS, "web", &propagation(Propagation::Foreground));
    world.settle();
    assert!(is_being_deleted(&world.get(DEPLOYMENTS, "web").unwrap()));
    assert!(world.list(SETS).iter().all(|it| is_being_deleted(it)));
    assert_eq!(world.pods().len(), 2);
    world.edit(Collection::NODES, "n1", |it| it["metadata"]["annotations"] = json!({}));
    world.settle();
    assert!(world.pods().is_empty() && world.list(SETS).is_empty());
    assert!(world.get(DEPLOYMENTS, "web").is_none());
}

#[test]
fn orphans_stay_and_lose_their_owner() {
    let mut world = running();
    world.delete(DEPLOYMENTS, "web", &propagation(Propagation::Orphan));
    world.settle();
    assert!(world.get(DEPLOYMENTS, "web").is_none());
    let sets = world.list(SETS);
    assert_eq!(sets.len(), 1);
    assert!(list(&sets[0], "/metadata/ownerReferences").is_empty());
    assert_eq!(world.pods().len(), 2);
}

#[test]
fn an_object_with_another_living_owner_stays() {
    let mut world = World::new(0);
    let owners: Vec<_> = ["a", "b"]
        .iter()
        .map(|name| world.make(Collection::CONFIG_MAPS, json!({"metadata": {"name": name}})))
        .map(|it| {
            json!({"apiVersion": "v1", "kind": "ConfigMap",
            "name": it["metadata"]["name"], "uid": it["metadata"]["uid"]})
        })
        .collect();
    world.make(
        Collection::SECRETS,
        json!({"metadata": {"name": "owned", "ownerReferences": owners}}),
    );
    world.settle();
    world.delete(Collection::CONFIG_MAPS, "a", &DeleteOptions::default());
    world.settle();
    let owned = world.get(Collection::SECRETS, "owned").unwrap();
    assert_eq!(list(&owned, "/metadata/ownerReferences"), &owners[1..]);
    world.delete(Collection::CONFIG_MAPS, "b", &DeleteOptions::default());
    world.settle();
    assert!(world.get(Collection::SECRETS, "owned").is_none());
}

#[test]
fn an_owner_of_an_unknown_kind_counts_as_living() {
    let mut world = World::new(0);
    world.make(
        Collection::SECRETS,
        json!({"metadata": {"name": "owned", "ownerReferences": [{"apiVersion": "example.com/v1",
            "kind": "Widget", "name": "w", "uid": "1"}]}}),
    );
    world.settle();
    assert!(world.get(Collection::SECRETS, "owned").is_some());
}
