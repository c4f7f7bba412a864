//! Which pods go first when a set shrinks.
//!
//! Source: `ActivePodsWithRanks` in `pkg/controller/controller_utils.go` 1.36.

use std::cmp::{Ordering, Reverse};
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
    sorted.sort_by(|a, b| compare(a, b, &neighbours, now));
    sorted.into_iter().take(count).cloned().collect()
}

fn compare(a: &Object, b: &Object, neighbours: &BTreeMap<&str, usize>, now: Timestamp) -> Ordering {
    let crowd = |pod| neighbours.get(node(pod)).copied().unwrap_or_default();
    let (a_ready, b_ready) = (ready_since(a), ready_since(b));
    let by_state = (!node(a).is_empty())
        .cmp(&!node(b).is_empty())
        .then_with(|| phase(a).cmp(&phase(b)))
        .then_with(|| a_ready.is_some().cmp(&b_ready.is_some()))
        .then_with(|| deletion_cost(a).cmp(&deletion_cost(b)))
        .then_with(|| Reverse(crowd(a)).cmp(&Reverse(crowd(b))));
    if by_state != Ordering::Equal {
        return by_state;
    }
    // Upstream compares ages by order of magnitude only, so that equally old pods go by chance
    // (their uid), unless the times are the very same.
    if let (Some(a_time), Some(b_time)) = (a_ready, b_ready)
        && a_time != b_time
    {
        return by_age(a_time, b_time, now).then_with(|| text(a, "uid").cmp(text(b, "uid")));
    }
    let by_restarts = Reverse(restarts(a)).cmp(&Reverse(restarts(b)));
    if by_restarts != Ordering::Equal {
        return by_restarts;
    }
    match (created(a), created(b)) {
        (Some(a_time), Some(b_time)) if a_time != b_time => {
            by_age(a_time, b_time, now).then_with(|| text(a, "uid").cmp(text(b, "uid")))
        }
        _ => Ordering::Equal,
    }
}

/// Younger first, by powers of two.
fn by_age(a: Timestamp, b: Timestamp, now: Timestamp) -> Ordering {
    let rank = |time: Timestamp| {
        let nanos = now.duration_since(time).as_nanos();
        u128::try_from(nanos).ok().and_then(u128::checked_ilog2)
    };
    rank(a).cmp(&rank(b))
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
}
