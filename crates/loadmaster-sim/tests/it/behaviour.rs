//! What the scheduler does around its plugins: panics, Permit, PreBind, bindings, preemption.

use std::time::Duration;

use loadmaster_core::scheduler::{AttemptOutcome, Work};
use loadmaster_framework::{
    Object,
    api::{ObjectKey, PersistentVolumeClaim},
};
use loadmaster_sim::{Faults, Sim};
use serde_json::json;

use crate::plugins::{node, node_of, pod, pod_of_priority, queued, sim};

fn condition(sim: &Sim, name: &str) -> (String, String) {
    let pod = sim.cluster().pod(&ObjectKey::new("default", name)).unwrap();
    let it = pod.status.condition("PodScheduled").unwrap();
    (it.reason.to_string(), it.message.to_string())
}

fn error_of(sim: &mut Sim) -> String {
    sim.settle();
    match sim.schedule_one().unwrap().outcome {
        AttemptOutcome::Error { message } => message,
        other => panic!("not an error: {other:?}"),
    }
}

#[test]
fn a_panic_fails_the_pod_by_the_plugins_and_the_nodes_name_and_spares_the_others() {
    let mut sim = sim();
    sim.write(node("n1", 4));
    sim.write(pod("bad", 1, &[("panic", "Filter")]));
    let message = error_of(&mut sim);
    assert_eq!(
        message,
        "running \"Panics\" filter plugin: plugin Panics panicked at Filter for node n1: as it was \
         told to"
    );
    sim.settle();
    assert_eq!(condition(&sim, "bad"), ("SchedulerError".to_owned(), message));
    sim.write(pod("good", 1, &[]));
    sim.run();
    assert_eq!(node_of(&sim, "good").as_deref(), Some("n1"));
}

#[test]
fn a_pod_whose_plugin_panicked_is_tried_again_after_backoff() {
    let mut sim = sim();
    sim.write(node("n1", 4));
    sim.write(pod("bad", 1, &[("panic", "PreFilter")]));
    error_of(&mut sim);
    assert_eq!(queued(&sim, "bad").unwrap().0, "backoff");
    sim.advance(Duration::from_secs(2));
    assert_eq!(queued(&sim, "bad").unwrap().0, "active");
}

#[test]
fn a_panic_after_the_choice_gives_the_place_back() {
    let mut sim = sim();
    sim.write(node("n1", 1));
    sim.write(pod("bad", 1, &[("panic", "Permit")]));
    error_of(&mut sim);
    assert!(!sim.scheduler().cache().is_assumed("uid-bad"));
    sim.write(pod("good", 1, &[]));
    sim.run();
    assert_eq!(node_of(&sim, "good").as_deref(), Some("n1"));
}

#[test]
fn a_score_outside_of_0_to_100_fails_the_pod_with_the_plugins_name() {
    let mut sim = sim();
    sim.write(node("n1", 4));
    sim.write(node("n2", 4));
    sim.write(pod("p", 1, &[("score", "101")]));
    assert_eq!(
        error_of(&mut sim),
        "applying score defaultWeights on Score plugins: plugin \"Panics\" returns an invalid score \
         101, it should in the range of [0, 100] after normalizing"
    );
}

#[test]
fn without_nodes_the_pod_waits_and_says_so() {
    let mut sim = sim();
    sim.write(pod("p", 1, &[]));
    sim.run();
    let told = ("Unschedulable".to_owned(), "no nodes available to schedule pods".to_owned());
    assert_eq!(condition(&sim, "p"), told);
    sim.write(node("n1", 4));
    sim.settle();
    sim.advance(Duration::from_secs(2));
    sim.run();
    assert_eq!(node_of(&sim, "p").as_deref(), Some("n1"));
}

#[test]
fn a_pod_that_permit_holds_has_its_place_and_is_bound_when_it_is_let_go() {
    let mut sim = sim();
    sim.write(node("n1", 2));
    sim.write(pod("held", 1, &[("hold", "yes")]));
    sim.run();
    assert_eq!(node_of(&sim, "held"), None);
    assert!(sim.scheduler().cache().is_assumed("uid-held"));
    let held = sim.cluster().pod(&ObjectKey::new("default", "held")).unwrap();
    assert_eq!(&*held.status.nominated_node_name, "n1", "whoever looks sees where it is going");
    sim.write(pod("other", 1, &[("release", "all")]));
    sim.run();
    assert_eq!(node_of(&sim, "held").as_deref(), Some("n1"));
    assert_eq!(node_of(&sim, "other").as_deref(), Some("n1"));
}

#[test]
fn a_pod_that_two_plugins_hold_needs_both_to_let_it_go() {
    let mut sim = sim();
    sim.write(node("n1", 4));
    sim.write(pod("held", 1, &[("hold", "both")]));
    sim.run();
    sim.write(pod("other", 1, &[("release", "all")]));
    sim.run();
    assert_eq!(node_of(&sim, "held"), None);
    assert_eq!(sim.scheduler().binding_counts(), (1, 1));
}

#[test]
fn a_wait_at_permit_ends_with_a_refusal_that_names_the_plugin() {
    let mut sim = sim();
    sim.write(node("n1", 1));
    sim.write(pod("held", 1, &[("hold", "yes")]));
    sim.run();
    sim.advance(Duration::from_secs(10));
    sim.settle();
    assert_eq!(
        condition(&sim, "held"),
        (
            "Unschedulable".to_owned(),
            "0/1 nodes are available: 1 rejected due to timeout after waiting 10s at plugin Holds."
                .to_owned()
        )
    );
    assert!(!sim.scheduler().cache().is_assumed("uid-held"));
    assert_eq!(queued(&sim, "held").unwrap().1.unschedulable_plugins.iter().next(), Some(&"Holds"));
}

#[test]
fn a_pod_deleted_while_permit_holds_it_leaves_its_place() {
    let mut sim = sim();
    sim.write(node("n1", 1));
    sim.write(pod("held", 1, &[("hold", "yes")]));
    sim.run();
    sim.delete(&Object::from(pod("held", 1, &[])));
    sim.write(pod("next", 1, &[]));
    sim.run();
    assert_eq!(node_of(&sim, "next").as_deref(), Some("n1"));
    assert_eq!(sim.scheduler().binding_counts(), (0, 0));
    assert_eq!(sim.scheduler().queue().in_flight_len(), (0, 0));
}

fn claim(name: &str, volume: &str) -> PersistentVolumeClaim {
    serde_json::from_value(serde_json::json!({
        "metadata": {"name": name, "namespace": "default"}, "spec": {"volumeName": volume},
    }))
    .unwrap()
}

#[test]
fn prebind_writes_waits_for_what_it_wrote_and_then_the_pod_is_bound() {
    let mut sim = sim();
    sim.write(node("n1", 1));
    sim.write(claim("data", ""));
    sim.write(pod("p", 1, &[("claim", "data")]));
    sim.run();
    assert_eq!(node_of(&sim, "p"), None);
    assert_eq!(sim.scheduler().binding_counts(), (1, 0));
    assert_eq!(sim.scheduler().queue().in_flight_len(), (0, 0), "events are not kept for it");
    sim.write(claim("data", "v1"));
    sim.run();
    assert_eq!(node_of(&sim, "p").as_deref(), Some("n1"));
}

#[test]
fn prebind_that_waits_in_vain_gives_the_place_back() {
    let mut sim = sim();
    sim.write(node("n1", 1));
    sim.write(claim("data", ""));
    sim.write(pod("p", 1, &[("claim", "data")]));
    sim.run();
    sim.advance(Duration::from_secs(30));
    sim.settle();
    assert_eq!(condition(&sim, "p").1, "0/1 nodes are available: 1 claim not bound.");
    assert!(!sim.scheduler().cache().is_assumed("uid-p"));
}

#[test]
fn a_binding_that_the_server_refuses_is_tried_again_after_backoff() {
    let mut sim = sim();
    sim.write(node("n1", 1));
    sim.write(pod("p", 1, &[]));
    sim.settle();
    sim.schedule_one();
    sim.set_faults(Faults { refused_percent: 100, ..Faults::default() });
    sim.perform();
    sim.set_faults(Faults::default());
    assert!(!sim.scheduler().cache().is_assumed("uid-p"));
    assert_eq!(queued(&sim, "p").unwrap().0, "backoff");
    sim.advance(Duration::from_secs(2));
    sim.run();
    assert_eq!(node_of(&sim, "p").as_deref(), Some("n1"));
}

#[test]
fn after_a_lost_answer_the_pod_keeps_its_place_until_a_read_tells() {
    let mut sim = sim();
    sim.write(node("n1", 1));
    sim.write(pod("p", 1, &[]));
    sim.settle();
    sim.schedule_one();
    sim.set_faults(Faults { lost_percent: 100, ..Faults::default() });
    sim.perform();
    assert!(sim.scheduler().cache().get_pod("uid-p").is_some(), "nobody knows yet");
    sim.set_faults(Faults::default());
    for _ in 0..3 {
        sim.advance(Duration::from_secs(2));
        sim.run();
    }
    assert_eq!(node_of(&sim, "p").as_deref(), Some("n1"));
    assert_eq!(sim.cluster().bind_conflicts(), 0);
}

#[test]
fn a_pod_that_another_scheduler_bound_elsewhere_is_forgotten_though_a_watch_told_first() {
    let mut sim = sim();
    sim.write(node("n1", 1));
    sim.write(pod("p", 1, &[]));
    sim.settle();
    sim.schedule_one();
    sim.write(node("n2", 1));
    sim.bind_by_another("p", "n2");
    sim.deliver();
    sim.perform();
    let scheduled = sim.take_records().iter().any(|it| it.reason == "Scheduled");
    assert!(!scheduled, "nobody is told that we bound it");
    assert_eq!(sim.scheduler().binding_counts(), (0, 0));
    // The room on n1 is given back.
    sim.write(pod("next", 1, &[]));
    sim.run();
    assert_eq!(node_of(&sim, "next").as_deref(), Some("n1"));
}

#[test]
fn a_pod_that_says_already_why_it_waits_is_not_patched_again() {
    let mut sim = sim();
    sim.write(pod("p", 1, &[]));
    sim.run();
    let told = condition(&sim, "p");
    // A node without room for it: the message changes; another of the kind: it stays.
    sim.write(node("small", 0));
    sim.settle();
    sim.advance(Duration::from_secs(2));
    sim.run();
    assert_ne!(condition(&sim, "p"), told);
    sim.write(node("small", 0));
    sim.settle();
    sim.advance(Duration::from_secs(301));
    assert!(sim.schedule_one().is_some(), "it is tried again");
    let patched = std::iter::from_fn(|| sim.poll_action())
        .any(|(_, work)| matches!(work, Work::PatchPodStatus { .. }));
    assert!(!patched);
}

#[test]
fn an_important_pod_gets_the_room_of_the_least_important_ones() {
    let mut sim = sim();
    sim.write(node("n1", 2));
    sim.write(pod_of_priority("low", 1, 10));
    sim.write(pod_of_priority("mid", 1, 20));
    sim.run();
    sim.write(pod_of_priority("high", 1, 100));
    sim.run();
    let gone: Vec<_> = sim.take_deleted().iter().map(|it| it.key().name.to_string()).collect();
    assert_eq!(gone, ["low"]);
    assert_eq!(node_of(&sim, "high").as_deref(), Some("n1"));
    let records = sim.take_records();
    let told = records.iter().find(|it| it.reason == "Preempted").unwrap();
    assert_eq!(told.note, "Preempted by pod uid-high on node n1");
}

#[test]
fn a_victim_that_permit_holds_goes_back_to_the_queue_and_is_not_deleted() {
    let mut sim = sim();
    sim.write(node("n1", 1));
    let mut held = pod_of_priority("held", 1, 10);
    held.metadata.labels = held.metadata.labels.with("hold", "yes");
    sim.write(held);
    sim.run();
    sim.write(pod_of_priority("high", 1, 100));
    sim.run();
    assert_eq!(node_of(&sim, "high").as_deref(), Some("n1"));
    assert!(sim.take_deleted().is_empty());
    assert!(queued(&sim, "held").is_some());
    let records = sim.take_records();
    let told = records.iter().find(|it| it.reason == "Preempted").unwrap();
    assert_eq!(told.note, "Preempted by pod uid-high on node n1 (in kube-scheduler memory).");
}

#[test]
fn a_pod_that_goes_elsewhere_than_promised_leaves_the_promised_room_to_others() {
    let tainted = |name: &str| {
        let mut node = node(name, 1);
        let taint = json!([{"key": name, "effect": "NoSchedule"}]);
        node.spec.taints = serde_json::from_value(taint).unwrap();
        node
    };
    let tolerant = |name: &str, priority: i32, node: &str| {
        let mut pod = pod_of_priority(name, 1, priority);
        let toleration = json!([{"key": node, "operator": "Exists"}]);
        pod.spec.tolerations = serde_json::from_value(toleration).unwrap();
        pod
    };
    let mut sim = sim();
    sim.write(node("n1", 1));
    sim.write(pod_of_priority("low", 1, 10));
    sim.run();
    sim.write(tolerant("first", 100, "n2"));
    sim.settle();
    sim.schedule_one();
    sim.write(tainted("n1"));
    sim.write(tainted("n2"));
    sim.settle();
    // While the first backs off, the room that it was promised counts as taken.
    sim.write(tolerant("second", 50, "n1"));
    sim.settle();
    let second = sim.schedule_one().unwrap();
    assert_eq!(&**second.pod.name(), "second");
    assert!(matches!(second.outcome, AttemptOutcome::Unschedulable { .. }));
    sim.run();
    assert_eq!(node_of(&sim, "first").as_deref(), Some("n2"));
    sim.advance(Duration::from_secs(2));
    sim.run();
    assert_eq!(node_of(&sim, "second").as_deref(), Some("n1"));
}

#[test]
fn a_promised_node_is_counted_at_once_so_that_an_equal_pod_does_not_take_the_room() {
    let mut sim = sim();
    sim.write(node("n1", 1));
    sim.write(pod_of_priority("low", 1, 10));
    sim.run();
    sim.write(pod_of_priority("first", 1, 100));
    sim.write(pod_of_priority("second", 1, 100));
    sim.settle();
    // The promise is made, and not even the server knows of it yet.
    sim.schedule_one();
    let second = sim.schedule_one().unwrap();
    assert!(matches!(second.outcome, AttemptOutcome::Unschedulable { nominated_node: None, .. }));
    sim.run();
    assert_eq!(node_of(&sim, "first").as_deref(), Some("n1"));
    assert_eq!(node_of(&sim, "second"), None);
}

#[test]
fn the_promise_of_a_node_that_went_is_cleared() {
    let mut sim = sim();
    sim.write(node("n1", 1));
    sim.write(pod_of_priority("low", 1, 10));
    sim.run();
    sim.write(pod_of_priority("high", 1, 100));
    sim.settle();
    sim.schedule_one();
    sim.settle();
    sim.delete(&Object::from(node("n1", 1)));
    sim.settle();
    let high = sim.cluster().pod(&ObjectKey::new("default", "high")).unwrap();
    assert_eq!(&*high.status.nominated_node_name, "");
}

#[test]
fn a_pod_that_is_being_deleted_leaves_no_trace() {
    let mut sim = sim();
    sim.write(node("n1", 1));
    for i in 0..5000 {
        let mut going = pod(&format!("p{i}"), 1, &[]);
        going.metadata.deletion_timestamp = Some(loadmaster_framework::api::Timestamp::default());
        sim.write(going.clone());
        sim.settle();
        assert!(matches!(sim.schedule_one().unwrap().outcome, AttemptOutcome::Skipped));
        sim.delete(&Object::from(going));
        sim.settle();
    }
    assert_eq!(sim.scheduler().queue().in_flight_len(), (0, 0));
    assert_eq!(sim.scheduler().pod_count(), 0);
}
