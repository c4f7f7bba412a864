//! What a pod's containers are doing, and the pod's status that follows from it.
//!
//! Source: `pkg/kubelet/kubelet_pods.go` and `pkg/kubelet/status/generate.go` 1.36.

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::user::User;
use crate::store::rfc3339;
use crate::values::{condition, condition_is_true, list};

/// The annotation that says which process a container is, with the container's name after it.
const PID: &str = "lab.loadmaster/pid.";

/// The role of a container in its pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// Must end well before the next one starts.
    Init,
    /// An init container that keeps running.
    Sidecar,
    /// One of the pod's `containers`.
    Main,
}

/// What a container is doing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// Not running, for this reason.
    Waiting {
        /// `ContainerCreating` and its kin.
        reason: &'static str,
        /// Details, if there are any.
        message: String,
    },
    /// Running since then.
    Running(Timestamp),
    /// It has ended.
    Terminated(Ended),
}

/// How a container ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Ended {
    pub(super) code: i32,
    pub(super) reason: &'static str,
    pub(super) message: String,
    pub(super) started: Option<Timestamp>,
    pub(super) finished: Timestamp,
    pub(super) container_id: String,
}

/// One container's line on the board.
#[derive(Clone, Debug)]
pub(super) struct Line {
    pub(super) role: Role,
    pub(super) name: String,
    pub(super) image: String,
    pub(super) image_id: String,
    pub(super) container_id: String,
    pub(super) state: State,
    pub(super) last: Option<Ended>,
    pub(super) restarts: u32,
    pub(super) ready: bool,
    pub(super) started: bool,
    pub(super) user: Option<User>,
    /// The process on the lab's machine.
    pub(super) pid: Option<u32>,
}

/// All containers of a pod, in its order, init containers first.
#[derive(Clone, Debug)]
pub(super) struct Board {
    pub(super) lines: Vec<Line>,
    /// When the pod was taken in.
    pub(super) since: Timestamp,
    pub(super) ip: String,
    /// Whether the pod's volumes are there.
    pub(super) sandbox: bool,
    /// Why the pod has come to an end as a whole, if it has.
    pub(super) failure: Option<(&'static str, String)>,
}

impl Board {
    /// The board of a pod none of whose containers has started.
    pub(super) fn new(pod: &Value, ip: &str, now: Timestamp) -> Self {
        let line = |role: Role, container: &Value, reason: &'static str| Line {
            role,
            name: container["name"].as_str().unwrap_or_default().to_owned(),
            image: container["image"].as_str().unwrap_or_default().to_owned(),
            image_id: String::new(),
            container_id: String::new(),
            state: State::Waiting { reason, message: String::new() },
            last: None,
            restarts: 0,
            ready: false,
            started: false,
            user: None,
            pid: None,
        };
        let init = list(pod, "/spec/initContainers");
        let waits = if init.is_empty() { "ContainerCreating" } else { "PodInitializing" };
        let mut lines: Vec<Line> = init
            .iter()
            .map(|it| {
                let sidecar = it["restartPolicy"] == "Always";
                line(if sidecar { Role::Sidecar } else { Role::Init }, it, "PodInitializing")
            })
            .collect();
        lines.extend(list(pod, "/spec/containers").iter().map(|it| line(Role::Main, it, waits)));
        Self { lines, since: now, ip: ip.to_owned(), sandbox: false, failure: None }
    }

    /// Writes the pod's status.
    pub(super) fn write(&self, pod: &mut Value, host_ip: &str, now: Timestamp) {
        let generation = pod["metadata"]["generation"].clone();
        let (main, init): (Vec<&Line>, Vec<&Line>) =
            self.lines.iter().partition(|it| it.role == Role::Main);
        let conditions = self.conditions(pod, now);
        let phase = self.phase(pod);
        let shown = |lines: &[&Line]| lines.iter().map(|it| it.shown()).collect::<Vec<_>>();
        for line in &self.lines {
            line.note_process(pod);
        }
        let status = &mut pod["status"];
        status["phase"] = json!(phase);
        status["observedGeneration"] = generation;
        status["conditions"] = json!(conditions);
        status["containerStatuses"] = json!(shown(&main));
        if !init.is_empty() {
            status["initContainerStatuses"] = json!(shown(&init));
        }
        if status["startTime"].is_null() {
            status["startTime"] = json!(rfc3339(self.since));
        }
        status["hostIP"] = json!(host_ip);
        status["hostIPs"] = json!([{"ip": host_ip}]);
        status["podIP"] = json!(self.ip);
        status["podIPs"] = json!([{"ip": self.ip}]);
        if let Some((reason, message)) = &self.failure {
            status["reason"] = json!(reason);
            status["message"] = json!(message);
        }
    }

    /// Whether every init container has done its part.
    fn is_initialized(&self) -> bool {
        self.lines.iter().all(|it| match it.role {
            Role::Init => matches!(&it.state, State::Terminated(ended) if ended.code == 0),
            Role::Sidecar => it.started,
            Role::Main => true,
        })
    }

    /// The pod's phase.
    pub(super) fn phase(&self, pod: &Value) -> &'static str {
        if self.failure.is_some() {
            return "Failed";
        }
        let policy = pod["spec"]["restartPolicy"].as_str().unwrap_or("Always");
        let failed_init = self.lines.iter().any(|it| {
            it.role == Role::Init
                && matches!(&it.state, State::Terminated(ended) if ended.code != 0)
        });
        if failed_init && policy == "Never" {
            return "Failed";
        }
        if !self.is_initialized() {
            return "Pending";
        }
        let main: Vec<&Line> = self.lines.iter().filter(|it| it.role == Role::Main).collect();
        let never_ran = |it: &&Line| matches!(it.state, State::Waiting { .. }) && it.last.is_none();
        if main.iter().any(never_ran) {
            return "Pending";
        }
        let ended = |it: &&Line| match &it.state {
            State::Terminated(ended) => Some(ended.code),
            _ => None,
        };
        let codes: Option<Vec<i32>> = main.iter().map(ended).collect();
        match (codes, policy) {
            (None, _) | (_, "Always") => "Running",
            (Some(codes), _) if codes.iter().all(|it| *it == 0) => "Succeeded",
            (_, "Never") => "Failed",
            _ => "Running",
        }
    }

    fn conditions(&self, pod: &Value, now: Timestamp) -> Vec<Value> {
        let unready: Vec<&str> = self
            .lines
            .iter()
            .filter(|it| it.role != Role::Init && !it.ready)
            .map(|it| it.name.as_str())
            .collect();
        let finished = matches!(self.phase(pod), "Succeeded" | "Failed");
        let containers = if finished && self.phase(pod) == "Succeeded" {
            Err(("PodCompleted", String::new()))
        } else if finished {
            Err(("PodFailed", String::new()))
        } else if unready.is_empty() {
            Ok(())
        } else {
            let names = unready.join(" ");
            Err(("ContainersNotReady", format!("containers with unready status: [{names}]")))
        };
        let gates_open = list(pod, "/spec/readinessGates")
            .iter()
            .all(|it| condition_is_true(pod, it["conditionType"].as_str().unwrap_or_default()));
        let ready = match &containers {
            Ok(()) if !gates_open => Err((
                "ReadinessGatesNotReady",
                "the status of pod readiness gate is not \"True\"".to_owned(),
            )),
            other => other.clone(),
        };
        let incomplete: Vec<&str> = self
            .lines
            .iter()
            .filter(|it| it.role != Role::Main && !it.has_done_its_part())
            .map(|it| it.name.as_str())
            .collect();
        let initialized = if incomplete.is_empty() {
            Ok(())
        } else {
            let names = incomplete.join(" ");
            let message = format!("containers with incomplete status: [{names}]");
            Err(("ContainersNotInitialized", message))
        };
        let sandbox = if self.sandbox { Ok(()) } else { Err(("", String::new())) };
        let mut conditions = list(pod, "/status/conditions").to_vec();
        for (kind, verdict) in [
            ("PodReadyToStartContainers", sandbox),
            ("Initialized", initialized),
            ("Ready", ready),
            ("ContainersReady", containers),
            ("PodScheduled", Ok(())),
        ] {
            set_condition(&mut conditions, pod, kind, &verdict, now);
        }
        conditions
    }
}

impl Line {
    fn has_done_its_part(&self) -> bool {
        match self.role {
            Role::Init => matches!(&self.state, State::Terminated(ended) if ended.code == 0),
            _ => self.started,
        }
    }

    /// Says by an annotation which process the container is, while it is one.
    fn note_process(&self, pod: &mut Value) {
        let key = format!("{PID}{}", self.name);
        let annotations = &mut pod["metadata"]["annotations"];
        match (self.pid, annotations.as_object_mut()) {
            (Some(pid), _) => annotations[&key] = json!(pid.to_string()),
            (None, Some(annotations)) => {
                annotations.remove(&key);
            }
            (None, None) => {}
        }
    }

    /// The container's status.
    fn shown(&self) -> Value {
        let mut status = json!({"name": self.name, "image": self.image, "imageID": self.image_id,
            "state": self.state.shown(), "lastState": {}, "restartCount": self.restarts,
            "ready": self.ready, "started": self.started});
        if !self.container_id.is_empty() {
            status["containerID"] = json!(self.container_id);
        }
        if let Some(last) = &self.last {
            status["lastState"] = json!({"terminated": last.shown()});
        }
        if let Some(User { uid, gid }) = self.user {
            status["user"] =
                json!({"linux": {"uid": uid, "gid": gid, "supplementalGroups": [gid]}});
        }
        status
    }
}

impl State {
    fn shown(&self) -> Value {
        match self {
            Self::Waiting { reason, message } if message.is_empty() => {
                json!({"waiting": {"reason": reason}})
            }
            Self::Waiting { reason, message } => {
                json!({"waiting": {"reason": reason, "message": message}})
            }
            Self::Running(since) => json!({"running": {"startedAt": rfc3339(*since)}}),
            Self::Terminated(ended) => json!({"terminated": ended.shown()}),
        }
    }
}

impl Ended {
    fn shown(&self) -> Value {
        let mut shown = Map::new();
        shown.insert("exitCode".into(), json!(self.code));
        shown.insert("reason".into(), json!(self.reason));
        if !self.message.is_empty() {
            shown.insert("message".into(), json!(self.message));
        }
        shown.insert("startedAt".into(), json!(self.started.map(rfc3339)));
        shown.insert("finishedAt".into(), json!(rfc3339(self.finished)));
        if !self.container_id.is_empty() {
            shown.insert("containerID".into(), json!(self.container_id));
        }
        Value::Object(shown)
    }
}

fn set_condition(
    conditions: &mut Vec<Value>,
    pod: &Value,
    kind: &str,
    verdict: &Result<(), (&'static str, String)>,
    now: Timestamp,
) {
    let status = if verdict.is_ok() { "True" } else { "False" };
    let before = condition(pod, kind);
    let since = before.filter(|it| it["status"] == status);
    let since = since.and_then(|it| it["lastTransitionTime"].as_str()).map(str::to_owned);
    let mut next = json!({"type": kind, "status": status, "lastProbeTime": null,
        "lastTransitionTime": since.unwrap_or_else(|| rfc3339(now)),
        "observedGeneration": pod["metadata"]["generation"]});
    if let Err((reason, message)) = verdict {
        if !reason.is_empty() {
            next["reason"] = json!(reason);
        }
        if !message.is_empty() {
            next["message"] = json!(message);
        }
    }
    match conditions.iter_mut().find(|it| it["type"] == kind) {
        // The scheduler's own words stay.
        Some(slot) if kind == "PodScheduled" && slot["status"] == status => {}
        Some(slot) => *slot = next,
        None => conditions.push(next),
    }
}

#[cfg(test)]
mod tests;
