//! Where HTTP extenders take part in a search.

use std::{collections::BTreeSet, sync::Arc};

use loadmaster_config::Extender;
use loadmaster_framework::{
    Cycle, NodeInfo, NodeScore, Outcome, PodInfo, Status,
    api::{ResourceList, Text},
};

use super::{Ports, Search};
use crate::{profile::NodePluginScores, report::Diagnosis};

/// What the core must know of an extender; its address and credentials are the process's.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExtenderSpec {
    /// Its name in messages: its URL prefix.
    pub name: String,
    /// Whether it has a filter verb.
    pub filters: bool,
    /// Whether it has a prioritize verb.
    pub prioritizes: bool,
    /// Whether it has a preempt verb.
    pub preempts: bool,
    /// Whether it has a bind verb.
    pub binds: bool,
    /// What its points are multiplied by.
    pub weight: i64,
    /// Whether its failure is ignored.
    pub ignorable: bool,
    /// Resources that make a pod its business; empty makes every pod so.
    pub managed_resources: BTreeSet<Text>,
}

impl From<&Extender> for ExtenderSpec {
    fn from(extender: &Extender) -> Self {
        let managed = extender.managed_resources.iter();
        Self {
            name: extender.url_prefix.clone(),
            filters: !extender.filter_verb.is_empty(),
            prioritizes: !extender.prioritize_verb.is_empty(),
            preempts: !extender.preempt_verb.is_empty(),
            binds: !extender.bind_verb.is_empty(),
            weight: extender.weight,
            ignorable: extender.ignorable,
            managed_resources: managed.map(|it| Text::from(&*it.name)).collect(),
        }
    }
}

/// The name under which refusals by extenders are counted (upstream: `ExtenderName`).
const EXTENDER_NAME: &str = "Extender";
/// The most points an extender gives (upstream: `MaxExtenderPriority`).
const MAX_EXTENDER_PRIORITY: i64 = 10;

/// A node that an extender refuses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rejected {
    /// The node's name.
    pub node: Text,
    /// Why; empty where the extender gives no reason.
    pub message: String,
    /// Whether preemption cannot help.
    pub unresolvable: bool,
}

/// Points that an extender gives a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prioritized {
    /// The node's name.
    pub node: Text,
    /// 0..=10.
    pub score: i64,
}

/// A candidate of a preemption that an extender can live with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Preempted {
    /// The node's name.
    pub node: Text,
    /// The uids of the pods that would go.
    pub victims: Vec<Text>,
    /// How many of them a disruption budget guards.
    pub num_pdb_violations: i64,
}

impl ExtenderSpec {
    /// Whether the pod is the extender's business: it manages every pod, or a resource that one of
    /// the pod's containers asks for.
    pub fn is_interested(&self, pod: &PodInfo) -> bool {
        let managed =
            |list: &ResourceList| list.iter().any(|(it, _)| self.managed_resources.contains(it));
        self.managed_resources.is_empty()
            || pod
                .all_containers()
                .any(|it| managed(&it.resources.requests) || managed(&it.resources.limits))
    }
}

impl Search<'_> {
    /// Those of `feasible` that the extenders let pass.
    pub(super) fn pass_extenders(
        &self,
        cx: Cycle<'_>,
        ports: &mut dyn Ports,
        mut feasible: Vec<Arc<NodeInfo>>,
        diagnosis: &mut Diagnosis,
    ) -> Outcome<Vec<Arc<NodeInfo>>> {
        let before = feasible.len();
        for extender in self.extenders.iter().filter(|it| it.filters && it.is_interested(cx.pod)) {
            if feasible.is_empty() {
                break;
            }
            let rejected = match ports.extend_filter(extender, cx.pod, &feasible) {
                Ok(rejected) => rejected,
                Err(_) if extender.ignorable => continue,
                Err(error) => return Err(Status::error(error)),
            };
            for it in rejected {
                feasible.retain(|node| *node.name() != it.node);
                let unexplained = it.message.is_empty() && !it.unresolvable;
                let Some(at) = cx.snapshot.position(&it.node).filter(|_| !unexplained) else {
                    continue;
                };
                let status = if it.unresolvable {
                    Status::unresolvable(it.message)
                } else {
                    Status::unschedulable(it.message)
                };
                diagnosis.node_to_status.set(at, status);
            }
        }
        if feasible.len() != before {
            diagnosis.unschedulable_plugins.insert(EXTENDER_NAME);
        }
        Ok(feasible)
    }

    /// Adds the extenders' points; one that fails gives none.
    pub(super) fn add_extender_points(
        &self,
        cx: Cycle<'_>,
        ports: &mut dyn Ports,
        nodes: &[Arc<NodeInfo>],
        scores: &mut NodePluginScores,
    ) {
        let wanted = |it: &&ExtenderSpec| it.prioritizes && it.is_interested(cx.pod);
        for extender in self.extenders.iter().filter(wanted) {
            let Ok(given) = ports.extend_prioritize(extender, cx.pod, nodes) else { continue };
            for it in given {
                if let Some(at) = nodes.iter().position(|node| *node.name() == it.node) {
                    let scale = NodeScore::MAX / MAX_EXTENDER_PRIORITY;
                    let weight = extender.weight.saturating_mul(scale);
                    scores.add(at, it.score.saturating_mul(weight));
                }
            }
        }
    }
}
