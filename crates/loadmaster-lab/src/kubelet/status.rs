//! The conditions that a healthy kubelet reports.

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use crate::values::{condition, list};

/// A kubelet repeats an unchanged status this often; its lease says in between that it lives.
const REPORT_EVERY: SignedDuration = SignedDuration::from_secs(300);

const CONDITIONS: [(&str, &str, &str, &str); 4] = [
    (
        "MemoryPressure",
        "False",
        "KubeletHasSufficientMemory",
        "kubelet has sufficient memory available",
    ),
    ("DiskPressure", "False", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
    ("PIDPressure", "False", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
    ("Ready", "True", "KubeletReady", "kubelet is posting ready status"),
];

/// Writes the conditions of a healthy node where one differs or its report is old. Conditions that
/// a learner has set by hand (a pressure, `Ready=False`) are the learner's and stay, unless the
/// node controller had given the node up.
pub(super) fn report_ready(node: &mut Value, now: Timestamp) {
    let time = now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    let mut conditions = list(node, "/status/conditions").to_vec();
    for (kind, status, reason, message) in CONDITIONS {
        let current = condition(node, kind);
        let given_up = current.is_some_and(|it| it["reason"] == "NodeStatusUnknown");
        let by_hand = current.is_some_and(|it| it["status"] != status) && !given_up;
        let reported: Option<Timestamp> =
            current.and_then(|it| it["lastHeartbeatTime"].as_str()).and_then(|it| it.parse().ok());
        let old = reported.is_none_or(|it| it + REPORT_EVERY <= now);
        if by_hand || (!old && !given_up) {
            continue;
        }
        let same = current.filter(|it| it["status"] == status);
        let since = same.and_then(|it| it["lastTransitionTime"].as_str()).unwrap_or(&time);
        let next = json!({"type": kind, "status": status, "lastHeartbeatTime": time,
            "lastTransitionTime": since, "reason": reason, "message": message});
        match conditions.iter_mut().find(|it| it["type"] == kind) {
            Some(slot) => *slot = next,
            None => conditions.push(next),
        }
    }
    node["status"]["conditions"] = json!(conditions);
}
