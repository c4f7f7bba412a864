//! Where a pod waits, for how long, and what gets it out.

use std::{sync::Arc, time::Duration};

use serde_json::json;

use super::{
    Bench, Host, NODE_ADD, NODE_LABEL, QueueOptions, QueuePart, SchedulingQueue, gated, key, pod,
    pod_with, secs, with_priority,
};

#[test]
fn active_pods_come_out_by_priority_then_age_and_gated_ones_do_not() {
    let mut it = Bench::new();
    it.add(Duration::from_millis(3472), with_priority("q1", 2_000_001_000));
    it.add(Duration::from_millis(4286), pod("q2"));
    it.add(Duration::from_millis(67), with_priority("q3", 100));
    it.add(Duration::from_millis(1372), gated("q4"));
    it.add(Duration::from_millis(2023), with_priority("q5", 100));
    it.add(Duration::from_millis(3075), pod("q6"));
    assert_eq!(it.counts(), [5, 0, 0, 1]);
    assert_eq!(it.drain(), ["q1", "q3", "q5", "q6", "q2"]);
    let (part, info) = it.queue.get(&key("q4")).unwrap();
    assert_eq!((part, info.gating_plugin), (QueuePart::Unschedulable, Some("SchedulingGates")));
}

#[test]
fn a_change_wakes_the_pods_whose_rejecting_plugin_says_so() {
    let mut it = Bench::new();
    it.rejected(secs(0), pod("fit"), &["Fit"]);
    it.rejected(secs(0), pod("label"), &["Label"]);
    it.rejected(secs(0), pod("broken"), &["Broken"]);
    it.rejected(secs(0), pod("deaf"), &["Deaf"]);
    assert_eq!(it.counts(), [0, 0, 4, 0]);
    it.host.asked.borrow_mut().clear();

    it.happens(secs(60), NODE_LABEL);
    // An error counts as yes, lest the pod be stuck.
    assert_eq!(it.drain(), ["broken"]);
    assert_eq!(
        *it.host.asked.borrow(),
        ["Broken broken NodeUpdateNodeLabel", "Label label NodeUpdateNodeLabel"]
    );
    it.happens(secs(60), NODE_ADD);
    assert_eq!(it.drain(), ["fit"]);
}

#[test]
fn a_woken_pod_waits_until_its_backoff_is_over() {
    let mut it = Bench::new();
    let at = Duration::from_millis(500);
    it.rejected(at, pod("a"), &["Fit"]);
    it.happens(at, NODE_ADD);
    assert_eq!(it.counts(), [0, 1, 0, 0]);
    // 0.5 s + 1 s, cut to whole seconds, and the second in which it ends counts as backoff too.
    assert_eq!(it.queue.poll_timeout(), Some(secs(2)));
    it.wait(Duration::from_millis(1999));
    assert_eq!(it.counts(), [0, 1, 0, 0]);
    it.wait(secs(2));
    assert_eq!(it.counts(), [1, 0, 0, 0]);
    assert_eq!(it.queue.poll_timeout(), None);
}

#[test]
fn a_pod_whose_backoff_is_over_when_it_is_woken_is_tried_at_once() {
    let mut it = Bench::new();
    it.rejected(secs(0), pod("a"), &["Fit"]);
    it.happens(secs(2), NODE_ADD);
    assert_eq!(it.counts(), [1, 0, 0, 0]);
}

#[test]
fn backoff_doubles_up_to_the_maximum() {
    let mut it = Bench::new();
    let mut now = secs(100);
    it.add(now, pod("a"));
    for expected in [1, 2, 4, 8, 10, 10] {
        let info = it.pop().unwrap();
        it.reject(now, info, &["Fit"]).unwrap();
        let (_, waiting) = it.queue.get(&key("a")).unwrap();
        assert_eq!(waiting.backoff_expiration, Some(now + secs(expected)));
        now += secs(100);
        it.happens(now, NODE_ADD);
    }
}

#[test]
fn no_number_of_tries_gets_beyond_the_maximum() {
    let mut it = Bench::new();
    it.add(secs(0), pod("a"));
    let mut info = it.pop().unwrap();
    info.unschedulable_count = u32::MAX - 1;
    it.reject(secs(0), info, &["Fit"]).unwrap();
    assert_eq!(it.queue.get(&key("a")).unwrap().1.backoff_expiration, Some(secs(10)));
}

#[test]
fn a_maximum_of_zero_means_no_backoff() {
    let options = QueueOptions { pod_max_backoff: Duration::ZERO, ..QueueOptions::default() };
    let mut it = Bench { host: Host::new(), queue: SchedulingQueue::new(options) };
    it.rejected(secs(0), pod("a"), &["Fit"]);
    it.happens(secs(0), NODE_ADD);
    assert_eq!(it.counts(), [1, 0, 0, 0]);
}

/// k/k#128744.
#[test]
fn errors_and_rejections_are_counted_apart() {
    let mut it = Bench::new();
    it.add(secs(0), pod("a"));
    let mut now = secs(0);
    for expected in [1, 2, 4, 8, 10] {
        let info = it.pop().unwrap();
        assert_eq!(it.reject(now, info, &[]), Ok(QueuePart::Backoff));
        assert_eq!(it.queue.poll_timeout(), Some(now + secs(expected + 1)));
        now += secs(expected + 1);
        it.wait(now);
    }
    let info = it.pop().unwrap();
    assert_eq!((info.attempts, info.consecutive_errors_count), (6, 5));
    it.reject(now, info, &["Fit"]).unwrap();
    let (_, waiting) = it.queue.get(&key("a")).unwrap();
    assert_eq!(waiting.backoff_expiration, Some(now + secs(1)));
    assert_eq!(waiting.consecutive_errors_count, 0);
}

#[test]
fn where_nobody_is_active_the_pod_whose_backoff_ends_first_is_tried_but_not_after_an_error() {
    let mut it = Bench::new();
    it.rejected(secs(0), pod("error"), &[]);
    it.rejected(secs(1), pod("later"), &["Fit"]);
    it.rejected(Duration::from_millis(900), pod("low"), &["Fit"]);
    it.rejected(Duration::from_millis(950), with_priority("high", 5), &["Fit"]);
    it.happens(secs(1), NODE_ADD);
    it.add(secs(1), pod("new"));
    assert_eq!(it.counts(), [1, 4, 0, 0]);
    // `high` and `low` end in the same second: the order of the active queue decides.
    assert_eq!(it.drain(), ["new", "high", "low", "later"]);
    assert!(!it.queue.has_next());
    assert_eq!(it.part("error"), Some(QueuePart::Backoff));
}

/// k/k#130429.
#[test]
fn a_pod_that_preempts_again_waits_out_its_backoff_also_when_it_is_activated() {
    let mut it = Bench::new();
    it.add(secs(0), pod("a"));
    let mut info = it.pop().unwrap();
    info.preempts_again = true;
    assert_eq!(it.reject(secs(0), info, &["Fit"]), Ok(QueuePart::Unschedulable));
    for _ in 0..2 {
        it.queue.activate(&it.host, secs(0), &[key("a")]);
        assert_eq!(it.part("a"), Some(QueuePart::Backoff));
        assert!(!it.queue.has_next());
    }
    it.wait(secs(2));
    assert_eq!(it.drain(), ["a"]);
}

#[test]
fn a_pod_that_nothing_wakes_is_tried_after_five_minutes() {
    let mut it = Bench::new();
    it.rejected(secs(10), pod("a"), &["Deaf"]);
    it.wait(secs(310));
    assert_eq!(it.counts(), [0, 0, 1, 0]);
    let due = it.queue.poll_timeout().unwrap();
    assert_eq!(due, secs(310) + Duration::from_nanos(1));
    it.wait(due);
    assert_eq!(it.counts(), [1, 0, 0, 0]);
}

/// k/k PR#139162.
#[test]
fn a_gate_that_missed_its_event_is_asked_again_after_five_minutes() {
    let mut it = Bench::new();
    it.host.shut_out("a");
    it.add(secs(0), pod("a"));
    assert_eq!(it.counts(), [0, 0, 0, 1]);
    it.wait(secs(301));
    assert_eq!(it.counts(), [0, 0, 0, 1]);
    // Not at once again, or the caller would never rest.
    assert!(it.queue.poll_timeout() > Some(secs(301)));
    it.host.let_in("a");
    it.wait(secs(332));
    assert_eq!(it.counts(), [1, 0, 0, 0]);
}

#[test]
fn a_gated_pod_is_woken_by_events_of_its_gate_alone() {
    let mut it = Bench::new();
    it.rejected(secs(0), pod("a"), &["Label", "Broken"]);
    it.host.shut_out("a");
    it.happens(secs(60), NODE_LABEL);
    assert_eq!(it.counts(), [0, 0, 0, 1], "held back although a plugin would have it tried");
    it.host.let_in("a");
    it.happens(secs(60), NODE_LABEL);
    assert_eq!(it.counts(), [0, 0, 0, 1]);
    it.happens(secs(60), NODE_ADD);
    assert_eq!(it.counts(), [1, 0, 0, 0]);
}

#[test]
fn losing_the_last_gate_makes_a_pod_active_and_other_changes_of_it_do_not() {
    let mut it = Bench::new();
    let held = gated("a");
    it.add(secs(0), Arc::clone(&held));
    let labelled = pod_with(
        "a",
        &json!({
            "metadata": {"labels": {"x": "y"}},
            "spec": {"schedulingGates": [{"name": "example.com/quota"}]},
        }),
    );
    it.update(secs(1), &held, &labelled);
    assert_eq!(it.counts(), [0, 0, 0, 1]);
    let free = pod_with("a", &json!({"metadata": {"labels": {"x": "y"}}}));
    it.update(secs(2), &labelled, &free);
    assert_eq!(it.counts(), [1, 0, 0, 0]);
    let info = it.pop().unwrap();
    assert_eq!((info.gating_plugin, info.pod.label("x")), (None, Some("y")));
}

#[test]
fn an_update_reaches_a_pod_in_every_part() {
    let mut it = Bench::new();
    let label = |name: &str| pod_with(name, &json!({"metadata": {"labels": {"x": "y"}}}));
    it.rejected(secs(0), pod("waits"), &["Deaf"]);
    it.rejected(secs(0), pod("backs-off"), &["Fit"]);
    it.rejected(secs(0), pod("failed"), &[]);
    it.happens(secs(0), NODE_ADD);
    it.add(secs(0), pod("active"));
    for name in ["waits", "backs-off", "failed", "active"] {
        let part = it.part(name);
        it.update(secs(0), &pod(name), &label(name));
        assert_eq!(it.part(name), part);
        assert_eq!(it.queue.get(&key(name)).unwrap().1.pod.label("x"), Some("y"));
    }
}

#[test]
fn a_deleted_pod_is_in_no_part() {
    let mut it = Bench::new();
    it.rejected(secs(0), pod("waits"), &["Deaf"]);
    it.rejected(secs(0), pod("backs-off"), &["Fit"]);
    it.rejected(secs(0), pod("failed"), &[]);
    it.happens(secs(0), NODE_ADD);
    it.add(secs(0), pod("active"));
    it.add(secs(0), gated("gated"));
    for name in ["waits", "backs-off", "failed", "active", "gated"] {
        assert!(it.part(name).is_some(), "{name}");
        it.queue.delete(&it.host, pod(name).pod());
    }
    assert_eq!(it.counts(), [0, 0, 0, 0]);
    assert_eq!(it.queue.poll_timeout(), None);
}

#[test]
fn a_successor_of_the_same_name_is_another_pod() {
    let mut it = Bench::new();
    it.rejected(secs(0), pod("a"), &["Deaf"]);
    let successor = pod_with("a", &json!({"metadata": {"uid": "other"}}));
    it.add(secs(1), Arc::clone(&successor));
    assert_eq!(it.counts(), [1, 0, 0, 0]);
    // The late news of its predecessor's end do not concern it.
    it.queue.delete(&it.host, pod("a").pod());
    assert_eq!(it.pop().unwrap().pod.uid(), successor.uid());
}

#[test]
fn a_pod_that_is_added_twice_is_there_once() {
    let mut it = Bench::new();
    it.add(secs(0), pod("a"));
    it.add(secs(1), pod("a"));
    assert_eq!(it.counts(), [1, 0, 0, 0]);
    let info = it.pop().unwrap();
    it.add(secs(2), pod("a"));
    assert_eq!(it.counts(), [0, 0, 0, 0], "it is in flight");
    it.reject(secs(2), info, &["Fit"]).unwrap();
    assert_eq!(it.counts(), [0, 0, 1, 0]);
}

#[test]
fn activated_pods_are_tried_without_regard_to_their_backoff_but_not_past_a_gate() {
    let mut it = Bench::new();
    it.rejected(secs(0), pod("waits"), &["Deaf"]);
    it.rejected(secs(0), pod("backs-off"), &["Fit"]);
    it.happens(secs(0), NODE_ADD);
    it.add(secs(0), gated("gated"));
    let keys = ["waits", "backs-off", "gated", "unknown"].map(key);
    it.queue.activate(&it.host, secs(0), &keys);
    assert_eq!(it.counts(), [2, 0, 0, 1]);
}

#[test]
fn incoming_pods_are_counted_by_part_and_event() {
    let mut it = Bench::new();
    it.rejected(secs(0), pod("a"), &["Fit"]);
    it.happens(secs(0), NODE_ADD);
    it.drain();
    let seen: Vec<_> = it
        .queue
        .incoming()
        .map(|(part, event, count)| format!("{} {} {count}", part.as_str(), event.label()))
        .collect();
    assert_eq!(
        seen,
        [
            "active UnschedulablePodAdd 1",
            "active PopFromBackoffQ 1",
            "backoff NodeAdd 1",
            "unschedulable ScheduleAttemptFailure 1",
        ]
    );
}
