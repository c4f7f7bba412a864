//! Pods: the one long printer.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::age::{human_duration, parse, since, whole_seconds};
use super::text::{list, number, or_none, text};
use crate::values::condition_is_true;

/// Ready, Status, Restarts, Age, IP, Node, Nominated Node, Readiness Gates.
pub(super) fn cells(pod: &Value, now: Timestamp) -> Vec<Value> {
    let state = State::of(pod);
    let restarts = match state.last_restart {
        Some(at) if state.restarts != 0 => {
            format!("{} ({} ago)", state.restarts, human_duration(whole_seconds(at, now)))
        }
        _ => state.restarts.to_string(),
    };
    let gates = list(pod, "/spec/readinessGates");
    let open = gates.iter().filter(|gate| condition_is_true(pod, text(gate, "/conditionType")));
    let gates =
        if gates.is_empty() { String::new() } else { format!("{}/{}", open.count(), gates.len()) };
    vec![
        format!("{}/{}", state.ready, state.total).into(),
        state.status.into(),
        restarts.into(),
        since(&pod["metadata"]["creationTimestamp"], now).into(),
        or_none(text(pod, "/status/podIPs/0/ip")).into(),
        or_none(text(pod, "/spec/nodeName")).into(),
        or_none(text(pod, "/status/nominatedNodeName")).into(),
        or_none(&gates).into(),
    ]
}

/// What a finished pod's row says about itself, so that kubectl can sort it out.
pub(super) fn row_conditions(pod: &Value) -> Option<Value> {
    let (reason, message) = match text(pod, "/status/phase") {
        "Succeeded" => ("Succeeded", "The pod has completed successfully."),
        "Failed" => ("Failed", "The pod failed."),
        _ => return None,
    };
    Some(json!([{"type": "Completed", "status": "True", "reason": reason, "message": message}]))
}

/// What the containers' states add up to.
#[derive(Debug, Default)]
struct State {
    status: String,
    ready: usize,
    total: usize,
    restarts: i64,
    last_restart: Option<Timestamp>,
}

impl State {
    fn of(pod: &Value) -> Self {
        let phase = text(pod, "/status/phase");
        let reason = text(pod, "/status/reason");
        let mut state = Self {
            status: if reason.is_empty() { phase } else { reason }.to_owned(),
            total: list(pod, "/spec/containers").len(),
            ..Self::default()
        };
        let gated = |it: &&Value| {
            text(it, "/type") == "PodScheduled" && text(it, "/reason") == "SchedulingGated"
        };
        if list(pod, "/status/conditions").iter().find(gated).is_some() {
            "SchedulingGated".clone_into(&mut state.status);
        }
        let (sidecars, initialising) = state.init_containers(pod);
        if !initialising || condition_is_true(pod, "Initialized") {
            (state.restarts, state.last_restart) = sidecars;
            state.containers(pod);
        }
        if !pod["metadata"]["deletionTimestamp"].is_null() {
            if reason == "NodeLost" {
                "Unknown".clone_into(&mut state.status);
            } else if phase != "Succeeded" && phase != "Failed" {
                "Terminating".clone_into(&mut state.status);
            }
        }
        state
    }

    /// Goes through the init containers up to the first unfinished one. Returns the sidecars'
    /// restarts, and whether the pod is still initialising.
    fn init_containers(&mut self, pod: &Value) -> ((i64, Option<Timestamp>), bool) {
        let specs = list(pod, "/spec/initContainers");
        let sidecar = |it: &Value| text(it, "/restartPolicy") == "Always";
        self.total += specs.iter().filter(|it| sidecar(it)).count();
        let mut sidecars = (0, None);
        for (index, status) in list(pod, "/status/initContainerStatuses").iter().enumerate() {
            self.count_restarts(status);
            let named = |it: &&Value| text(it, "/name") == text(status, "/name");
            let is_sidecar = specs.iter().find(named).is_some_and(sidecar);
            if is_sidecar {
                sidecars.0 += number(status, "/restartCount");
                sidecars.1 = sidecars.1.max(last_termination(status));
            }
            let terminated = &status["state"]["terminated"];
            let waiting = text(status, "/state/waiting/reason");
            if !terminated.is_null() && number(terminated, "/exitCode") == 0 {
                continue;
            }
            if is_sidecar && status["started"] == true {
                self.ready += usize::from(status["ready"] == true);
                continue;
            }
            self.status = if !terminated.is_null() {
                format!("Init:{}", ended(terminated))
            } else if !waiting.is_empty() && waiting != "PodInitializing" {
                format!("Init:{waiting}")
            } else {
                format!("Init:{index}/{}", specs.len())
            };
            return (sidecars, true);
        }
        (sidecars, false)
    }

    fn containers(&mut self, pod: &Value) {
        let mut any_running = false;
        for status in list(pod, "/status/containerStatuses").iter().rev() {
            self.count_restarts(status);
            let waiting = text(status, "/state/waiting/reason");
            let terminated = &status["state"]["terminated"];
            if !waiting.is_empty() {
                waiting.clone_into(&mut self.status);
            } else if !terminated.is_null() {
                self.status = ended(terminated);
            } else if status["ready"] == true && !status["state"]["running"].is_null() {
                any_running = true;
                self.ready += 1;
            }
        }
        if self.status == "Completed" && any_running {
            let ready = condition_is_true(pod, "Ready");
            (if ready { "Running" } else { "NotReady" }).clone_into(&mut self.status);
        }
    }

    fn count_restarts(&mut self, status: &Value) {
        self.restarts += number(status, "/restartCount");
        self.last_restart = self.last_restart.max(last_termination(status));
    }
}

fn last_termination(status: &Value) -> Option<Timestamp> {
    parse(&status["lastState"]["terminated"]["finishedAt"])
}

/// Why a container ended, in one word.
fn ended(terminated: &Value) -> String {
    let reason = text(terminated, "/reason");
    match (reason, number(terminated, "/signal")) {
        ("", 0) => format!("ExitCode:{}", number(terminated, "/exitCode")),
        ("", signal) => format!("Signal:{signal}"),
        (reason, _) => reason.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cells_of(status: &Value) -> Vec<String> {
        let pod = json!({"metadata": {"creationTimestamp": "2026-01-01T00:00:00Z"},
            "spec": {"containers": [{"name": "c"}]}, "status": status});
        shown(&pod)
    }

    fn shown(pod: &Value) -> Vec<String> {
        let now = "2026-01-01T00:05:00Z".parse().unwrap();
        cells(pod, now).iter().map(|it| it.as_str().unwrap().to_owned()).collect()
    }

    fn container(state: &Value) -> Value {
        json!({"phase": "Running", "containerStatuses": [{"name": "c", "state": state}]})
    }

    #[test]
    fn a_fresh_pod_shows_none_for_what_it_lacks() {
        let shown = cells_of(&json!({"phase": "Pending"}));
        assert_eq!(shown, ["0/1", "Pending", "0", "5m", "<none>", "<none>", "<none>", "<none>"]);
    }

    #[test]
    fn a_running_pod_counts_its_ready_containers() {
        let shown = cells_of(&json!({"phase": "Running", "podIPs": [{"ip": "10.1.1.1"}],
            "containerStatuses": [{"name": "c", "ready": true, "restartCount": 0,
                "state": {"running": {}}}]}));
        assert_eq!(shown[..5], ["1/1", "Running", "0", "5m", "10.1.1.1"]);
    }

    /// Each as `kubectl get pods` against kube-apiserver 1.36 showed it.
    #[test]
    fn the_status_is_what_matters_most() {
        let status = |it: &Value| cells_of(it).remove(1);
        assert_eq!(status(&json!({"phase": "Failed", "reason": "Evicted"})), "Evicted");
        assert_eq!(
            status(&json!({"phase": "Pending", "conditions": [{"type": "PodScheduled",
                "status": "False", "reason": "SchedulingGated"}]})),
            "SchedulingGated"
        );
        assert_eq!(
            status(&json!({"phase": "Pending", "conditions": [{"type": "PodScheduled",
                "status": "False", "reason": "Unschedulable"}]})),
            "Pending"
        );
        let waiting = |reason: &str| container(&json!({"waiting": {"reason": reason}}));
        assert_eq!(status(&waiting("CrashLoopBackOff")), "CrashLoopBackOff");
        assert_eq!(status(&container(&json!({"terminated": {"exitCode": 2}}))), "ExitCode:2");
        assert_eq!(status(&container(&json!({"terminated": {"signal": 9}}))), "Signal:9");
        assert_eq!(
            status(&container(&json!({"terminated": {"exitCode": 0, "reason": "Completed"}}))),
            "Completed"
        );
    }

    #[test]
    fn restarts_say_how_long_ago_the_last_was() {
        let shown = cells_of(&json!({"phase": "Running", "containerStatuses": [{"name": "c",
            "restartCount": 3, "lastState": {"terminated": {"finishedAt": "2026-01-01T00:01:00Z"}},
            "state": {"waiting": {"reason": "CrashLoopBackOff"}}}]}));
        assert_eq!(shown[2], "3 (4m ago)");
    }

    #[test]
    fn the_first_unfinished_init_container_is_shown_and_sidecars_count() {
        let spec = json!({"containers": [{"name": "c"}],
            "initContainers": [{"name": "i"}, {"name": "s", "restartPolicy": "Always"}]});
        let mut pod = json!({"spec": spec, "status": {"phase": "Pending",
            "initContainerStatuses": [{"name": "i", "state": {"running": {}}}]}});
        assert_eq!(shown(&pod)[..2], ["0/2", "Init:0/2"]);
        pod["status"]["initContainerStatuses"] = json!([
            {"name": "i", "state": {"terminated": {"exitCode": 0}}},
            {"name": "s", "started": true, "ready": true, "state": {"running": {}}}]);
        assert_eq!(shown(&pod)[..2], ["1/2", "Pending"]);
        pod["status"]["initContainerStatuses"] =
            json!([{"name": "i", "state": {"terminated": {"exitCode": 1, "reason": "Error"}}}]);
        assert_eq!(shown(&pod)[1], "Init:Error");
    }

    #[test]
    fn a_terminating_pod_says_so_unless_it_has_finished() {
        let mut pod = json!({"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"},
            "spec": {"containers": [{"name": "c"}]}, "status": {"phase": "Running"}});
        assert_eq!(shown(&pod)[1], "Terminating");
        pod["status"]["reason"] = json!("NodeLost");
        assert_eq!(shown(&pod)[1], "Unknown");
        pod["status"] = json!({"phase": "Succeeded"});
        assert_eq!(shown(&pod)[1], "Succeeded");
    }

    #[test]
    fn readiness_gates_are_counted_by_their_conditions() {
        let pod = json!({"spec": {"containers": [{"name": "c"}],
                "readinessGates": [{"conditionType": "a/b"}, {"conditionType": "c/d"}]},
            "status": {"conditions": [{"type": "a/b", "status": "True"}]}});
        assert_eq!(shown(&pod)[7], "1/2");
    }
}
