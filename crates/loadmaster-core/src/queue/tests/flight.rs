//! What happens while a pod is being tried.

use loadmaster_framework::Object;
use serde_json::json;

use super::{Bench, Change, NODE_ADD, NODE_LABEL, QueuePart, gated, key, pod, pod_with, secs};

/// k/k#72122.
#[test]
fn an_event_during_the_try_wakes_the_pod_when_it_comes_back() {
    let mut it = Bench::new();
    it.add(secs(0), pod("a"));
    let info = it.pop().unwrap();
    it.happens(secs(0), NODE_ADD);
    assert_eq!(it.reject(secs(0), info, &["Fit"]), Ok(QueuePart::Backoff));
}

#[test]
fn an_event_before_the_try_or_of_no_concern_does_not() {
    let mut it = Bench::new();
    it.add(secs(0), pod("other"));
    it.pop();
    it.happens(secs(0), NODE_ADD);
    it.add(secs(0), pod("a"));
    let info = it.pop().unwrap();
    it.happens(secs(0), NODE_LABEL);
    assert_eq!(it.reject(secs(0), info, &["Fit"]), Ok(QueuePart::Unschedulable));
}

#[test]
fn a_pending_plugin_that_is_satisfied_skips_the_backoff() {
    let mut it = Bench::new();
    it.add(secs(0), pod("a"));
    let mut info = it.pop().unwrap();
    it.happens(secs(0), NODE_LABEL);
    it.happens(secs(0), NODE_ADD);
    info.unschedulable_plugins = ["Broken"].into();
    info.pending_plugins = ["Fit"].into();
    let part = it.queue.add_unschedulable_if_not_present(&it.host, secs(0), info);
    assert_eq!(part, Ok(QueuePart::Active));
}

#[test]
fn the_pods_own_change_during_the_try_counts() {
    let mut it = Bench::new();
    it.add(secs(0), pod("a"));
    let info = it.pop().unwrap();
    it.update(secs(0), &gated("a"), &pod("a"));
    assert_eq!(it.reject(secs(0), info, &["SchedulingGates"]), Ok(QueuePart::Backoff));
}

#[test]
fn a_pod_activated_during_its_try_is_tried_again_and_no_other() {
    let mut it = Bench::new();
    it.add(secs(0), pod("a"));
    it.add(secs(0), pod("b"));
    let (a, b) = (it.pop().unwrap(), it.pop().unwrap());
    it.queue.activate(&it.host, secs(0), &[key("a")]);
    assert_eq!(it.reject(secs(0), a, &["Deaf"]), Ok(QueuePart::Backoff));
    assert_eq!(it.reject(secs(0), b, &["Deaf"]), Ok(QueuePart::Unschedulable));
}

/// k/k PR#126962.
#[test]
fn pods_that_are_being_deleted_leave_no_trace() {
    let mut it = Bench::new();
    for at in 0..5000 {
        let going = json!({"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}});
        it.add(secs(at), pod_with(&format!("p{at}"), &going));
        let info = it.pop().unwrap();
        it.happens(secs(at), NODE_ADD);
        it.queue.done(info.pod.uid());
    }
    assert_eq!(it.queue.in_flight_len(), (0, 0));
}

/// k/k#129967: a pod on its way to being bound holds no events; those before it are dropped with
/// the oldest pod.
#[test]
fn events_are_kept_for_pods_in_flight_alone() {
    let mut it = Bench::new();
    it.happens(secs(0), NODE_ADD);
    assert_eq!(it.queue.in_flight_len(), (0, 0));
    it.add(secs(0), pod("a"));
    it.add(secs(1), pod("b"));
    it.pop();
    it.happens(secs(1), NODE_ADD);
    it.pop();
    it.happens(secs(1), NODE_ADD);
    assert_eq!(it.queue.in_flight_len(), (2, 2));
    it.queue.done("uid-a");
    assert_eq!(it.queue.in_flight_len(), (1, 1));
    it.queue.done("uid-b");
    it.queue.done("uid-b");
    assert_eq!(it.queue.in_flight_len(), (0, 0));
}

/// k/k#120622.
#[test]
fn a_long_try_in_a_busy_cluster_holds_few_events_and_misses_none() {
    let mut it = Bench::new();
    it.add(secs(0), pod("a"));
    let info = it.pop().unwrap();
    it.happens(secs(1), NODE_ADD);
    for _ in 0..100_000 {
        it.happens(secs(1), NODE_LABEL);
    }
    assert!(it.queue.in_flight_len().1 < 20_000);
    assert_eq!(it.reject(secs(1), info, &["Fit"]), Ok(QueuePart::Backoff));
    assert_eq!(it.queue.in_flight_len(), (0, 0));
}

#[test]
fn a_pod_that_comes_back_and_waits_already_is_refused_and_done() {
    let mut it = Bench::new();
    it.add(secs(0), pod("a"));
    let info = it.pop().unwrap();
    let uid = info.pod.uid().clone();
    it.queue.done(&uid);
    it.add(secs(0), pod("a"));
    let error = it.reject(secs(0), info, &["Fit"]).unwrap_err();
    assert_eq!(error.to_string(), "pod default/a is in the active queue already");
    assert_eq!(it.counts(), [1, 0, 0, 0]);
}

#[test]
fn a_change_that_no_plugin_looks_at_is_not_kept() {
    let mut it = Bench::new();
    it.add(secs(0), pod("a"));
    it.pop();
    let claim = Object::PersistentVolumeClaim(std::sync::Arc::default());
    let event = crate::event::events_of(None, Some(&claim))[0];
    let change = Change { event, old: None, new: Some(&claim) };
    it.queue.move_all_to_active_or_backoff(&it.host, secs(0), change);
    assert_eq!(it.queue.in_flight_len(), (1, 0));
}
