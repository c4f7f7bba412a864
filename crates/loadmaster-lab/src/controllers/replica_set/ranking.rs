//! Which pods go first when a set shrinks.
//!
//! Source: `ActivePodsWithRanks` in `pkg/controller/controller_utils.go` 1.36.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use jiff::Timestamp;

use super::ready_since;
use crate::store::{Object, text};
use crate::values::{list, number};

/// The `count` pods that go first. `related` are the active pods that count as neighbours.
pub(super) fn first_to_go(
    active: &[Object],
    related: &[Object],
    now: Timestamp,
    count: usize,
) -> Vec<Object> {
    let mut neighbours: BTreeMap<&str, usize> = BTreeMap::new();
    for pod in related {
        *neighbours.entry(node(pod)).or_default() += 1;
    }
    let mut sorted: Vec<&Object> = active.iter().collect();
    sorted.sort_by_cached_key(|pod| Rank::of(pod, &neighbours, now));
    sorted.into_iter().take(count).cloned().collect()
}

/// What decides, in order: the least goes first.
///
/// Ages are compared by order of magnitude only, so that pods of about the same age go by chance,
/// which is their uid. Upstream looks at the uid as soon as two pods have become ready at different
/// times of the same magnitude; that is no total order, so here it comes last.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Rank {
    bound: bool,
    phase: u8,
    ready: bool,
    deletion_cost: i32,
    neighbours: Reverse<usize>,
    ready_for: Option<u32>,
    restarts: Reverse<i64>,
    age: Option<u32>,
    uid: String,
}

impl Rank {
    fn of(pod: &Object, neighbours: &BTreeMap<&str, usize>, now: Timestamp) -> Self {
        let ready = ready_since(pod);
        Self {
            bound: !node(pod).is_empty(),
            phase: phase(pod),
            ready: ready.is_some(),
            deletion_cost: deletion_cost(pod),
            neighbours: Reverse(neighbours.get(node(pod)).copied().unwrap_or_default()),
            ready_for: ready.and_then(|it| magnitude(it, now)),
            restarts: Reverse(restarts(pod)),
            age: created(pod).and_then(|it| magnitude(it, now)),
            uid: text(pod, "uid").to_owned(),
        }
    }
}

/// The power of two of the time that has passed.
fn magnitude(since: Timestamp, now: Timestamp) -> Option<u32> {
    let nanos = now.duration_since(since).as_nanos();
    u128::try_from(nanos).ok().and_then(u128::checked_ilog2)
}

fn node(pod: &Object) -> &str {
    pod["spec"]["nodeName"].as_str().unwrap_or_default()
}

fn phase(pod: &Object) -> u8 {
    match pod["status"]["phase"].as_str() {
        Some("Pending") => 0,
        Some("Unknown") => 1,
        _ => 2,
    }
}

fn deletion_cost(pod: &Object) -> i32 {
    let annotation = &pod["metadata"]["annotations"]["controller.kubernetes.io/pod-deletion-cost"];
    annotation.as_str().and_then(|it| it.parse().ok()).unwrap_or_default()
}

fn restarts(pod: &Object) -> i64 {
    let statuses = list(pod, "/status/containerStatuses");
    statuses.iter().map(|it| number(it, "/restartCount")).max().unwrap_or_default()
}

fn created(pod: &Object) -> Option<Timestamp> {
    text(pod, "creationTimestamp").parse().ok()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use serde_json::{Value, json};

    fn pod(name: &str, change: impl FnOnce(&mut Value)) -> Object {
        let mut pod = json!({"metadata": {"name": name, "uid": name,
                "creationTimestamp": "2026-01-01T00:00:00Z"},
            "spec": {"nodeName": "n1"}, "status": {"phase": "Running", "conditions": [
                {"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}]}});
        change(&mut pod);
        Arc::new(pod)
    }

    fn order(pods: &[Object]) -> Vec<String> {
        let now = "2026-01-01T01:00:00Z".parse().unwrap();
        let sorted = first_to_go(pods, pods, now, pods.len());
        sorted.iter().map(|it| text(it, "name").to_owned()).collect()
    }

    #[test]
    fn the_least_useful_pod_goes_first() {
        let pods = [
            pod("steady", |_| {}),
            pod("cheap", |it| {
                it["metadata"]["annotations"] =
                    json!({"controller.kubernetes.io/pod-deletion-cost": "-1"});
            }),
            pod("unready", |it| it["status"]["conditions"] = json!([])),
            pod("pending", |it| it["status"]["phase"] = json!("Pending")),
            pod("unbound", |it| it["spec"] = json!({})),
        ];
        assert_eq!(order(&pods), ["unbound", "pending", "unready", "cheap", "steady"]);
    }

    #[test]
    fn crowded_nodes_are_relieved() {
        let on = |name, node: &str| pod(name, |it| it["spec"]["nodeName"] = json!(node));
        let pods = [on("alone", "n1"), on("pair-a", "n2"), on("pair-b", "n2")];
        assert_eq!(order(&pods)[2], "alone");
    }

    #[test]
    fn the_younger_of_two_ready_pods_goes_first() {
        let young = pod("a-young", |it| {
            it["status"]["conditions"][0]["lastTransitionTime"] = json!("2026-01-01T00:59:00Z");
        });
        assert_eq!(order(&[pod("old", |_| {}), young]), ["a-young", "old"]);
    }

    #[test]
    fn pods_of_about_the_same_age_have_one_order() {
        // A few seconds apart, some at the very same time, with uids in another order.
        let pods: Vec<Object> = (0..100)
            .map(|index: usize| {
                pod(&format!("{:02}", index * 37 % 100), |it| {
                    let second = index * 7 % 5;
                    it["status"]["conditions"][0]["lastTransitionTime"] =
                        json!(format!("2026-01-01T00:00:0{second}Z"));
                })
            })
            .collect();
        let names: Vec<String> = (0..100).map(|index| format!("{index:02}")).collect();
        assert_eq!(order(&pods), names);
    }
}
