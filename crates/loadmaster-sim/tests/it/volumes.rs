//! Pods whose volumes are bound or made for them. The tests play the volume controller and the
//! provisioner.

use std::time::Duration;

use loadmaster_core::scheduler::{AttemptOutcome, SchedulerOptions};
use loadmaster_framework::{
    Gates, Object,
    api::{Node, ObjectKey, PersistentVolume, PersistentVolumeClaim, Pod, StorageClass},
};
use loadmaster_sim::Sim;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::plugins::node_of;

const HOST: &str = "kubernetes.io/hostname";

fn object<T: DeserializeOwned + Into<Object>>(json: Value) -> Object {
    serde_json::from_value::<T>(json).unwrap().into()
}

/// The default profile over nodes `a` and `b`, and two classes whose claims wait for a pod:
/// `local`, whose volumes are there, and `made`, whose volumes a provisioner makes.
fn sim() -> Sim {
    let (registry, gates) = (loadmaster_plugins::registry(), Gates::default());
    let catalog = loadmaster_config::RegistryCatalog::new(&registry, &gates);
    let config = "apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
";
    let loaded = loadmaster_config::load(config, "test", &catalog).unwrap();
    let options = SchedulerOptions::from_config(&loaded, &registry, &gates).unwrap();
    let mut sim = Sim::new(options, 0).unwrap();
    for name in ["a", "b"] {
        sim.write(object::<Node>(json!({
            "metadata": {"name": name, "labels": {HOST: name}},
            "status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "110"}},
        })));
    }
    for (name, provisioner) in [("local", "kubernetes.io/no-provisioner"), ("made", "d")] {
        sim.write(object::<StorageClass>(json!({
            "metadata": {"name": name},
            "provisioner": provisioner,
            "volumeBindingMode": "WaitForFirstConsumer",
        })));
    }
    sim
}

fn volume(name: &str, class: &str, on: &str) -> Value {
    json!({
        "metadata": {"name": name},
        "spec": {
            "capacity": {"storage": "5Gi"},
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": class,
            "nodeAffinity": {"required": {"nodeSelectorTerms": [
                {"matchExpressions": [{"key": HOST, "operator": "In", "values": [on]}]}
            ]}},
        },
        "status": {"phase": "Available"},
    })
}

fn claim(name: &str, class: &str) -> Object {
    object::<PersistentVolumeClaim>(json!({
        "metadata": {"name": name, "namespace": "default", "uid": format!("uid-{name}")},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": class,
            "resources": {"requests": {"storage": "1Gi"}},
        },
        "status": {"phase": "Pending"},
    }))
}

/// A pod that mounts the claim of this name.
fn pod(name: &str, claim: &str) -> Object {
    object::<Pod>(json!({
        "metadata": {"name": name, "namespace": "default", "uid": format!("uid-{name}")},
        "spec": {
            "containers": [{"name": "main"}],
            "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": claim}}],
        },
    }))
}

fn find_claim(sim: &Sim, name: &str) -> PersistentVolumeClaim {
    let key = ObjectKey::new("default", name);
    let mut claims = sim.cluster().objects().filter_map(|it| match it {
        Object::PersistentVolumeClaim(it) if it.metadata.key() == key => Some(it),
        _ => None,
    });
    PersistentVolumeClaim::clone(claims.next().unwrap())
}

fn find_volume(sim: &Sim, name: &str) -> PersistentVolume {
    let mut volumes = sim.cluster().objects().filter_map(|it| match it {
        Object::PersistentVolume(it) if &*it.metadata.name == name => Some(it),
        _ => None,
    });
    PersistentVolume::clone(volumes.next().unwrap())
}

fn selected_node(sim: &Sim, claim: &str) -> Option<String> {
    let claim = find_claim(sim, claim);
    let node = claim.metadata.annotations.get("volume.kubernetes.io/selected-node");
    node.map(ToString::to_string)
}

/// The volume controller completes the binding of a claim.
fn complete(sim: &mut Sim, claim: &str, volume: &str) {
    let mut claim = find_claim(sim, claim);
    claim.spec.volume_name = volume.into();
    claim.status.phase = "Bound".into();
    let annotations = &claim.metadata.annotations;
    claim.metadata.annotations = annotations.with("pv.kubernetes.io/bind-completed", "yes");
    sim.write(claim);
}

#[test]
fn a_pod_is_bound_once_the_volume_that_was_chosen_is_bound_to_its_claim() {
    let mut sim = sim();
    sim.write(object::<PersistentVolume>(volume("v", "local", "b")));
    sim.write(claim("c", "local"));
    sim.write(pod("p", "c"));
    sim.run();
    let kept_for = find_volume(&sim, "v").spec.claim_ref.unwrap();
    assert_eq!((&*kept_for.name, &*kept_for.uid), ("c", "uid-c"));
    assert_eq!(node_of(&sim, "p"), None, "its claim is not bound yet");
    complete(&mut sim, "c", "v");
    sim.run();
    assert_eq!(node_of(&sim, "p").as_deref(), Some("b"));
}

#[test]
fn a_volume_goes_to_one_of_two_pods_that_want_it() {
    let mut sim = sim();
    sim.write(object::<PersistentVolume>(volume("v", "local", "a")));
    for (name, wanted) in [("p1", "c1"), ("p2", "c2")] {
        sim.write(claim(wanted, "local"));
        sim.write(pod(name, wanted));
    }
    sim.settle();
    // Nothing is written or told between the two tries.
    let first = sim.schedule_one().unwrap();
    assert!(matches!(first.outcome, AttemptOutcome::Assumed { .. }), "{first:?}");
    let second = sim.schedule_one().unwrap();
    let AttemptOutcome::Unschedulable { message, .. } = second.outcome else {
        panic!("the volume is taken")
    };
    assert!(
        message.starts_with(
            "0/2 nodes are available: 2 node(s) didn't find available persistent volumes to bind."
        ),
        "{message}"
    );
}

#[test]
fn a_pod_is_bound_once_a_volume_has_been_made_for_its_node() {
    let mut sim = sim();
    sim.write(claim("c", "made"));
    sim.write(pod("p", "c"));
    sim.run();
    let chosen = selected_node(&sim, "c").unwrap();
    assert_eq!(node_of(&sim, "p"), None);
    sim.write(object::<PersistentVolume>(volume("v", "made", &chosen)));
    complete(&mut sim, "c", "v");
    sim.run();
    assert_eq!(node_of(&sim, "p"), Some(chosen));
}

#[test]
fn a_pod_is_tried_again_when_the_provisioner_hands_its_claim_back() {
    let mut sim = sim();
    sim.write(claim("c", "made"));
    sim.write(pod("p", "c"));
    sim.run();
    assert!(selected_node(&sim, "c").is_some());
    let mut back = find_claim(&sim, "c");
    back.metadata.annotations = [("tried", "yes")].into_iter().collect();
    sim.write(back);
    sim.settle();
    assert!(!sim.scheduler().cache().is_assumed("uid-p"), "its place is given back");
    sim.advance(Duration::from_secs(20));
    sim.run();
    let chosen = selected_node(&sim, "c").unwrap();
    sim.write(object::<PersistentVolume>(volume("v", "made", &chosen)));
    complete(&mut sim, "c", "v");
    sim.run();
    assert_eq!(node_of(&sim, "p"), Some(chosen));
}

#[test]
fn the_wait_for_a_volume_ends_after_ten_minutes() {
    let mut sim = sim();
    sim.write(claim("c", "made"));
    sim.write(pod("p", "c"));
    sim.run();
    sim.advance(Duration::from_secs(599));
    assert!(sim.scheduler().cache().is_assumed("uid-p"));
    sim.advance(Duration::from_secs(1));
    assert!(!sim.scheduler().cache().is_assumed("uid-p"));
    sim.settle();
    let pod = sim.cluster().pod(&ObjectKey::new("default", "p")).unwrap();
    let message = &pod.status.condition("PodScheduled").unwrap().message;
    assert!(message.contains("binding volumes: context deadline exceeded"), "{message}");
}

#[test]
fn pods_that_share_a_claim_go_to_one_node() {
    let mut sim = sim();
    sim.write(claim("c", "made"));
    sim.write(pod("p1", "c"));
    sim.write(pod("p2", "c"));
    sim.run();
    let chosen = selected_node(&sim, "c").unwrap();
    sim.write(object::<PersistentVolume>(volume("v", "made", &chosen)));
    complete(&mut sim, "c", "v");
    sim.advance(Duration::from_secs(20));
    sim.run();
    for name in ["p1", "p2"] {
        assert_eq!(node_of(&sim, name).as_ref(), Some(&chosen), "{name}");
    }
}
