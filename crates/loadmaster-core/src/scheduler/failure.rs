//! What happens to a pod whose try came to nothing.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use loadmaster_framework::{NodeToStatus, Nominating, PodInfo, QueuedPodInfo, Status, api::Text};

use super::{ConditionPatch, EventRecord, EventType, Scheduler, Work, instance::Instance};
use crate::{
    meter::{AttemptResult, Observation},
    report::{Diagnosis, FitError},
};

/// Why a try came to nothing, as the queue and the user are told.
#[derive(Clone, Debug)]
pub(super) struct Failure {
    /// `Unschedulable` or `SchedulerError`, the condition's reason.
    reason: &'static str,
    /// What the user reads.
    pub(super) message: String,
    unschedulable_plugins: BTreeSet<&'static str>,
    pending_plugins: BTreeSet<&'static str>,
}

impl Failure {
    fn result(&self) -> AttemptResult {
        if self.reason == SCHEDULER_ERROR {
            AttemptResult::Error
        } else {
            AttemptResult::Unschedulable
        }
    }

    /// A plugin, an extender or the server broke.
    pub(super) fn error(message: String) -> Self {
        let (unschedulable_plugins, pending_plugins) = Default::default();
        Self { reason: SCHEDULER_ERROR, message, unschedulable_plugins, pending_plugins }
    }

    /// It fits nowhere, and no plugin is to blame.
    pub(super) fn unschedulable(message: String) -> Self {
        Self { reason: "Unschedulable", ..Self::error(message) }
    }

    /// It fits nowhere.
    pub(super) fn fit_error(error: &FitError) -> Self {
        Self {
            unschedulable_plugins: error.diagnosis.unschedulable_plugins.clone(),
            pending_plugins: error.diagnosis.pending_plugins.clone(),
            ..Self::unschedulable(error.to_string())
        }
    }

    /// It was refused, or something broke, after a node was chosen.
    pub(super) fn at_node(status: &Status) -> Self {
        if !status.is_rejected() {
            return Self::error(status.message());
        }
        let mut diagnosis =
            Diagnosis { node_to_status: NodeToStatus::new(1), ..Diagnosis::default() };
        diagnosis.node_to_status.set(0, status.clone());
        diagnosis.add_plugin_status(status);
        Self::fit_error(&FitError { num_all_nodes: 1, diagnosis })
    }
}

const SCHEDULER_ERROR: &str = "SchedulerError";

/// The API's limit for an event's note, in bytes.
const NOTE_BYTES_MAX: usize = 1024;

impl Scheduler {
    /// Puts the pod back where it belongs, and tells the user why. The try began at `started`.
    pub(super) fn handle_failure(
        &mut self,
        (started, now): (Duration, Duration),
        instance: &Instance,
        mut info: QueuedPodInfo,
        failure: Failure,
        nominating: &Nominating,
    ) {
        let name = instance.scheduler_name().clone();
        let result = failure.result();
        self.observe_since(Some(started), |took| Observation::Attempt {
            profile: &name,
            result,
            took,
        });
        let uid = info.pod.uid().clone();
        let Some(current) = self.pods.get(&uid).filter(|it| it.node_name().is_none()).cloned()
        else {
            // It is gone, or bound by others: nothing is to be tried or told.
            self.queue.done(&uid);
            return;
        };
        info.pod = Arc::clone(&current);
        info.unschedulable_plugins = failure.unschedulable_plugins;
        info.pending_plugins = failure.pending_plugins;
        match nominating {
            Nominating::Node(node) if self.queue.nominated_node(&uid).is_some() => {
                let pod = current.key();
                tracing::warn!(%pod, %node, "pods are preempted again: others took the room");
                self.observe(Observation::PreemptsAgain { profile: &name });
                info.preempts_again = true;
            }
            Nominating::Clear => info.preempts_again = false,
            Nominating::Node(_) | Nominating::Keep => {}
        }
        if self.profiles.get(current.scheduler_name()).is_some() {
            let (queue, host) = self.queue_and_host();
            if let Err(error) = queue.add_unschedulable_if_not_present(&host, now, info) {
                tracing::warn!(%error, "pod came back to the queue twice");
            }
            self.queue.add_nominated_pod(Arc::clone(&current), nominating);
        } else {
            // Its profile has gone meanwhile.
            self.queue.done(&uid);
        }
        let note = truncated(&failure.message);
        self.record(&current, &name, EventType::Warning, "FailedScheduling", "Scheduling", note);
        let condition = ConditionPatch {
            kind: "PodScheduled",
            status: "False",
            reason: failure.reason,
            message: failure.message,
            observed_generation: current.metadata.generation,
        };
        let node = match nominating {
            Nominating::Keep => None,
            Nominating::Clear => Some(Text::from("")),
            Nominating::Node(node) => Some(node.clone()),
        };
        self.patch_status(&current, Some(condition), node);
    }

    /// Hands out an event about `pod`.
    pub(super) fn record(
        &mut self,
        pod: &Arc<PodInfo>,
        profile: &Text,
        kind: EventType,
        reason: &'static str,
        action: &'static str,
        note: String,
    ) {
        let record = EventRecord {
            regarding: Arc::clone(pod),
            related: None,
            kind,
            reason,
            action,
            note,
            reporter: profile.clone(),
        };
        self.give(Work::Record(record), None);
    }
}

/// `message`, cut where an event's note ends, in upstream's way.
fn truncated(message: &str) -> String {
    const SUFFIX: &str = " ...";
    if message.len() <= NOTE_BYTES_MAX {
        return message.to_owned();
    }
    let end = message.floor_char_boundary(NOTE_BYTES_MAX - SUFFIX.len());
    format!("{}{SUFFIX}", &message[..end])
}
