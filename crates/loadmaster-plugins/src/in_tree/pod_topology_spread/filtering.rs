//! PreFilter counts matching pods by domain; Filter refuses nodes whose domain would stand out.

use std::{collections::BTreeMap, sync::Arc};

use loadmaster_framework::{
    Candidates, Cycle, CycleState, Filter, NodeInfo, Outcome, PodInfo, PreFilter, Status,
    api::{Text, UnsatisfiableConstraintAction},
};

use super::{
    PodTopologySpread,
    constraint::{Constraint, Inclusion, has_all_keys},
    domains::Domains,
};

/// The hard constraints of the pod, and how matching pods are spread under each.
#[derive(Clone, Debug)]
pub(super) struct Hard {
    constraints: Arc<[Constraint]>,
    inclusion: Arc<Inclusion>,
    /// For each constraint.
    pub(super) domains: Vec<Domains>,
}

impl PreFilter for PodTopologySpread {
    fn pre_filter(&self, cx: Cycle<'_>, state: &mut CycleState) -> Outcome<Candidates> {
        let hard = self.hard(cx)?;
        if hard.constraints.is_empty() {
            return Ok(Candidates::Skip);
        }
        state.put(hard);
        Ok(Candidates::All)
    }

    fn add_pod(
        &self,
        cx: Cycle<'_>,
        state: &mut CycleState,
        added: &PodInfo,
        node: &NodeInfo,
    ) -> Outcome {
        if let Some(hard) = state.get_mut::<Hard>() {
            hard.shift(cx.pod, added, node, 1);
        }
        Ok(())
    }

    fn remove_pod(
        &self,
        cx: Cycle<'_>,
        state: &mut CycleState,
        removed: &PodInfo,
        node: &NodeInfo,
    ) -> Outcome {
        if let Some(hard) = state.get_mut::<Hard>() {
            hard.shift(cx.pod, removed, node, -1);
        }
        Ok(())
    }
}

impl Filter for PodTopologySpread {
    fn filter(&self, cx: Cycle<'_>, state: &CycleState, node: &NodeInfo) -> Outcome {
        match state.try_get::<Hard>() {
            Some(hard) => hard.check(node),
            None => self.hard(cx)?.check(node),
        }
    }
}

impl PodTopologySpread {
    /// Counts the matching pods of each domain.
    pub(super) fn hard(&self, cx: Cycle<'_>) -> Outcome<Hard> {
        let action = UnsatisfiableConstraintAction::DoNotSchedule;
        let constraints: Arc<[Constraint]> = self
            .constraints(cx.pod, cx.snapshot.listers(), action)
            .map_err(|error| Status::error(format!("get constraints from pod: {error}")))?
            .into();
        let inclusion = Inclusion::new(cx.pod, &constraints);
        let mut counts: Vec<BTreeMap<Text, i64>> = vec![BTreeMap::new(); constraints.len()];
        if !constraints.is_empty() {
            for node in cx.snapshot.nodes() {
                let labels = &node.node().metadata.labels;
                if !has_all_keys(labels, &constraints) {
                    continue;
                }
                let included = inclusion.of(cx.pod, node);
                for (constraint, counts) in constraints.iter().zip(&mut counts) {
                    let value = labels.get(&constraint.topology_key);
                    let Some(value) = value.filter(|_| included.by(constraint)) else {
                        continue;
                    };
                    let count = constraint.count(node.pods(), cx.pod.namespace());
                    match counts.get_mut(value) {
                        Some(sum) => *sum += count,
                        None => _ = counts.insert(value.clone(), count),
                    }
                }
            }
        }
        let domains = counts.into_iter().map(Domains::new).collect();
        Ok(Hard { constraints, inclusion: Arc::new(inclusion), domains })
    }
}

impl Hard {
    /// What-if: `moved` comes to `node` or leaves it. A terminating pod counts here, as upstream
    /// has it; a selector without requirements counts nothing, as in PreFilter.
    fn shift(&mut self, pod: &PodInfo, moved: &PodInfo, node: &NodeInfo, delta: i64) {
        let labels = &node.node().metadata.labels;
        if moved.namespace() != pod.namespace() || !has_all_keys(labels, &self.constraints) {
            return;
        }
        let included = self.inclusion.of(pod, node);
        for (constraint, domains) in self.constraints.iter().zip(&mut self.domains) {
            let counted = included.by(constraint)
                && !constraint.selector.is_empty()
                && constraint.selector.matches(&moved.metadata.labels);
            if let Some(value) = labels.get(&constraint.topology_key).filter(|_| counted) {
                domains.shift(value, delta);
            }
        }
    }

    /// Whether the pod may join the domains of `node`: none may hold more than `maxSkew` pods
    /// beyond the emptiest one.
    fn check(&self, node: &NodeInfo) -> Outcome {
        let labels = &node.node().metadata.labels;
        for (constraint, domains) in self.constraints.iter().zip(&self.domains) {
            let Some(value) = labels.get(&constraint.topology_key) else {
                return Err(Status::unresolvable(NODE_LABEL_NOT_MATCH));
            };
            let joined = domains.count(value) + i64::from(constraint.self_match);
            let skew = joined - domains.lowest(constraint.min_domains);
            if skew > i64::from(constraint.max_skew) {
                return Err(Status::unschedulable(CONSTRAINTS_NOT_MATCH));
            }
        }
        Ok(())
    }
}

const CONSTRAINTS_NOT_MATCH: &str = "node(s) didn't match pod topology spread constraints";
const NODE_LABEL_NOT_MATCH: &str =
    "node(s) didn't match pod topology spread constraints (missing required label)";
