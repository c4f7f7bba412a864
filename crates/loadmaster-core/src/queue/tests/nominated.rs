//! Nodes that are promised.

use std::sync::Arc;

use loadmaster_framework::{Nominating, PodInfo};
use serde_json::json;

use super::{Bench, pod, pod_with, secs, with_priority};

fn nominated(name: &str, node: &str) -> Arc<PodInfo> {
    pod_with(name, &json!({"status": {"nominatedNodeName": node}}))
}

fn names(it: &Bench, node: &str) -> Vec<String> {
    it.queue.nominated_pods(node).iter().map(|it| it.name().to_string()).collect()
}

/// k/k#72124.
#[test]
fn a_promise_counts_before_the_server_knows_of_it() {
    let mut it = Bench::new();
    it.rejected(secs(0), pod("a"), &["Fit"]);
    it.queue.add_nominated_pod(pod("a"), &Nominating::Node("n1".into()));
    assert_eq!(names(&it, "n1"), ["a"]);
    // News of the pod from before the promise do not end it.
    let labelled = pod_with("a", &json!({"metadata": {"labels": {"x": "y"}}}));
    it.update(secs(0), &pod("a"), &labelled);
    assert_eq!(it.queue.nominated_pods("n1")[0].label("x"), Some("y"));
}

#[test]
fn a_promise_follows_the_pods_status() {
    let mut it = Bench::new();
    it.add(secs(0), nominated("a", "n1"));
    assert_eq!(names(&it, "n1"), ["a"]);
    it.update(secs(0), &nominated("a", "n1"), &nominated("a", "n2"));
    assert_eq!((names(&it, "n1").len(), names(&it, "n2").len()), (0, 1));
    it.update(secs(0), &nominated("a", "n2"), &pod("a"));
    assert_eq!(it.queue.nominated_node("uid-a"), None);
}

#[test]
fn a_promise_ends_with_the_pod_and_with_a_decision_to_clear_it() {
    let mut it = Bench::new();
    it.add(secs(0), nominated("a", "n1"));
    it.add(secs(0), nominated("b", "n1"));
    it.add(secs(0), nominated("c", "n1"));
    it.queue.delete(&it.host, pod("a").pod());
    it.queue.add_nominated_pod(nominated("b", "n1"), &Nominating::Clear);
    assert_eq!(names(&it, "n1"), ["c"]);
    assert_eq!(it.queue.delete_nominated_pod("uid-c").as_deref(), Some("n1"));
    assert_eq!(names(&it, "n1").len(), 0);
}

/// k/k#85677.
#[test]
fn promises_on_a_node_end_with_the_node() {
    let mut it = Bench::new();
    it.add(secs(0), nominated("a", "n1"));
    it.add(secs(0), nominated("b", "n2"));
    let cleared = it.queue.clear_nominations("n1");
    assert_eq!(cleared.iter().map(|it| &**it.name()).collect::<Vec<_>>(), ["a"]);
    assert_eq!(it.queue.nominated_node("uid-a"), None);
    assert_eq!(names(&it, "n2"), ["b"]);
}

#[test]
fn a_promise_that_is_taken_back_wakes_pods_of_equal_or_lower_priority() {
    let mut it = Bench::new();
    it.rejected(secs(0), with_priority("higher", 8), &["Room"]);
    it.rejected(secs(0), with_priority("equal", 7), &["Room"]);
    it.rejected(secs(0), pod("lower"), &["Room"]);
    it.queue.nominated_pod_left(&it.host, secs(60), with_priority("gone", 7).pod());
    assert_eq!(it.drain(), ["equal", "lower"]);
}
