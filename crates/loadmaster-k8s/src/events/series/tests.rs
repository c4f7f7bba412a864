use std::sync::Arc;

use loadmaster_core::scheduler::EventType;
use loadmaster_framework::{PodInfo, api::Pod};
use serde_json::json;

use super::*;
use crate::events::wire::Version;

fn record(version: &str) -> EventRecord {
    let pod: Pod = serde_json::from_value(json!({"metadata": {
        "name": "web", "namespace": "shop", "uid": "u1", "resourceVersion": version}}))
    .unwrap();
    EventRecord {
        regarding: Arc::new(PodInfo::new(Arc::new(pod))),
        related: None,
        kind: EventType::Warning,
        reason: "FailedScheduling",
        action: "Scheduling",
        note: "0/1 nodes are available".to_owned(),
        reporter: "default-scheduler".into(),
    }
}

/// `minutes` after some moment.
fn at(minutes: i64) -> Timestamp {
    Timestamp::constant(1_700_000_000, 123_456_000) + SignedDuration::from_mins(minutes)
}

#[test]
fn the_second_time_makes_a_series_and_later_ones_are_only_counted() {
    let mut series = Series::default();
    let first = series.note(record("7"), "host", at(0)).remove(0);
    assert!(!first.known);
    let second = series.note(record("7"), "host", at(1)).remove(0);
    assert!(second.known);
    assert_eq!((second.event.count, &second.event.name), (2, &first.event.name));
    assert!(series.note(record("7"), "host", at(2)).is_empty());
}

#[test]
fn an_event_about_a_changed_pod_is_another_event() {
    let mut series = Series::default();
    series.note(record("7"), "host", at(0));
    assert!(!series.note(record("8"), "host", at(1)).remove(0).known);
}

#[test]
fn a_series_that_ended_is_written_with_its_last_count_and_forgotten() {
    let mut series = Series::default();
    for minute in 0..3 {
        series.note(record("7"), "host", at(minute));
    }
    assert!(series.sweep(at(7)).is_empty());
    let written = series.sweep(at(8));
    assert_eq!(written.iter().map(|it| it.event.count).collect::<Vec<_>>(), [3]);
    assert!(!series.note(record("7"), "host", at(9)).remove(0).known);
}

#[test]
fn of_many_events_the_oldest_is_forgotten_with_its_last_count() {
    let mut series = Series::default();
    for minute in 0..3 {
        series.note(record("0"), "host", at(minute));
    }
    for version in 1..SEEN_MAX {
        assert_eq!(series.note(record(&version.to_string()), "host", at(3)).len(), 1);
    }
    let written = series.note(record("more"), "host", at(3));
    let counts: Vec<_> = written.iter().map(|it| (it.event.count, it.known)).collect();
    assert_eq!(counts, [(1, false), (3, true)]);
    assert!(!series.note(record("0"), "host", at(4)).remove(0).known, "it is another event");
}

#[test]
fn a_series_that_goes_on_is_written_every_half_hour() {
    let mut series = Series::default();
    for minute in 0..=36 {
        series.note(record("7"), "host", at(minute));
        let written = if minute % 6 == 0 { series.sweep(at(minute)).len() } else { 0 };
        assert_eq!(written, usize::from(minute == 30), "minute {minute}");
    }
}

#[test]
fn an_event_has_the_shape_that_the_recorder_of_upstream_gives_it() {
    let mut series = Series::default();
    let event = series.note(record("7"), "host", at(0)).remove(0).event;
    assert_eq!(
        Version::Events.whole(&event),
        json!({
            "apiVersion": "events.k8s.io/v1",
            "kind": "Event",
            "metadata": {"name": "web.17979cfe3d85ca00", "namespace": "shop"},
            "eventTime": "2023-11-14T22:13:20.123456Z",
            "reportingController": "default-scheduler",
            "reportingInstance": "default-scheduler-host",
            "action": "Scheduling",
            "reason": "FailedScheduling",
            "regarding": {
                "apiVersion": "v1", "kind": "Pod", "namespace": "shop", "name": "web",
                "uid": "u1", "resourceVersion": "7",
            },
            "note": "0/1 nodes are available",
            "type": "Warning",
        })
    );
}

#[test]
fn an_older_server_gets_the_older_shape() {
    let mut series = Series::default();
    series.note(record("7"), "host", at(0));
    let event = series.note(record("7"), "host", at(1)).remove(0).event;
    let whole = Version::Core.whole(&event);
    assert_eq!(whole["message"], "0/1 nodes are available");
    assert_eq!(whole["involvedObject"]["name"], "web");
    assert_eq!(whole["source"], json!({"component": "default-scheduler"}));
    assert_eq!(
        whole["series"],
        json!({"count": 2, "lastObservedTime": "2023-11-14T22:14:20.123456Z"})
    );
    assert_eq!(whole.get("note"), None);
}
