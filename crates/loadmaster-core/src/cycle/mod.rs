//! One scheduling cycle's search: which nodes fit, and which of them is best.
//!
//! PreFilter, the promised node first, Filter over a sample of the nodes in rotation, extenders,
//! PreScore, Score, and the choice among the best. Nothing here changes anything but the cycle's own
//! state; what follows from the choice is the [scheduler](crate::scheduler)'s.

mod extend;
mod ports;
mod sample;

use std::sync::Arc;

use loadmaster_framework::{Code, Cycle, CycleState, NodeInfo, NodeToStatus, Outcome, Status};
use rand::{Rng, RngExt};

pub use extend::{ExtenderSpec, Preempted, Prioritized, Rejected};
pub use ports::{Ports, Sequential};
pub use sample::num_feasible_nodes_to_find;

use crate::{
    meter::CallPoint,
    profile::{NodePluginScores, NominatedPods, Profile},
    report::{Diagnosis, FitError},
};

/// What a search needs beside the cycle.
pub struct Search<'a> {
    /// The plugins.
    pub profile: &'a Profile,
    /// Pods that are promised to nodes.
    pub nominated: &'a dyn NominatedPods,
    /// Extenders, in the order of the configuration.
    pub extenders: &'a [ExtenderSpec],
    /// The configuration's percentageOfNodesToScore, 0..=100; 0 is adaptive. A profile's own
    /// comes first.
    pub percentage_of_nodes_to_score: u32,
    /// Where in the list of nodes this cycle begins; moved on by the nodes that were looked at.
    pub next_start_node_index: &'a mut usize,
}

impl std::fmt::Debug for Search<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Search({:?}, from {})", self.profile, self.next_start_node_index)
    }
}

/// The node chosen, and how it was found.
#[derive(Clone, Debug)]
pub struct Choice {
    /// The node.
    pub node: Arc<NodeInfo>,
    /// How many nodes were looked at.
    pub evaluated_nodes: usize,
    /// How many of them fit.
    pub feasible_nodes: usize,
    /// The points of each feasible node; `None` where there was one alone and nothing to compare.
    pub scores: Option<(Vec<Arc<NodeInfo>>, NodePluginScores)>,
    /// Why the other nodes that were looked at lost.
    pub diagnosis: Box<Diagnosis>,
}

/// Why a search ended without a node.
#[derive(Clone, Debug)]
pub enum NoChoice {
    /// There are no nodes at all.
    NoNodes,
    /// No node fits.
    Unfit(Box<FitError>),
    /// A plugin or an extender broke.
    Broken(Status),
}

impl From<Status> for NoChoice {
    fn from(status: Status) -> Self {
        Self::Broken(status)
    }
}

/// Upstream's text where there are no nodes.
pub const NO_NODES_AVAILABLE: &str = "no nodes available to schedule pods";

impl Search<'_> {
    /// Finds a node for the pod of `cx`. Ties are drawn from `rng`.
    ///
    /// # Errors
    /// [`NoChoice`] says why there is none.
    pub fn run(
        mut self,
        cx: Cycle<'_>,
        state: &mut CycleState,
        ports: &mut dyn Ports,
        rng: &mut impl Rng,
    ) -> Result<Choice, NoChoice> {
        let all = cx.snapshot.nodes();
        if all.is_empty() {
            return Err(NoChoice::NoNodes);
        }
        let mut diagnosis =
            Diagnosis { node_to_status: NodeToStatus::new(all.len()), ..Diagnosis::default() };
        let feasible = self.find_nodes_that_fit(cx, state, ports, &mut diagnosis)?;
        let evaluated_nodes = feasible.len() + diagnosis.node_to_status.explicit().count();
        let feasible_nodes = feasible.len();
        let (node, scores) = match &feasible[..] {
            [] => {
                let fit_error = FitError { num_all_nodes: all.len(), diagnosis };
                return Err(NoChoice::Unfit(Box::new(fit_error)));
            }
            [only] => (Arc::clone(only), None),
            _ => {
                let scores = self.prioritize(cx, state, ports, &feasible)?;
                let node = Arc::clone(&feasible[select(scores.totals(), rng)]);
                (node, Some((feasible, scores)))
            }
        };
        let diagnosis = Box::new(diagnosis);
        Ok(Choice { node, evaluated_nodes, feasible_nodes, scores, diagnosis })
    }

    /// The nodes that fit, as many as are looked for; none where `diagnosis` says why.
    fn find_nodes_that_fit(
        &mut self,
        cx: Cycle<'_>,
        state: &mut CycleState,
        ports: &mut dyn Ports,
        diagnosis: &mut Diagnosis,
    ) -> Result<Vec<Arc<NodeInfo>>, NoChoice> {
        let all = cx.snapshot.nodes();
        let verdict = self.profile.run_pre_filter(cx, state);
        diagnosis.unschedulable_plugins.clone_from(&verdict.narrowing);
        let narrowed = match verdict.outcome {
            Ok(nodes) => nodes,
            Err(status) if status.is_rejected() => {
                diagnosis.pre_filter_message = status.message();
                diagnosis.add_plugin_status(&status);
                diagnosis.node_to_status.set_absent(Some(status));
                return Ok(Vec::new());
            }
            Err(status) => return Err(status.into()),
        };
        if let Some(at) = cx.snapshot.position(&cx.pod.status.nominated_node_name) {
            // A broken filter here is not the end: the search over all nodes will tell of it.
            let promised = self
                .find_nodes_that_pass(cx, state, ports, &[at], diagnosis)
                .and_then(|it| self.pass_extenders(cx, ports, it, diagnosis));
            if let Ok(found @ [_, ..]) = promised.as_deref() {
                return Ok(found.to_vec());
            }
        }
        let positions: Vec<usize> = match narrowed {
            None => (0..all.len()).collect(),
            Some(names) => {
                let plugins: Vec<_> = verdict.narrowing.into_iter().collect();
                diagnosis.node_to_status.set_absent(Some(Status::unresolvable(format!(
                    "node(s) didn't satisfy plugin(s) [{}]",
                    plugins.join(" ")
                ))));
                names.iter().filter_map(|it| cx.snapshot.position(it)).collect()
            }
        };
        let found = self.find_nodes_that_pass(cx, state, ports, &positions, diagnosis);
        let processed =
            found.as_ref().map_or(0, Vec::len) + diagnosis.node_to_status.explicit().count();
        *self.next_start_node_index = (*self.next_start_node_index + processed) % all.len();
        self.pass_extenders(cx, ports, found?, diagnosis).map_err(NoChoice::Broken)
    }

    /// The nodes at `positions` that pass the filters, from the rotating start, until as many are
    /// found as are looked for. The result is that of one look after another, however many looks
    /// the ports take at a time.
    fn find_nodes_that_pass(
        &mut self,
        cx: Cycle<'_>,
        state: &CycleState,
        ports: &mut dyn Ports,
        positions: &[usize],
        diagnosis: &mut Diagnosis,
    ) -> Outcome<Vec<Arc<NodeInfo>>> {
        let watch = self.profile.watch();
        let began = watch.now();
        let found = self.look_at_nodes(cx, state, ports, positions, diagnosis);
        let code = found.as_ref().map_or_else(Status::code, |_| Code::Success);
        watch.point(self.profile.scheduler_name(), CallPoint::Filter, began, code);
        found
    }

    fn look_at_nodes(
        &mut self,
        cx: Cycle<'_>,
        state: &CycleState,
        ports: &mut dyn Ports,
        positions: &[usize],
        diagnosis: &mut Diagnosis,
    ) -> Outcome<Vec<Arc<NodeInfo>>> {
        let all = cx.snapshot.nodes();
        let count = positions.len();
        let own = self.profile.percentage_of_nodes_to_score();
        let percentage = own.unwrap_or(self.percentage_of_nodes_to_score);
        let compares = self.profile.has_score()
            || self.extenders.iter().any(|it| it.filters || it.prioritizes);
        let wanted = if compares { num_feasible_nodes_to_find(percentage, count) } else { 1 };
        let start = *self.next_start_node_index;
        let position = |i: usize| positions[(start + i) % count];
        let mut feasible = Vec::with_capacity(wanted.min(count));
        if !self.profile.has_filter() {
            feasible.extend((0..wanted.min(count)).map(|i| Arc::clone(&all[position(i)])));
            return Ok(feasible);
        }
        let mut verdicts: Vec<Outcome> = Vec::new();
        let mut looked = 0;
        while looked < count && feasible.len() < wanted {
            let batch = ports.batch().clamp(1, count - looked);
            verdicts.clear();
            verdicts.resize(batch, Ok(()));
            let look = |i: usize| {
                let node = &all[position(looked + i)];
                self.profile.run_filter_with_nominated(cx, state, node, self.nominated)
            };
            ports.for_each_node(&look, &mut verdicts);
            for (i, verdict) in verdicts.drain(..).enumerate() {
                if feasible.len() == wanted {
                    break;
                }
                let at = position(looked + i);
                match verdict {
                    Ok(()) => feasible.push(Arc::clone(&all[at])),
                    Err(status) if status.is_rejected() => {
                        diagnosis.add_plugin_status(&status);
                        diagnosis.node_to_status.set(at, status);
                    }
                    Err(status) => return Err(status),
                }
            }
            looked += batch;
        }
        Ok(feasible)
    }

    /// The points of each feasible node.
    fn prioritize(
        &self,
        cx: Cycle<'_>,
        state: &mut CycleState,
        ports: &mut dyn Ports,
        nodes: &[Arc<NodeInfo>],
    ) -> Outcome<NodePluginScores> {
        if self.extenders.is_empty() && !self.profile.has_score() {
            return Ok(NodePluginScores::even(nodes.len()));
        }
        let skip = self.profile.run_pre_score(cx, state, nodes)?;
        let mut scores = self.profile.run_score(cx, state, nodes, skip)?;
        self.add_extender_points(cx, ports, nodes, &mut scores);
        Ok(scores)
    }
}

/// One of the positions with the highest total, each as likely as the others.
fn select(totals: &[i64], rng: &mut impl Rng) -> usize {
    let best = totals.iter().copied().max().unwrap_or(0);
    let ties = totals.iter().filter(|it| **it == best).count();
    let drawn = if ties > 1 { rng.random_range(0..ties) } else { 0 };
    let mut at = totals.iter().enumerate().filter(|(_, it)| **it == best);
    at.nth(drawn).map_or(0, |(at, _)| at)
}
