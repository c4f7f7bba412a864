//! What Reserve, Permit, PostFilter and PostBind may ask of the scheduler.

use std::{sync::Arc, time::Duration};

use super::{Cycle, CycleState, NodeInfo, NodeToStatus, Object, Outcome, PodInfo, Slot, Status};
use crate::api::{ObjectKey, Text};

/// A pod that waits at Permit.
#[derive(Clone, Debug)]
pub struct WaitingPod {
    /// The pod.
    pub pod: Arc<PodInfo>,
    /// The node it waits for.
    pub node: Text,
    /// The plugins that have not let it go yet, with the end of each one's patience on the
    /// scheduler's clock.
    pub pending_plugins: Vec<(&'static str, Duration)>,
}

/// One node on which preemption would make room.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// The node.
    pub node: Text,
    /// Pods that would go, most important first.
    pub victims: Vec<Arc<PodInfo>>,
    /// How many of them a disruption budget guards.
    pub num_pdb_violations: i64,
}

/// What a dry run of preemption found.
#[derive(Clone, Debug, Default)]
pub struct DryRun {
    /// Nodes where it would help, in the order in which they were tried.
    pub candidates: Vec<Candidate>,
    /// Why it would not help elsewhere, by position in the snapshot.
    pub statuses: Vec<(usize, Status)>,
}

/// What Reserve, Permit, PostFilter and PostBind may ask of the scheduler. There is no client in
/// it: nothing here does I/O.
pub trait Handle {
    /// Pods that are promised to `node`, of any priority.
    fn nominated_pods(&self, node: &str) -> Vec<Arc<PodInfo>>;

    /// Pods that wait at Permit.
    fn waiting_pods(&self) -> Vec<WaitingPod>;

    /// Lets a waiting pod go as far as `plugin` is concerned; it goes on when every plugin that
    /// held it has let it go. Returns whether the pod waits.
    fn allow_waiting_pod(&mut self, uid: &str, plugin: &'static str) -> bool;

    /// Ends a pod's wait with a refusal. Returns whether the pod waits.
    fn reject_waiting_pod(&mut self, uid: &str, plugin: &'static str, message: &str) -> bool;

    /// Puts pods back into the active queue, wherever in the queue they wait.
    fn activate(&mut self, pods: &[ObjectKey]);

    /// The calling plugin's own slot, which outlives the cycle.
    fn slot(&mut self) -> &mut Slot;

    /// Takes it, for the cycles to come, that a volume or a claim will be as `object` has it, until
    /// another version of it is seen ([`Listers::assume`](super::Listers::assume)).
    fn assume(&mut self, object: Object);

    /// Takes back what was assumed of the version of `object`.
    fn restore(&mut self, object: &Object);

    /// What-if: runs the profile's filters on `node` as given, counting the pods promised to it
    /// that matter (upstream: `RunFilterPluginsWithNominatedPods`).
    ///
    /// # Errors
    /// The first refusal.
    fn run_filters(&self, cx: Cycle<'_>, state: &CycleState, node: &NodeInfo) -> Outcome;

    /// What-if: tells the profile's PreFilter plugins that `pod` is on `node` now.
    ///
    /// # Errors
    /// The first refusal.
    fn run_add_pod(
        &self,
        cx: Cycle<'_>,
        state: &mut CycleState,
        pod: &PodInfo,
        node: &NodeInfo,
    ) -> Outcome;

    /// What-if: tells the profile's PreFilter plugins that `pod` is off `node` now.
    ///
    /// # Errors
    /// The first refusal.
    fn run_remove_pod(
        &self,
        cx: Cycle<'_>,
        state: &mut CycleState,
        pod: &PodInfo,
        node: &NodeInfo,
    ) -> Outcome;

    /// Tries preemption on the nodes at `positions` of the snapshot, in that order, until
    /// `candidates_max` are found: removes pods of lower priority, and reprieves as many as fit.
    ///
    /// # Errors
    /// An error of a plugin.
    fn dry_run_preemption(
        &self,
        cx: Cycle<'_>,
        state: &CycleState,
        why: &NodeToStatus,
        positions: &[usize],
        candidates_max: usize,
    ) -> Outcome<DryRun>;

    /// What the HTTP extenders with a preempt verb leave of the candidates; without such extenders
    /// all of them.
    ///
    /// # Errors
    /// The failure of an extender that is not ignorable.
    fn extend_preemption(
        &mut self,
        _cx: Cycle<'_>,
        candidates: Vec<Candidate>,
    ) -> Outcome<Vec<Candidate>> {
        Ok(candidates)
    }
}
