//! Carrying out a preemption: victims are marked and deleted, the last one when the others are gone.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use loadmaster_framework::{
    ActionError, ActionResult, PodInfo, Status,
    api::{ObjectKey, Text},
};

use super::{
    ConditionPatch, EventRecord, EventType, Scheduler, Work,
    binding_cycle::BindingCycle,
    known::KnownPods,
    purpose::{Eviction, Purpose},
};
use crate::meter::Observation;

/// The plugin in whose name pods are preempted in memory.
const PLUGIN: &str = "DefaultPreemption";

/// A preemption under way.
#[derive(Debug)]
struct Running {
    run: u64,
    preemptor: Arc<PodInfo>,
    node: Text,
    /// Victims whose deletion has not been answered yet, the last one apart.
    outstanding: usize,
    last: Arc<PodInfo>,
    /// Whether the last victim's turn has come.
    last_begun: bool,
    failed: bool,
    started: Option<Duration>,
}

/// Preemptions under way, by the preemptor's uid (upstream: `preemption.Executor`).
#[derive(Debug, Default)]
pub(super) struct Preemptions {
    running: BTreeMap<Text, Running>,
    runs: u64,
    /// Preemptors whose calls have all been answered, by the uid of the last victim, while that still
    /// has its place.
    ended: BTreeMap<Text, ObjectKey>,
}

impl Preemptions {
    /// Whether victims of this pod are still being deleted. Once the last one is known to be going
    /// the pod may be tried, though the answer to its deletion is not there yet.
    pub(super) fn is_running(&self, uid: &str, pods: &KnownPods) -> bool {
        self.running.get(uid).is_some_and(|it| {
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
        let count = victims.len();
        let Some(last) = victims.pop() else { return };
        self.observe(Observation::PreemptionVictims { count });
        for pod in self.queue.nominated_pods(node).to_vec() {
            if pod.priority() < preemptor.priority() {
                self.patch_status(&pod, None, Some(Text::from("")));
            }
        }
        let uid = preemptor.uid().clone();
        self.preemptions.runs += 1;
        let run = self.preemptions.runs;
        self.preemptions.running.insert(
            uid.clone(),
            Running {
                run,
                preemptor: Arc::clone(preemptor),
                node: node.clone(),
                outstanding: victims.len(),
                last,
                last_begun: false,
                failed: false,
                started: self.measured(),
            },
        );
        for victim in victims {
            self.evict(now, Eviction { preemptor: uid.clone(), run, victim });
        }
        self.continue_preemption(now, &uid);
    }

    /// Makes one victim go: in memory while it is not bound yet, else by the API.
    fn evict(&mut self, now: Duration, eviction: Eviction) {
        let uid = eviction.victim.uid();
        if self.waiting.preempt(uid, PLUGIN) || self.cancel_pre_bind(now, uid, PLUGIN) {
            self.record_preempted(&eviction, true);
            self.count_victim(now, &eviction, false);
            return;
        }
        let Some(running) = self.preemptions.running.get(&eviction.preemptor) else { return };
        let scheduler = running.preemptor.scheduler_name();
        let condition = ConditionPatch {
            kind: "DisruptionTarget",
            status: "True",
            reason: "PreemptionByScheduler",
            message: format!("{scheduler}: preempting to accommodate a higher priority pod"),
            observed_generation: eviction.victim.metadata.generation,
        };
        let work = Work::PatchPodStatus {
            pod: Arc::clone(&eviction.victim),
            condition: Some(condition),
            nominated_node_name: None,
        };
        self.give(work, Some(Purpose::MarkVictim(eviction)));
    }

    /// The victim's mark was written, or not.
    pub(super) fn victim_marked(
        &mut self,
        now: Duration,
        eviction: Eviction,
        result: &ActionResult,
    ) {
        match result {
            Ok(_) => {
                let work = Work::DeletePod { pod: Arc::clone(&eviction.victim) };
                self.give(work, Some(Purpose::DeleteVictim(eviction)));
            }
            Err(ActionError::NotFound(_)) => self.count_victim(now, &eviction, false),
            Err(_) => self.count_victim(now, &eviction, true),
        }
    }

    /// The victim was deleted, or not.
    pub(super) fn victim_deleted(
        &mut self,
        now: Duration,
        eviction: &Eviction,
        result: &ActionResult,
    ) {
        if result.is_ok() {
            self.record_preempted(eviction, false);
        }
        let failed = !matches!(result, Ok(_) | Err(ActionError::NotFound(_)));
        self.count_victim(now, eviction, failed);
    }

    /// One victim's way has ended: it is gone, or the call `failed` and it stays.
    fn count_victim(&mut self, now: Duration, eviction: &Eviction, failed: bool) {
        let preemptor = &eviction.preemptor;
        let Some(running) = self.preemptions.running.get_mut(preemptor) else { return };
        if running.run != eviction.run {
            return;
        }
        running.failed |= failed;
        if running.last_begun && running.last.uid() == eviction.victim.uid() {
            self.end_preemption(now, preemptor);
        } else {
            running.outstanding = running.outstanding.saturating_sub(1);
            self.continue_preemption(now, preemptor);
        }
    }

    /// When the others are done, the last victim's turn comes; where one failed, it is spared.
    fn continue_preemption(&mut self, now: Duration, preemptor: &Text) {
        let Some(running) = self.preemptions.running.get_mut(preemptor) else { return };
        if running.outstanding > 0 || running.last_begun {
            return;
        }
        if running.failed {
            self.end_preemption(now, preemptor);
            return;
        }
        running.last_begun = true;
        let (run, victim) = (running.run, Arc::clone(&running.last));
        self.evict(now, Eviction { preemptor: preemptor.clone(), run, victim });
    }

    fn end_preemption(&mut self, now: Duration, preemptor: &Text) {
        let Some(running) = self.preemptions.running.remove(preemptor) else { return };
        let ok = !running.failed;
        self.observe_since(running.started, |took| Observation::PreemptionDone { ok, took });
        let key = running.preemptor.key();
        if running.failed {
            // Nobody's going will wake it: it must try again by itself.
            self.activate(now, &[key]);
        } else if self.cache.get_pod(running.last.uid()).is_some() {
            self.preemptions.ended.insert(running.last.uid().clone(), key);
        } else {
            self.open_gate(now, &key);
        }
    }

    /// A pod is gone. Where it was the last victim of a preemption, the preemptor is not held back
    /// any more, even if every change that might have woken it came while it was (k/k PR#139162).
    pub(super) fn last_victim_gone(&mut self, now: Duration, victim: &Text) {
        if let Some(key) = self.preemptions.ended.remove(victim) {
            self.open_gate(now, &key);
        }
    }

    fn open_gate(&mut self, now: Duration, preemptor: &ObjectKey) {
        let gated = self.queue.get(preemptor).and_then(|(_, it)| it.gating_plugin);
        if gated == Some(PLUGIN) {
            self.activate(now, std::slice::from_ref(preemptor));
        }
    }

    fn record_preempted(&mut self, eviction: &Eviction, in_memory: bool) {
        let Eviction { preemptor, victim, .. } = eviction;
        let Some(running) = self.preemptions.running.get(preemptor) else { return };
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
