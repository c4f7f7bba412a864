//! A whole scheduler with the default plugins, in a cluster in memory.

use std::{collections::BTreeMap, fs, path::Path, time::Duration};

use loadmaster_config::RegistryCatalog;
use loadmaster_core::scheduler::{AttemptOutcome, SchedulerOptions};
use loadmaster_framework::{Gates, Object, api::Pod};
use loadmaster_sim::Sim;
use loadmaster_testing::builders::{
    NodeBuilder, PodBuilder, node, persistent_volume, persistent_volume_claim, pod, storage_class,
};

const DEFAULTS: &str =
    "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n";

fn sim(config: &str) -> Sim {
    let (registry, gates) = (loadmaster_plugins::registry(), Gates::default());
    let catalog = RegistryCatalog::new(&registry, &gates);
    let loaded = loadmaster_config::load(config, "config", &catalog).unwrap();
    let options = SchedulerOptions::from_config(&loaded, &registry, &gates).unwrap();
    Sim::new(options, 1).unwrap()
}

fn server(name: &str) -> NodeBuilder {
    node(name).capacity([("cpu", "4"), ("memory", "8Gi"), ("pods", "110")])
}

/// Six pods of a deployment, on two nodes: how many are on each, the larger number first.
fn six_pods(config: &str, scheduler: &str) -> Vec<usize> {
    let mut sim = sim(config);
    sim.write(server("n1").build());
    sim.write(server("n2").build());
    for name in ["a", "b", "c", "d", "e", "f"] {
        let pod = pod(name).label("app", "spread").owner("ReplicaSet", "spread-1");
        sim.write(pod.scheduler_name(scheduler).build());
    }
    sim.run();
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for node in sim.cluster().pods().filter_map(|it| it.node_name()) {
        *counts.entry(node.to_string()).or_default() += 1;
    }
    let mut counts: Vec<_> = counts.into_values().collect();
    counts.sort_unstable_by(|a, b| b.cmp(a));
    counts
}

#[test]
fn the_courses_profile_turns_three_and_three_into_six_and_none() {
    assert_eq!(six_pods(DEFAULTS, "default-scheduler"), [3, 3]);
    let profile = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../profiles/concentrate.yaml");
    let profile = fs::read_to_string(profile).unwrap();
    assert_eq!(six_pods(&profile, "concentrate-scheduler"), [6]);
}

#[test]
fn each_pod_is_placed_by_the_profile_it_asks_for_and_by_none_if_there_is_none() {
    let two = format!(
        "{DEFAULTS}profiles:\n\
         - schedulerName: default-scheduler\n\
         - schedulerName: packing\n  \
           pluginConfig:\n  \
           - name: NodeResourcesFit\n    \
             args: {{scoringStrategy: {{type: MostAllocated}}}}\n"
    );
    let mut sim = sim(&two);
    sim.write(server("n1").build());
    sim.write(server("n2").build());
    let used = |name: &str| pod(name).request("cpu", "1").request("memory", "2Gi");
    for (name, node) in [("x", "n1"), ("y", "n1"), ("z", "n2")] {
        sim.write(used(name).node(node).build());
    }
    sim.settle();
    for (name, scheduler) in [("b", "packing"), ("a", "default-scheduler"), ("c", "another")] {
        sim.write(used(name).scheduler_name(scheduler).build());
        sim.run();
    }
    // The default profile prefers the emptier node, the other the fuller one.
    assert_eq!(node_of(&sim, "b").as_deref(), Some("n1"));
    assert_eq!(node_of(&sim, "a").as_deref(), Some("n2"));
    assert_eq!(node_of(&sim, "c"), None);
    assert_eq!(sim.scheduler().queue().pending_pods().count(), 0);
}

fn find<'a>(sim: &'a Sim, name: &str) -> Option<&'a Pod> {
    sim.cluster().pods().find(|it| &**it.name() == name).map(|it| &**it)
}

fn node_of(sim: &Sim, name: &str) -> Option<String> {
    find(sim, name)?.node_name().map(ToString::to_string)
}

fn message(sim: &mut Sim, pod: PodBuilder) -> Option<String> {
    sim.write(pod.build());
    let last = sim.run().pop()?;
    match last.outcome {
        AttemptOutcome::Unschedulable { message, .. } => Some(message),
        _ => None,
    }
}

/// kubernetes#95124, #93938: pods of a node that went and came back were forgotten.
#[test]
fn a_node_that_comes_back_has_the_pods_that_are_still_bound_to_it() {
    let mut sim = sim(DEFAULTS);
    let n1 = server("n1").build();
    sim.write(n1.clone());
    assert_eq!(message(&mut sim, pod("a").request("cpu", "3")), None);
    sim.delete(&Object::from(n1.clone()));
    sim.settle();
    let nowhere = message(&mut sim, pod("b").request("cpu", "2"));
    assert_eq!(nowhere.as_deref(), Some("no nodes available to schedule pods"));
    sim.write(n1);
    sim.run();
    assert_eq!(node_of(&sim, "b"), None, "3 of 4 cores are in use");
    let gone = Object::from(find(&sim, "a").unwrap().clone());
    sim.delete(&gone);
    sim.advance(Duration::from_secs(10));
    sim.run();
    assert_eq!(node_of(&sim, "b").as_deref(), Some("n1"));
}

#[test]
fn a_claim_that_waits_for_its_pod_is_provisioned_before_the_pod_is_bound() {
    let mut sim = sim(DEFAULTS);
    sim.write(server("n1").build());
    sim.write(
        storage_class("fast").provisioner("csi.example.com").wait_for_first_consumer().build(),
    );
    sim.write(persistent_volume_claim("data", "1Gi").class("fast").build());
    assert_eq!(message(&mut sim, pod("a").claim("data")), None);
    // The provisioner is told the node, and the pod waits for its volume.
    let claim = sim.cluster().objects().find_map(|it| match it {
        Object::PersistentVolumeClaim(it) => Some(it.metadata.annotations.clone()),
        _ => None,
    });
    let selected = claim.unwrap();
    let selected = selected.get("volume.kubernetes.io/selected-node").map(|it| &**it);
    assert_eq!((selected, node_of(&sim, "a")), (Some("n1"), None));
    sim.write(persistent_volume("v1", "1Gi").class("fast").bound_to("data").build());
    sim.write(
        persistent_volume_claim("data", "1Gi")
            .class("fast")
            .selected_node("n1")
            .bound_to("v1")
            .build(),
    );
    sim.run();
    assert_eq!(node_of(&sim, "a").as_deref(), Some("n1"));
}
