//! Carrying out a preemption: victims are marked and deleted, the last one when the others are gone.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use loadmaster_framework::{
    ActionError, ActionResult, PodInfo, Status,
    api::{ObjectKey, Text},
};

use super::{
    ConditionPatch, EventRecord, EventType, Purpose, Scheduler, Work, binding_cycle::BindingCycle,
    known::KnownPods,
};

/// The plugin in whose name pods are preempted in memory.
const PLUGIN: &str = "DefaultPreemption";

/// A preemption under way.
#[derive(Debug)]
struct Running {
    preemptor: Arc<PodInfo>,
    node: Text,
    /// Victims whose deletion has not been answered yet, the last one apart.
    outstanding: usize,
    last: Arc<PodInfo>,
    /// Whether the last victim's turn has come.
    last_begun: bool,
    failed: bool,
}

/// Preemptions under way, by the preemptor's uid (upstream: `preemption.Executor`).
#[derive(Debug, Default)]
pub(super) struct Preemptions(BTreeMap<Text, Running>);

impl Preemptions {
    /// Whether victims of this pod are still being deleted. Once the last one is known to be going
    /// the pod may be tried, though the answer to its deletion is not there yet.
    pub(super) fn is_running(&self, uid: &str, pods: &KnownPods) -> bool {
        self.0.get(uid).is_some_and(|it| {
            !it.last_begun || pods.get(it.last.uid()).is_some_and(|last| !last.is_terminating())
        })
    }
}

impl Scheduler {
    /// Begins to make room on `node` for `preemptor`. Victims that are going already need no call.
    pub(super) fn preempt(
        &mut self,
        now: Duration,
        preemptor: &Arc<PodInfo>,
        node: &Text,
        victims: &[Arc<PodInfo>],
    ) {
        let mut victims: Vec<_> =
            victims.iter().filter(|it| !it.is_terminating()).cloned().collect();
        let Some(last) = victims.pop() else { return };
        for pod in self.queue.nominated_pods(node).to_vec() {
            if pod.priority() < preemptor.priority() {
                self.patch_status(&pod, None, Some(Text::from("")));
            }
        }
        let uid = preemptor.uid().clone();
        self.preemptions.0.insert(
            uid.clone(),
            Running {
                preemptor: Arc::clone(preemptor),
                node: node.clone(),
                outstanding: victims.len(),
                last,
                last_begun: false,
                failed: false,
            },
        );
        for victim in victims {
            self.evict(now, &uid, &victim);
        }
        self.continue_preemption(now, &uid);
    }

    /// Makes one victim go: in memory while it is not bound yet, else by the API.
    fn evict(&mut self, now: Duration, preemptor: &Text, victim: &Arc<PodInfo>) {
        let cancelled = self.waiting.preempt(victim.uid(), PLUGIN)
            || self.cancel_pre_bind(now, victim.uid(), PLUGIN);
        if cancelled {
            self.record_preempted(preemptor, victim, true);
            self.victim_gone(now, preemptor, victim);
            return;
        }
        let scheduler = match self.preemptions.0.get(preemptor) {
            Some(running) => running.preemptor.scheduler_name().to_owned(),
            None => return,
        };
        let condition = ConditionPatch {
            kind: "DisruptionTarget",
            status: "True",
            reason: "PreemptionByScheduler",
            message: format!("{scheduler}: preempting to accommodate a higher priority pod"),
            observed_generation: victim.metadata.generation,
        };
        let work = Work::PatchPodStatus {
            pod: Arc::clone(victim),
            condition: Some(condition),
            nominated_node_name: None,
        };
        let (preemptor, victim) = (preemptor.clone(), Arc::clone(victim));
        self.give(work, Some(Purpose::MarkVictim { preemptor, victim }));
    }

    /// The victim's mark was written, or not.
    pub(super) fn victim_marked(
        &mut self,
        now: Duration,
        preemptor: &Text,
        victim: Arc<PodInfo>,
        result: &ActionResult,
    ) {
        match result {
            Ok(_) => {
                let work = Work::DeletePod { pod: Arc::clone(&victim) };
                let preemptor = preemptor.clone();
                self.give(work, Some(Purpose::DeleteVictim { preemptor, victim }));
            }
            Err(ActionError::NotFound(_)) => self.victim_gone(now, preemptor, &victim),
            Err(_) => self.victim_stays(now, preemptor, &victim),
        }
    }

    /// The victim was deleted, or not.
    pub(super) fn victim_deleted(
        &mut self,
        now: Duration,
        preemptor: &Text,
        victim: &Arc<PodInfo>,
        result: &ActionResult,
    ) {
        match result {
            Ok(_) => {
                self.record_preempted(preemptor, victim, false);
                self.victim_gone(now, preemptor, victim);
            }
            Err(ActionError::NotFound(_)) => self.victim_gone(now, preemptor, victim),
            Err(_) => self.victim_stays(now, preemptor, victim),
        }
    }

    fn victim_gone(&mut self, now: Duration, preemptor: &Text, victim: &Arc<PodInfo>) {
        self.count_victim(now, preemptor, victim, false);
    }

    fn victim_stays(&mut self, now: Duration, preemptor: &Text, victim: &Arc<PodInfo>) {
        self.count_victim(now, preemptor, victim, true);
    }

    fn count_victim(
        &mut self,
        now: Duration,
        preemptor: &Text,
        victim: &Arc<PodInfo>,
        failed: bool,
    ) {
        let Some(running) = self.preemptions.0.get_mut(preemptor) else { return };
        running.failed |= failed;
        if running.last_begun && running.last.uid() == victim.uid() {
            self.end_preemption(now, preemptor);
        } else {
            running.outstanding = running.outstanding.saturating_sub(1);
            self.continue_preemption(now, preemptor);
        }
    }

    /// When the others are done, the last victim's turn comes; where one failed, it is spared.
    fn continue_preemption(&mut self, now: Duration, preemptor: &Text) {
        let Some(running) = self.preemptions.0.get_mut(preemptor) else { return };
        if running.outstanding > 0 || running.last_begun {
            return;
        }
        if running.failed {
            self.end_preemption(now, preemptor);
            return;
        }
        running.last_begun = true;
        let last = Arc::clone(&running.last);
        self.evict(now, preemptor, &last);
    }

    fn end_preemption(&mut self, now: Duration, preemptor: &Text) {
        let Some(running) = self.preemptions.0.remove(preemptor) else { return };
        if running.failed {
            // Nobody's going will wake it: it must try again by itself.
            self.activate(now, &[running.preemptor.key()]);
        }
    }

    fn record_preempted(&mut self, preemptor: &Text, victim: &Arc<PodInfo>, in_memory: bool) {
        let Some(running) = self.preemptions.0.get(preemptor) else { return };
        let mut note = format!("Preempted by pod {preemptor} on node {}", running.node);
        if in_memory {
            note.push_str(" (in kube-scheduler memory).");
        }
        let record = EventRecord {
            regarding: Arc::clone(victim),
            related: Some(Arc::clone(&running.preemptor)),
            kind: EventType::Normal,
            reason: "Preempted",
            action: "Preempting",
            note,
            reporter: Text::from(running.preemptor.scheduler_name()),
        };
        self.give(Work::Record(record), None);
    }

    /// Ends a binding that is still before the binding itself, for a preemptor's sake.
    fn cancel_pre_bind(&mut self, now: Duration, uid: &Text, plugin: &str) -> bool {
        if !self.bindings.get(uid).is_some_and(BindingCycle::is_before_bind) {
            return false;
        }
        let status = Status::error(format!("preempted by {plugin}"));
        self.fail_binding(now, uid, &status);
        true
    }

    /// Puts pods back into the active queue, wherever they wait in it.
    pub(super) fn activate(&mut self, now: Duration, pods: &[ObjectKey]) {
        let (queue, host) = self.queue_and_host();
        queue.activate(&host, now, pods);
    }
}
