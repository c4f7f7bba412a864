//! Faults that users of schedulers have reported, in a whole scheduler with the default plugins.

use std::{sync::Arc, time::Duration};

use loadmaster_core::{
    cycle::{ExtenderSpec, Ports, Preempted, Prioritized, Rejected},
    scheduler::AttemptOutcome,
};
use loadmaster_framework::{
    Candidate, NodeInfo, PodInfo,
    api::{ObjectKey, Pod, Quantity},
};
use loadmaster_sim::Sim;
use serde_json::json;

use crate::plugins::{node, node_of, pod, pod_of_priority, sim, sim_with_extenders};

fn secs(it: u64) -> Duration {
    Duration::from_secs(it)
}

fn bound_to(node: &str, mut pod: Pod) -> Pod {
    pod.spec.node_name = node.into();
    pod
}

fn promised(sim: &Sim, name: &str) -> String {
    let pod = sim.cluster().pod(&ObjectKey::new("default", name)).unwrap();
    pod.status.nominated_node_name.to_string()
}

/// HAMi#2278: device memory of 16Gi, counted in 32 bits, became nothing.
#[test]
fn a_device_resource_of_16_gi_is_counted_in_full() {
    let mut sim = sim();
    let name = "example.com/device-memory";
    let mut offering = node("n1", 4);
    offering.status.allocatable.insert(name, "16Gi".parse::<Quantity>().unwrap());
    sim.write(offering);
    let asking = |pod_name: &str, amount: &str| -> Pod {
        let mut json = serde_json::to_value(pod(pod_name, 1, &[])).unwrap();
        json["spec"]["containers"][0]["resources"]["requests"][name] = json!(amount);
        serde_json::from_value(json).unwrap()
    };
    sim.write(asking("all", "16Gi"));
    sim.run();
    sim.write(asking("one-more", "1"));
    sim.run();
    assert_eq!(node_of(&sim, "all").as_deref(), Some("n1"));
    assert_eq!(node_of(&sim, "one-more"), None);
}

/// crane-scheduler#14: one plugin's negative score left every pod unscheduled.
#[test]
fn an_invalid_score_of_one_pod_leaves_the_others_alone() {
    let mut sim = sim();
    sim.write(node("n1", 4));
    sim.write(node("n2", 4));
    sim.write(pod("bad", 1, &[("score", "-8")]));
    sim.write(pod("good", 1, &[]));
    let attempts = sim.run();
    let AttemptOutcome::Error { message } = &attempts[0].outcome else { panic!("not an error") };
    assert!(message.contains("plugin \"Panics\" returns an invalid score -8"), "{message}");
    assert!(node_of(&sim, "good").is_some());
}

/// Gives nodes these points.
struct Points(&'static [(&'static str, i64)]);

impl Ports for Points {
    fn extend_filter(
        &mut self,
        _: &ExtenderSpec,
        _: &PodInfo,
        _: &[Arc<NodeInfo>],
    ) -> Result<Vec<Rejected>, String> {
        Ok(Vec::new())
    }

    fn extend_prioritize(
        &mut self,
        _: &ExtenderSpec,
        _: &PodInfo,
        _: &[Arc<NodeInfo>],
    ) -> Result<Vec<Prioritized>, String> {
        let point = |&(node, score): &(&str, i64)| Prioritized { node: node.into(), score };
        Ok(self.0.iter().map(point).collect())
    }

    fn extend_preempt(
        &mut self,
        _: &ExtenderSpec,
        _: &PodInfo,
        _: &[Candidate],
    ) -> Result<Vec<Preempted>, String> {
        Ok(Vec::new())
    }
}

/// volcano@2f2edcac5: the search for the highest total began at -1.
#[test]
fn the_best_of_negative_totals_is_taken() {
    let extender = ExtenderSpec {
        name: "http://127.0.0.1:1/x".to_owned(),
        prioritizes: true,
        weight: 100,
        ..ExtenderSpec::default()
    };
    let mut sim = sim_with_extenders(vec![extender]);
    for name in ["n1", "n2", "n3", "n4", "n5"] {
        sim.write(node(name, 4));
    }
    sim.write(pod("p", 1, &[]));
    sim.settle();
    let mut points = Points(&[("n1", -8), ("n2", -5), ("n3", -10), ("n4", -8), ("n5", -5)]);
    sim.schedule_one_with(&mut points);
    sim.settle();
    let taken = node_of(&sim, "p");
    assert!(matches!(taken.as_deref(), Some("n2" | "n5")), "{taken:?}");
}

/// kubernetes#110175, #109437: the pod did not see the taint of a new node go.
#[test]
fn a_pod_that_anti_affinity_refused_is_tried_when_a_new_node_is_ready() {
    let mut sim = sim();
    let lonely = |name: &str| -> Pod {
        let mut json = serde_json::to_value(pod(name, 1, &[("app", "db")])).unwrap();
        json["spec"]["affinity"] = json!({"podAntiAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": [{
                "topologyKey": "host", "labelSelector": {"matchLabels": {"app": "db"}}}]}});
        serde_json::from_value(json).unwrap()
    };
    let host = |name: &str, taints: &serde_json::Value| -> loadmaster_framework::api::Node {
        let mut json = serde_json::to_value(node(name, 4)).unwrap();
        json["metadata"]["labels"] = json!({"host": name});
        json["spec"]["taints"] = taints.clone();
        serde_json::from_value(json).unwrap()
    };
    sim.write(host("n1", &json!([])));
    sim.write(lonely("a"));
    sim.run();
    sim.write(lonely("b"));
    sim.run();
    sim.write(host(
        "n2",
        &json!([{"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}]),
    ));
    sim.settle();
    sim.advance(secs(20));
    sim.run();
    assert_eq!(node_of(&sim, "b"), None);
    sim.write(host("n2", &json!([])));
    sim.settle();
    sim.advance(secs(20));
    sim.run();
    assert_eq!(node_of(&sim, "b").as_deref(), Some("n2"));
}

/// scheduler-plugins@afaa22f2: what could not fit kept younger and smaller work waiting.
#[test]
fn a_large_pod_that_does_not_fit_keeps_no_younger_one_waiting() {
    let mut sim = sim();
    sim.write(node("n1", 2));
    sim.write(pod_of_priority("large", 4, 5));
    sim.write(pod_of_priority("small", 1, 5));
    sim.run();
    assert_eq!((node_of(&sim, "large"), node_of(&sim, "small")), (None, Some("n1".to_owned())));
}

/// kubernetes#109236: the pod changed during its second try, and two nodes were promised.
#[test]
fn a_pod_that_changes_between_two_promises_has_one() {
    let mut sim = sim();
    sim.write(node("n1", 1));
    sim.write(node("n2", 1));
    sim.write(bound_to("n1", pod_of_priority("low-1", 1, 1)));
    sim.write(bound_to("n2", pod_of_priority("low-2", 1, 2)));
    sim.write(pod_of_priority("high", 1, 9));
    sim.settle();
    sim.schedule_one();
    sim.settle();
    assert_eq!(promised(&sim, "high"), "n1");
    // Another takes the place that was made.
    sim.write(bound_to("n1", pod_of_priority("thief", 1, 20)));
    sim.deliver();
    sim.schedule_one();
    let mut changed = pod_of_priority("high", 1, 9);
    changed.metadata.labels = changed.metadata.labels.with("x", "y");
    sim.write(changed);
    sim.deliver();
    sim.settle();
    assert_eq!(promised(&sim, "high"), "n2");
    let queue = sim.scheduler().queue();
    assert_eq!(queue.nominated_node("uid-high").map(|it| &**it), Some("n2"));
    assert!(queue.nominated_pods("n1").is_empty());
}

/// kubernetes#126700: a promise that had become impossible kept the room from others for minutes.
#[test]
fn a_promise_that_has_become_impossible_is_withdrawn_and_others_get_the_room() {
    let mut sim = sim();
    sim.write(node("n1", 4));
    sim.write(bound_to("n1", pod_of_priority("low", 4, 1)));
    sim.write(pod_of_priority("high", 4, 10));
    sim.settle();
    sim.schedule_one();
    sim.settle();
    assert_eq!(promised(&sim, "high"), "n1");
    sim.write(bound_to("n1", pod_of_priority("thief", 2, 100)));
    sim.write(pod_of_priority("mid", 2, 5));
    for _ in 0..5 {
        sim.settle();
        sim.run();
        sim.advance(secs(3));
    }
    assert_eq!(promised(&sim, "high"), "");
    assert_eq!(node_of(&sim, "mid").as_deref(), Some("n1"));
}

/// kubernetes#106361: an assumed pod expired while the answer to its binding was on its way.
#[test]
fn a_pod_keeps_its_place_however_long_the_answer_to_its_binding_takes() {
    let mut sim = sim();
    sim.write(node("n1", 1));
    sim.write(pod("slow", 1, &[]));
    sim.settle();
    sim.schedule_one();
    sim.advance(secs(3600));
    sim.write(pod("next", 1, &[]));
    sim.deliver();
    let next = sim.schedule_one().unwrap();
    assert!(matches!(next.outcome, AttemptOutcome::Unschedulable { .. }), "{:?}", next.outcome);
    sim.settle();
    assert_eq!(node_of(&sim, "slow").as_deref(), Some("n1"));
}

/// kubernetes#130429: the room that was made went to another scheduler's pod 8000 times, as fast as
/// that was made anew.
#[test]
fn where_others_take_the_room_again_and_again_preemption_slows_down() {
    let mut sim = sim();
    sim.write(node("n1", 1));
    let low = |name: &str| bound_to("n1", pod_of_priority(name, 1, 10));
    sim.write(low("low"));
    sim.write(pod_of_priority("high", 1, 100));
    let mut evicted = Vec::new();
    for _ in 0..600 {
        sim.settle();
        sim.schedule_one();
        sim.perform();
        for _ in sim.take_deleted() {
            evicted.push(sim.now().as_millis());
            sim.write(low(&format!("low-{}", evicted.len())));
        }
        sim.settle();
        sim.advance(Duration::from_millis(100));
    }
    // The first time could have been chance. After that 2, 4, 8 and 10 seconds of backoff, cut to
    // whole seconds, which are waited for to their end.
    assert_eq!(evicted, [0, 100, 3000, 8000, 17000, 28000, 39000, 50000]);
    let told = sim.take_records();
    assert_eq!(told.iter().filter(|it| it.reason == "Preempted").count(), evicted.len());
}
