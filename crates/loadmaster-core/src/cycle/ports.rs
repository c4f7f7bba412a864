//! The two things that a cycle needs from its caller while it runs.

use std::sync::Arc;

use loadmaster_framework::{Candidate, NodeInfo, Outcome, PodInfo};

use super::{ExtenderSpec, Preempted, Prioritized, Rejected};

/// What a cycle needs from its caller while it runs: calls to HTTP extenders, and hands.
pub trait Ports {
    /// Asks an extender which of `nodes` it refuses.
    ///
    /// # Errors
    /// What went wrong; the cycle fails unless the extender is ignorable.
    fn extend_filter(
        &mut self,
        extender: &ExtenderSpec,
        pod: &PodInfo,
        nodes: &[Arc<NodeInfo>],
    ) -> Result<Vec<Rejected>, String>;

    /// Asks an extender to give each of `nodes` 0..=10 points.
    ///
    /// # Errors
    /// What went wrong; the extender then gives no points.
    fn extend_prioritize(
        &mut self,
        extender: &ExtenderSpec,
        pod: &PodInfo,
        nodes: &[Arc<NodeInfo>],
    ) -> Result<Vec<Prioritized>, String>;

    /// Asks an extender which of the candidates of a preemption it can live with, and with which
    /// victims.
    ///
    /// # Errors
    /// What went wrong; the cycle fails unless the extender is ignorable.
    fn extend_preempt(
        &mut self,
        extender: &ExtenderSpec,
        pod: &PodInfo,
        candidates: &[Candidate],
    ) -> Result<Vec<Preempted>, String>;

    /// How many nodes are looked at at a time. More than one wastes looks at the end of a search
    /// and changes nothing else.
    fn batch(&self) -> usize {
        1
    }

    /// Fills `verdicts` with `look(i)` for each index, on as many threads as the caller likes.
    fn for_each_node(
        &mut self,
        look: &(dyn Fn(usize) -> Outcome + Sync),
        verdicts: &mut [Outcome],
    ) {
        for (i, verdict) in verdicts.iter_mut().enumerate() {
            *verdict = look(i);
        }
    }
}

/// One look after another, and no extenders.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sequential;

impl Ports for Sequential {
    fn extend_filter(
        &mut self,
        extender: &ExtenderSpec,
        _: &PodInfo,
        _: &[Arc<NodeInfo>],
    ) -> Result<Vec<Rejected>, String> {
        Err(format!("no way to call extender {}", extender.name))
    }

    fn extend_prioritize(
        &mut self,
        extender: &ExtenderSpec,
        _: &PodInfo,
        _: &[Arc<NodeInfo>],
    ) -> Result<Vec<Prioritized>, String> {
        Err(format!("no way to call extender {}", extender.name))
    }

    fn extend_preempt(
        &mut self,
        extender: &ExtenderSpec,
        _: &PodInfo,
        _: &[Candidate],
    ) -> Result<Vec<Preempted>, String> {
        Err(format!("no way to call extender {}", extender.name))
    }
}
