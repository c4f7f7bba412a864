use serde_json::{Value, json};

use crate::api::DeleteOptions;
use crate::controllers::testing::World;
use crate::resources::Collection;
use crate::store::{Object, is_being_deleted};

const CLAIMS: Collection = Collection::PERSISTENT_VOLUME_CLAIMS;
const VOLUMES: Collection = Collection::PERSISTENT_VOLUMES;

fn volume(world: &World, name: &str, size: &str) {
    world.make(
        VOLUMES,
        json!({"metadata": {"name": name}, "spec": {"capacity": {"storage": size},
        "accessModes": ["ReadWriteOnce"], "storageClassName": "c", "hostPath": {"path": "/x"}}}),
    );
}

fn claim(world: &World, name: &str) {
    world.make(
        CLAIMS,
        json!({"metadata": {"name": name}, "spec": {"storageClassName": "c",
        "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "2Gi"}}}}),
    );
}

fn class(world: &World, provisioner: &str, mode: &str) {
    world.make(
        Collection::STORAGE_CLASSES,
        json!({"metadata": {"name": "c"}, "provisioner": provisioner, "volumeBindingMode": mode}),
    );
}

fn phase(object: Option<Object>) -> Value {
    object.map(|it| it["status"]["phase"].clone()).unwrap_or_default()
}

#[test]
fn a_claim_takes_the_smallest_volume_that_is_large_enough() {
    let mut world = World::new(0);
    for (name, size) in [("small", "1Gi"), ("large", "5Gi"), ("fitting", "3Gi")] {
        volume(&world, name, size);
    }
    world.settle();
    assert_eq!(phase(world.get(VOLUMES, "small")), "Available");
    claim(&world, "data");
    world.settle();
    let claim = world.get(CLAIMS, "data").unwrap();
    assert_eq!(claim["spec"]["volumeName"], "fitting");
    assert_eq!(
        claim["status"],
        json!({"phase": "Bound", "accessModes": ["ReadWriteOnce"], "capacity": {"storage": "3Gi"}})
    );
    let volume = world.get(VOLUMES, "fitting").unwrap();
    assert_eq!(volume["spec"]["claimRef"]["uid"], claim["metadata"]["uid"]);
    assert_eq!(volume["status"]["phase"], "Bound");
}

#[test]
fn a_claim_that_waits_for_its_consumer_is_bound_by_the_scheduler_s_choice() {
    let mut world = World::new(0);
    class(&world, "kubernetes.io/no-provisioner", "WaitForFirstConsumer");
    volume(&world, "v", "2Gi");
    claim(&world, "data");
    world.settle();
    assert_eq!(phase(world.get(CLAIMS, "data")), "Pending");
    assert_eq!(
        world.told("WaitForFirstConsumer"),
        ["waiting for first consumer to be created before binding"]
    );
    let reference = world.get(CLAIMS, "data").unwrap()["metadata"].clone();
    world.edit(VOLUMES, "v", |it| {
        it["spec"]["claimRef"] = json!({"kind": "PersistentVolumeClaim", "name": "data",
            "namespace": "ns", "uid": reference["uid"]});
    });
    world.settle();
    assert_eq!(phase(world.get(CLAIMS, "data")), "Bound");
    assert_eq!(phase(world.get(VOLUMES, "v")), "Bound");
}

#[test]
fn a_class_with_a_provisioner_makes_volumes_and_removes_them_with_their_claims() {
    let mut world = World::new(0);
    class(&world, "example.com/disk", "Immediate");
    claim(&world, "data");
    world.settle();
    let volumes = world.list(VOLUMES);
    assert_eq!(volumes.len(), 1);
    assert_eq!(volumes[0]["spec"]["persistentVolumeReclaimPolicy"], "Delete");
    assert_eq!(phase(world.get(CLAIMS, "data")), "Bound");
    world.delete(CLAIMS, "data", &DeleteOptions::default());
    world.settle();
    assert!(world.get(CLAIMS, "data").is_none());
    assert!(world.list(VOLUMES).is_empty());
}

#[test]
fn provisioning_waits_for_the_node_where_the_class_says_so() {
    let mut world = World::new(1);
    class(&world, "example.com/disk", "WaitForFirstConsumer");
    claim(&world, "data");
    world.settle();
    assert!(world.list(VOLUMES).is_empty());
    world.edit(CLAIMS, "data", |it| {
        it["metadata"]["annotations"] = json!({"volume.kubernetes.io/selected-node": "n1"});
    });
    world.settle();
    assert_eq!(phase(world.get(CLAIMS, "data")), "Bound");
}

#[test]
fn a_claim_in_use_stays_until_its_pod_goes_and_a_kept_volume_is_released() {
    let mut world = World::new(1);
    volume(&world, "v", "2Gi");
    claim(&world, "data");
    world.pod_on("p", "n1", |it| {
        it["spec"]["volumes"] =
            json!([{"name": "d", "persistentVolumeClaim": {"claimName": "data"}}]);
    });
    world.settle();
    world.delete(CLAIMS, "data", &DeleteOptions::default());
    world.settle();
    assert!(is_being_deleted(&world.get(CLAIMS, "data").unwrap()));
    world.delete(Collection::PODS, "p", &DeleteOptions::default());
    world.settle();
    assert!(world.get(CLAIMS, "data").is_none());
    assert_eq!(phase(world.get(VOLUMES, "v")), "Released");
    world.delete(VOLUMES, "v", &DeleteOptions::default());
    world.settle();
    assert!(world.get(VOLUMES, "v").is_none());
}

#[test]
fn a_claim_without_anything_for_it_says_why_it_waits() {
    let mut world = World::new(0);
    claim(&world, "data");
    world.settle();
    assert_eq!(
        world.told("FailedBinding"),
        ["no persistent volumes available for this claim and no storage class is set"]
    );
    volume(&world, "late", "2Gi");
    world.settle();
    assert_eq!(phase(world.get(CLAIMS, "data")), "Bound");
}

#[test]
fn an_ephemeral_volume_gets_a_claim_that_goes_with_its_pod() {
    let mut world = World::new(1);
    class(&world, "example.com/disk", "Immediate");
    world.pod_on("p", "n1", |it| {
        it["spec"]["volumes"] = json!([{"name": "scratch", "ephemeral": {"volumeClaimTemplate":
            {"metadata": {"labels": {"a": "b"}}, "spec": {"storageClassName": "c",
                "accessModes": ["ReadWriteOnce"],
                "resources": {"requests": {"storage": "1Gi"}}}}}}]);
    });
    world.settle();
    let claim = world.get(CLAIMS, "p-scratch").unwrap();
    assert_eq!(claim["metadata"]["labels"], json!({"a": "b"}));
    assert_eq!(claim["status"]["phase"], "Bound");
    world.delete(Collection::PODS, "p", &DeleteOptions::default());
    world.settle();
    assert!(world.get(CLAIMS, "p-scratch").is_none());
}
