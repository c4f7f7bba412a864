//! The handle that plugins get in a trial: it answers questions, and notes what was asked for.

use std::{cell::RefCell, sync::Arc};

use loadmaster_core::{
    preemption::Preemption,
    profile::{Handles, NominatedPods, Profile, Slots},
};
use loadmaster_framework::{
    Candidate, Cycle, CycleState, DryRun, Handle, NodeInfo, NodeToStatus, Object, Outcome, PodInfo,
    Slot, WaitingPod,
    api::{ObjectKey, Text},
};

/// What became of a node on which preemption was tried.
#[derive(Clone, Debug)]
pub struct PreemptionTried {
    /// The node.
    pub node: Text,
    /// Who would have to go, or why that would not help.
    pub outcome: Outcome<Candidate>,
}

/// What plugins may reach in a trial. No pod waits at Permit; what they ask for is noted.
pub(crate) struct Desk<'a> {
    profile: &'a Profile,
    nominated: &'a dyn NominatedPods,
    slots: Slots,
    /// What became of the nodes on which preemption was tried.
    tried: RefCell<Vec<PreemptionTried>>,
}

impl<'a> Desk<'a> {
    pub(crate) fn new(profile: &'a Profile, nominated: &'a dyn NominatedPods) -> Self {
        let slots = Slots::new(profile.hooks().len());
        Self { profile, nominated, slots, tried: RefCell::default() }
    }

    /// What became of the nodes on which preemption was tried, by name.
    pub(crate) fn into_tried(self) -> Vec<PreemptionTried> {
        let mut tried = self.tried.into_inner();
        tried.sort_by(|a, b| a.node.cmp(&b.node));
        tried
    }
}

impl Handles for Desk<'_> {
    fn with(&mut self, plugin: usize, call: &mut dyn FnMut(&mut dyn Handle)) {
        call(&mut DeskHandle { plugin, desk: self });
    }
}

struct DeskHandle<'d, 'a> {
    plugin: usize,
    desk: &'d mut Desk<'a>,
}

impl Handle for DeskHandle<'_, '_> {
    fn nominated_pods(&self, node: &str) -> Vec<Arc<PodInfo>> {
        self.desk.nominated.for_node(node).to_vec()
    }

    fn waiting_pods(&self) -> Vec<WaitingPod> {
        Vec::new()
    }

    fn allow_waiting_pod(&mut self, _: &str, _: &'static str) -> bool {
        false
    }

    fn reject_waiting_pod(&mut self, _: &str, _: &'static str, _: &str) -> bool {
        false
    }

    fn activate(&mut self, _: &[ObjectKey]) {}

    /// A trial ends before anyone could see it.
    fn assume(&mut self, _: Object) {}

    fn restore(&mut self, _: &Object) {}

    fn slot(&mut self) -> &mut Slot {
        self.desk.slots.get_mut(self.plugin)
    }

    fn run_filters(&self, cx: Cycle<'_>, state: &CycleState, node: &NodeInfo) -> Outcome {
        self.desk.profile.run_filter_with_nominated(cx, state, node, self.desk.nominated)
    }

    fn run_add_pod(
        &self,
        cx: Cycle<'_>,
        state: &mut CycleState,
        pod: &PodInfo,
        node: &NodeInfo,
    ) -> Outcome {
        self.desk.profile.run_add_pod(cx, state, pod, node)
    }

    fn run_remove_pod(
        &self,
        cx: Cycle<'_>,
        state: &mut CycleState,
        pod: &PodInfo,
        node: &NodeInfo,
    ) -> Outcome {
        self.desk.profile.run_remove_pod(cx, state, pod, node)
    }

    fn dry_run_preemption(
        &self,
        cx: Cycle<'_>,
        state: &CycleState,
        _: &NodeToStatus,
        positions: &[usize],
        candidates_max: usize,
    ) -> Outcome<DryRun> {
        let engine = Preemption { profile: self.desk.profile, nominated: self.desk.nominated };
        let run = engine.dry_run(cx, state, positions, candidates_max)?;
        let found = run.candidates.iter().map(|it| (it.node.clone(), Ok(it.clone())));
        let node = |at: usize| cx.snapshot.nodes()[at].name().clone();
        let refused = run.statuses.iter().map(|(at, it)| (node(*at), Err(it.clone())));
        let tried = found.chain(refused).map(|(node, outcome)| PreemptionTried { node, outcome });
        self.desk.tried.borrow_mut().extend(tried);
        Ok(run)
    }
}
