//! Pods of a lab cluster.

use loadmaster_lab::resources::Collection;
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::kit::{Lab, Scheduler};

#[tokio::test]
async fn a_pod_is_bound_with_an_event_and_a_line_in_the_log() {
    let lab = Lab::start(1000).await;
    lab.add_node("n1");
    let mut scheduler = Scheduler::of(&lab, &[]).await;
    lab.add_pod("web", "default-scheduler", json!({}));
    assert_eq!(lab.node_of("web").await, "n1");
    let event = lab.event("web", "Scheduled").await;
    assert_eq!(event["message"], "Successfully assigned default/web to n1");
    assert_eq!(event["type"], "Normal");
    let line = scheduler.says("node chosen").await;
    assert!(line.contains("pod=default/web node=n1"), "{line}");
}

#[tokio::test]
async fn in_json_every_line_of_the_log_is_an_object_and_a_decisions_fields_are_its_own() {
    let lab = Lab::start(1000).await;
    lab.add_node("n1");
    let mut scheduler = Scheduler::of(&lab, &["--logging-format=json"]).await;
    lab.add_pod("web", "default-scheduler", json!({}));
    for line in scheduler.until("node chosen").await {
        let said: Value =
            serde_json::from_str(&line).unwrap_or_else(|error| panic!("{line}: {error}"));
        assert!(said["level"].is_string() && said["timestamp"].is_string(), "{said}");
        if said["message"] == "node chosen" {
            assert_eq!((&said["pod"], &said["node"]), (&json!("default/web"), &json!("n1")));
        }
    }
}

#[tokio::test]
async fn a_pod_of_another_scheduler_is_left_alone() {
    let lab = Lab::start(1000).await;
    lab.add_node("n1");
    let scheduler = Scheduler::of(&lab, &[]).await;
    lab.add_pod("other", "somebody-else", json!({}));
    lab.add_pod("ours", "default-scheduler", json!({}));
    lab.node_of("ours").await;
    let (_, log) = scheduler.stop(Signal::TERM).await;
    assert!(!log.iter().any(|it| it.contains("default/other")), "{log:#?}");
}

#[tokio::test]
async fn a_pod_that_fits_nowhere_is_told_why_and_bound_when_a_node_comes() {
    let lab = Lab::start(1000).await;
    lab.add_node("n1");
    let _scheduler = Scheduler::of(&lab, &[]).await;
    lab.add_pod(
        "picky",
        "default-scheduler",
        json!({"nodeName": "", "nodeSelector": {
        "kubernetes.io/hostname": "n2"}}),
    );
    let reason = "0/1 nodes are available: 1 node(s) didn't match Pod's node affinity/selector.";
    let event = lab.event("picky", "FailedScheduling").await;
    let message = event["message"].as_str().unwrap();
    assert!(message.starts_with(reason), "{message}");
    assert_eq!(event["type"], "Warning");
    let condition = lab.wait(Collection::PODS, "condition", scheduled_condition).await;
    assert_eq!(condition["status"], "False");
    assert_eq!(condition["reason"], "Unschedulable");
    assert_eq!(condition["message"], message);
    assert!(condition["lastTransitionTime"].is_string(), "{condition}");
    lab.add_node("n2");
    assert_eq!(lab.node_of("picky").await, "n2");
}

fn scheduled_condition(pod: &Value) -> Option<Value> {
    let conditions = pod["status"]["conditions"].as_array()?;
    conditions.iter().find(|it| it["type"] == "PodScheduled").cloned()
}

#[tokio::test]
async fn it_stops_on_request_with_everything_done() {
    let lab = Lab::start(1000).await;
    lab.add_node("n1");
    for signal in [Signal::TERM, Signal::INT] {
        let scheduler = Scheduler::of(&lab, &[]).await;
        let (status, log) = scheduler.stop(signal).await;
        assert_eq!(status.code(), Some(0), "{log:#?}");
        assert!(log.last().is_some_and(|it| it.ends_with("stopped")), "{log:#?}");
    }
}

#[tokio::test]
async fn verbosity_tells_of_plugins_and_then_of_nodes() {
    let lab = Lab::start(1000).await;
    lab.add_node("n1");
    lab.add_node("n2");
    let mut scheduler = Scheduler::of(&lab, &["-v=10"]).await;
    lab.add_pod("web", "default-scheduler", json!({}));
    scheduler.says("node chosen").await;
    let mut nodes = Vec::new();
    for _ in 0..2 {
        let line = scheduler.says("node scored").await;
        nodes.extend(["n1", "n2"].into_iter().filter(|it| line.contains(&format!("node={it}"))));
    }
    nodes.sort_unstable();
    assert_eq!(nodes, ["n1", "n2"]);
}
