//! The handle that plugins get, made of the scheduler's parts for the length of one call.

use std::{sync::Arc, time::Duration};

use loadmaster_framework::{
    Candidate, Cycle, CycleState, DryRun, Handle, Listers, NodeInfo, NodeToStatus, Object, Outcome,
    PodInfo, Slot, WaitingPod, api::ObjectKey,
};

use super::{
    Scheduler,
    instance::{Instance, SlotStore},
    waiting::WaitingPods,
};
use crate::{
    cycle::{ExtenderSpec, Ports},
    preemption::{self, Preemption},
    profile::{Handles, NominatedPods, Profile},
};

/// What plugins may reach during a cycle, beside the cycle itself. What they ask for that touches
/// the queue is noted here, and done when the point is over.
pub(super) struct Reach<'a> {
    pub(super) instance: &'a Instance,
    pub(super) slots: &'a mut SlotStore,
    pub(super) nominated: &'a dyn NominatedPods,
    pub(super) waiting: &'a mut WaitingPods,
    /// Where plugins note what they have decided about volumes and claims.
    pub(super) listers: &'a mut Listers,
    /// Pods to put back into the active queue.
    pub(super) activate: &'a mut Vec<ObjectKey>,
    /// The way to the extenders; only while a cycle runs.
    ports: Option<&'a mut dyn Ports>,
}

impl Scheduler {
    /// Calls plugins of a profile about `pod` with handles, and does what they ask of the queue.
    pub(super) fn with_handles<R>(
        &mut self,
        now: Duration,
        instance: &Instance,
        pod: &PodInfo,
        ports: Option<&mut dyn Ports>,
        call: impl FnOnce(&Profile, Cycle<'_>, &mut Reach<'_>) -> R,
    ) -> R {
        let mut activate = Vec::new();
        let name = instance.scheduler_name();
        let cx = Cycle { pod, snapshot: &self.snapshot, profile: name, now };
        let mut reach = Reach {
            instance,
            slots: &mut self.slots,
            nominated: &self.queue,
            waiting: &mut self.waiting,
            listers: self.cache.listers_mut(),
            activate: &mut activate,
            // Not `ports` as it is: the arm makes the borrow as short as the others.
            ports: match ports {
                Some(ports) => Some(ports),
                None => None,
            },
        };
        let result = call(instance, cx, &mut reach);
        self.activate(now, &activate);
        result
    }
}

impl Handles for Reach<'_> {
    fn with(&mut self, plugin: usize, call: &mut dyn FnMut(&mut dyn Handle)) {
        call(&mut PluginHandle {
            profile: self.instance,
            slot: self.slots.get_mut(self.instance.slot(plugin)),
            nominated: self.nominated,
            waiting: self.waiting,
            listers: self.listers,
            activate: self.activate,
            extenders: self.instance.extenders(),
            ports: match &mut self.ports {
                Some(ports) => Some(&mut **ports),
                None => None,
            },
        });
    }
}

struct PluginHandle<'a> {
    profile: &'a Profile,
    slot: &'a mut Slot,
    nominated: &'a dyn NominatedPods,
    waiting: &'a mut WaitingPods,
    listers: &'a mut Listers,
    activate: &'a mut Vec<ObjectKey>,
    extenders: &'a [ExtenderSpec],
    ports: Option<&'a mut dyn Ports>,
}

impl Handle for PluginHandle<'_> {
    fn nominated_pods(&self, node: &str) -> Vec<Arc<PodInfo>> {
        self.nominated.for_node(node).to_vec()
    }

    fn waiting_pods(&self) -> Vec<WaitingPod> {
        self.waiting.list()
    }

    fn allow_waiting_pod(&mut self, uid: &str, plugin: &'static str) -> bool {
        self.waiting.allow(uid, plugin)
    }

    fn reject_waiting_pod(&mut self, uid: &str, plugin: &'static str, message: &str) -> bool {
        self.waiting.reject(uid, plugin, message)
    }

    fn activate(&mut self, pods: &[ObjectKey]) {
        self.activate.extend_from_slice(pods);
    }

    fn slot(&mut self) -> &mut Slot {
        self.slot
    }

    fn assume(&mut self, object: Object) {
        self.listers.assume(object);
    }

    fn restore(&mut self, object: &Object) {
        self.listers.restore(object);
    }

    fn run_filters(&self, cx: Cycle<'_>, state: &CycleState, node: &NodeInfo) -> Outcome {
        self.profile.run_filter_with_nominated(cx, state, node, self.nominated)
    }

    fn run_add_pod(
        &self,
        cx: Cycle<'_>,
        state: &mut CycleState,
        pod: &PodInfo,
        node: &NodeInfo,
    ) -> Outcome {
        self.profile.run_add_pod(cx, state, pod, node)
    }

    fn run_remove_pod(
        &self,
        cx: Cycle<'_>,
        state: &mut CycleState,
        pod: &PodInfo,
        node: &NodeInfo,
    ) -> Outcome {
        self.profile.run_remove_pod(cx, state, pod, node)
    }

    fn dry_run_preemption(
        &self,
        cx: Cycle<'_>,
        state: &CycleState,
        _why: &NodeToStatus,
        positions: &[usize],
        candidates_max: usize,
    ) -> Outcome<DryRun> {
        let engine = Preemption { profile: self.profile, nominated: self.nominated };
        engine.dry_run(cx, state, positions, candidates_max)
    }

    fn extend_preemption(
        &mut self,
        cx: Cycle<'_>,
        candidates: Vec<Candidate>,
    ) -> Outcome<Vec<Candidate>> {
        let Some(ports) = self.ports.as_deref_mut() else { return Ok(candidates) };
        let ask = || preemption::ask_extenders(self.extenders, ports, cx, candidates);
        self.profile.watch().outside(ask)
    }
}
