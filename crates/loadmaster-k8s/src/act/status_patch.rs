//! The patch of a pod's status.

use jiff::Timestamp;
use loadmaster_core::scheduler::ConditionPatch;
use loadmaster_framework::PodInfo;
use serde_json::{Map, Value, json};

/// The strategic merge patch that sets `condition` and the promised node (`Some("")` promises none
/// any more). The time of transition stays where the condition's status stays (upstream:
/// `podutil.UpdatePodCondition`); the uid keeps the patch from a successor of the pod.
pub(super) fn status_patch(
    pod: &PodInfo,
    condition: Option<&ConditionPatch>,
    nominated: Option<&str>,
    now: Timestamp,
) -> Value {
    let mut status = Map::new();
    if let Some(it) = condition {
        let mut entry = json!({
            "type": it.kind,
            "status": it.status,
            "reason": it.reason,
            "message": it.message,
        });
        if it.observed_generation > 0 {
            entry["observedGeneration"] = it.observed_generation.into();
        }
        let stays = pod.status.condition(it.kind).is_some_and(|old| *old.status == *it.status);
        if !stays {
            entry["lastProbeTime"] = Value::Null;
            entry["lastTransitionTime"] = seconds(now).into();
        }
        status.insert("$setElementOrder/conditions".to_owned(), order(pod, it.kind));
        status.insert("conditions".to_owned(), json!([entry]));
    }
    if let Some(node) = nominated {
        let node = if node.is_empty() { Value::Null } else { node.into() };
        status.insert("nominatedNodeName".to_owned(), node);
    }
    json!({"metadata": {"uid": pod.uid()}, "status": status})
}

/// The conditions keep their order; a new one goes to the end.
fn order(pod: &PodInfo, kind: &str) -> Value {
    let mut kinds: Vec<&str> = pod.status.conditions.iter().map(|it| &*it.r#type).collect();
    if !kinds.contains(&kind) {
        kinds.push(kind);
    }
    kinds.into_iter().map(|it| json!({"type": it})).collect()
}

/// The API's notation of a moment: whole seconds.
fn seconds(now: Timestamp) -> String {
    now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use loadmaster_framework::api::Pod;

    use super::*;

    fn pod(json: Value) -> PodInfo {
        PodInfo::new(Arc::new(serde_json::from_value::<Pod>(json).unwrap()))
    }

    fn unschedulable() -> ConditionPatch {
        ConditionPatch {
            kind: "PodScheduled",
            status: "False",
            reason: "Unschedulable",
            message: "0/1 nodes are available".to_owned(),
            observed_generation: 3,
        }
    }

    const NOW: Timestamp = Timestamp::constant(1_700_000_000, 123_000_000);

    #[test]
    fn a_new_condition_has_its_time_of_transition_and_stands_at_the_end() {
        let pod = pod(json!({"metadata": {"uid": "u"}, "status": {"conditions": [
            {"type": "Ready", "status": "False"}]}}));
        assert_eq!(
            status_patch(&pod, Some(&unschedulable()), None, NOW),
            json!({
                "metadata": {"uid": "u"},
                "status": {
                    "$setElementOrder/conditions": [{"type": "Ready"}, {"type": "PodScheduled"}],
                    "conditions": [{
                        "type": "PodScheduled",
                        "status": "False",
                        "reason": "Unschedulable",
                        "message": "0/1 nodes are available",
                        "observedGeneration": 3,
                        "lastProbeTime": null,
                        "lastTransitionTime": "2023-11-14T22:13:20Z",
                    }],
                },
            })
        );
    }

    #[test]
    fn the_time_of_transition_stays_while_the_status_stays() {
        let pod = pod(json!({"metadata": {"uid": "u"}, "status": {"conditions": [
            {"type": "PodScheduled", "status": "False", "reason": "SchedulerError"}]}}));
        let patch = status_patch(&pod, Some(&unschedulable()), None, NOW);
        let entry = &patch["status"]["conditions"][0];
        assert_eq!(entry["reason"], "Unschedulable");
        assert_eq!(entry.get("lastTransitionTime"), None);
    }

    #[test]
    fn an_empty_promise_removes_the_promised_node() {
        let pod = pod(json!({"metadata": {"uid": "u"}}));
        assert_eq!(
            status_patch(&pod, None, Some(""), NOW),
            json!({"metadata": {"uid": "u"}, "status": {"nominatedNodeName": null}})
        );
        assert_eq!(
            status_patch(&pod, None, Some("n1"), NOW)["status"],
            json!({"nominatedNodeName": "n1"})
        );
    }
}
