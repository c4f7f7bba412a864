//! PreScore counts matching pods by domain; Score and normalising prefer the emptier domains.

use std::{collections::BTreeMap, sync::Arc};

use loadmaster_framework::{
    Cycle, CycleState, Interest, NodeInfo, NodeScore, Outcome, PreScore, Score, Status,
    api::{Text, UnsatisfiableConstraintAction},
};

use super::{
    PodTopologySpread,
    constraint::{Constraint, Inclusion, has_all_keys},
};

/// The soft constraints of the pod, and how matching pods are spread under each.
#[derive(Clone, Debug)]
struct Soft {
    constraints: Vec<Constraint>,
    /// Pods of each domain that has a feasible node; empty for a constraint whose domains are
    /// single nodes, which are counted when they are scored.
    counts: Vec<BTreeMap<Text, i64>>,
    /// What one pod weighs under each constraint: the more domains, the more, so that a constraint
    /// of few and full domains does not drown the others.
    weights: Vec<f64>,
    /// Whether a node without all the labels is ranked last instead of by those it has.
    requires_all: bool,
}

impl PreScore for PodTopologySpread {
    fn pre_score(
        &self,
        cx: Cycle<'_>,
        state: &mut CycleState,
        nodes: &[Arc<NodeInfo>],
    ) -> Outcome<Interest> {
        if cx.snapshot.nodes().is_empty() {
            return Ok(Interest::Skip);
        }
        let soft = self.soft(cx, nodes)?;
        if soft.constraints.is_empty() {
            return Ok(Interest::Skip);
        }
        state.put(soft);
        Ok(Interest::Score)
    }
}

impl Score for PodTopologySpread {
    fn score(&self, cx: Cycle<'_>, state: &CycleState, node: &NodeInfo) -> Outcome<i64> {
        match state.try_get::<Soft>() {
            Some(soft) => Ok(soft.score(cx, node)),
            None => Ok(self.soft(cx, cx.snapshot.nodes())?.score(cx, node)),
        }
    }

    fn normalize(
        &self,
        cx: Cycle<'_>,
        state: &CycleState,
        scores: &mut [NodeScore<'_>],
    ) -> Outcome {
        match state.try_get::<Soft>() {
            Some(soft) => soft.normalize(scores),
            None => self.soft(cx, cx.snapshot.nodes())?.normalize(scores),
        }
        Ok(())
    }
}

impl PodTopologySpread {
    /// Counts the matching pods of the domains of `feasible` nodes.
    fn soft(&self, cx: Cycle<'_>, feasible: &[Arc<NodeInfo>]) -> Outcome<Soft> {
        let action = UnsatisfiableConstraintAction::ScheduleAnyway;
        let constraints = self
            .constraints(cx.pod, cx.snapshot.listers(), action)
            .map_err(|error| Status::error(format!("calculating preScoreState: {error}")))?;
        let own = !cx.pod.spec.topology_spread_constraints.is_empty();
        // Under the built-in defaults a node without a zone can still be ranked among nodes.
        let requires_all = own || !self.system_defaulted;
        let mut soft = Soft { constraints, counts: Vec::new(), weights: Vec::new(), requires_all };
        if !soft.constraints.is_empty() {
            soft.find_domains(feasible);
            soft.count(cx);
        }
        Ok(soft)
    }
}

impl Soft {
    /// Notes the domains of the feasible nodes, each still empty. A node without the label is of
    /// a domain without a name, which counts among the domains.
    fn find_domains(&mut self, feasible: &[Arc<NodeInfo>]) {
        self.counts = vec![BTreeMap::new(); self.constraints.len()];
        let mut ranked = 0;
        for node in feasible {
            if !self.ranks(node) {
                continue;
            }
            ranked += 1;
            let labels = &node.node().metadata.labels;
            for (constraint, counts) in self.constraints.iter().zip(&mut self.counts) {
                if !constraint.is_per_node() {
                    let value = labels.get(&constraint.topology_key).cloned().unwrap_or_default();
                    counts.entry(value).or_insert(0);
                }
            }
        }
        let weight = |(constraint, counts): (&Constraint, &BTreeMap<Text, i64>)| {
            let domains = if constraint.is_per_node() { ranked } else { counts.len() };
            ((domains + 2) as f64).ln()
        };
        self.weights = self.constraints.iter().zip(&self.counts).map(weight).collect();
    }

    /// Counts the matching pods of all nodes into the noted domains.
    fn count(&mut self, cx: Cycle<'_>) {
        let inclusion = Inclusion::new(cx.pod, &self.constraints);
        for node in cx.snapshot.nodes() {
            if !self.ranks(node) {
                continue;
            }
            let included = inclusion.of(cx.pod, node);
            let labels = &node.node().metadata.labels;
            for (constraint, counts) in self.constraints.iter().zip(&mut self.counts) {
                let value = labels.get(&constraint.topology_key).map_or("", |it| it);
                if let Some(sum) = counts.get_mut(value).filter(|_| included.by(constraint)) {
                    *sum += constraint.count(node.pods(), cx.pod.namespace());
                }
            }
        }
    }

    /// Whether the node is ranked, rather than put last.
    fn ranks(&self, node: &NodeInfo) -> bool {
        !self.requires_all || has_all_keys(&node.node().metadata.labels, &self.constraints)
    }

    /// The weighted count of matching pods in the domains of `node`.
    fn score(&self, cx: Cycle<'_>, node: &NodeInfo) -> i64 {
        if !self.ranks(node) {
            return 0;
        }
        let labels = &node.node().metadata.labels;
        let mut score = 0.0;
        for (index, constraint) in self.constraints.iter().enumerate() {
            let Some(value) = labels.get(&constraint.topology_key) else { continue };
            let count = if constraint.is_per_node() {
                constraint.count(node.pods(), cx.pod.namespace())
            } else {
                self.counts[index].get(value).copied().unwrap_or(0)
            };
            // `maxSkew - 1` waters differences down: the more skew is tolerated, the less it
            // matters.
            score += count as f64 * self.weights[index] + f64::from(constraint.max_skew - 1);
        }
        #[expect(clippy::cast_possible_truncation, reason = "a cast saturates, as it should")]
        let score = score.round() as i64;
        score
    }

    /// The emptiest node gets all points, the others less by their distance from it relative to
    /// the fullest; nodes that are not ranked get none.
    fn normalize(&self, scores: &mut [NodeScore<'_>]) {
        let ranked = scores.iter().filter(|it| self.ranks(it.node));
        let (min, max) = ranked
            .map(|it| i128::from(it.score))
            .fold((i128::MAX, 0), |(min, max), it| (min.min(it), max.max(it)));
        for score in scores {
            score.score = if !self.ranks(score.node) {
                NodeScore::MIN
            } else if max == 0 {
                NodeScore::MAX
            } else {
                let scaled =
                    i128::from(NodeScore::MAX) * (max + min - i128::from(score.score)) / max;
                i64::try_from(scaled).unwrap_or(NodeScore::MAX)
            };
        }
    }
}
