//! PreFilter counts pods by topology; Filter checks what the pod and its neighbours require.

use std::sync::Arc;

use loadmaster_framework::{
    AffinityTerm, Candidates, Cycle, CycleState, Filter, NodeInfo, Outcome, PodInfo, PreFilter,
    Status, api::Labels,
};

use super::{
    InterPodAffinity,
    counts::{ByTopology, Counts},
    own_term::{OwnTerm, all_match},
};

/// What the pod requires, what placed pods require of it, and the pods that matter to either.
#[derive(Clone, Debug)]
pub(super) struct Required {
    terms: Arc<Terms>,
    /// Placed pods by the topology of each of their anti-affinity terms that is about the pod.
    pub(super) repelling: Counts,
    /// Placed pods that all affinity terms of the pod are about.
    pub(super) wanted: Counts,
    /// Placed pods that one of the pod's anti-affinity terms is about.
    pub(super) unwanted: Counts,
}

#[derive(Debug)]
struct Terms {
    affinity: Vec<OwnTerm>,
    anti_affinity: Vec<OwnTerm>,
    namespace_labels: Labels,
    /// Whether the pod is one of those that its affinity is about.
    self_match: bool,
}

impl PreFilter for InterPodAffinity {
    fn pre_filter(&self, cx: Cycle<'_>, state: &mut CycleState) -> Outcome<Candidates> {
        let required = required(cx)?;
        let terms = &required.terms;
        if required.repelling.is_empty()
            && terms.affinity.is_empty()
            && terms.anti_affinity.is_empty()
        {
            return Ok(Candidates::Skip);
        }
        state.put(required);
        Ok(Candidates::All)
    }

    fn add_pod(
        &self,
        cx: Cycle<'_>,
        state: &mut CycleState,
        added: &PodInfo,
        node: &NodeInfo,
    ) -> Outcome {
        if let Some(required) = state.get_mut::<Required>() {
            required.shift(cx.pod, added, node, 1);
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
        if let Some(required) = state.get_mut::<Required>() {
            required.shift(cx.pod, removed, node, -1);
        }
        Ok(())
    }
}

impl Filter for InterPodAffinity {
    fn filter(&self, cx: Cycle<'_>, state: &CycleState, node: &NodeInfo) -> Outcome {
        match state.try_get::<Required>() {
            Some(required) => required.check(node),
            None => required(cx)?.check(node),
        }
    }
}

/// Counts what matters to the pod over all nodes.
fn required(cx: Cycle<'_>) -> Outcome<Required> {
    if let Some(error) = cx.pod.affinity_error() {
        return Err(Status::unresolvable(format!("parsing pod: {error}")));
    }
    let listers = cx.snapshot.listers();
    let affinity = OwnTerm::all(cx.pod.required_affinity_terms(), listers);
    let terms = Terms {
        self_match: all_match(&affinity, cx.pod),
        affinity,
        anti_affinity: OwnTerm::all(cx.pod.required_anti_affinity_terms(), listers),
        namespace_labels: listers.namespace_labels(cx.pod.namespace()),
    };
    let (mut repelling, mut wanted, mut unwanted) =
        (ByTopology::default(), ByTopology::default(), ByTopology::default());
    for node in cx.snapshot.nodes() {
        let labels = &node.node().metadata.labels;
        for placed in node.pods_with_required_anti_affinity() {
            for term in terms.repelling(cx.pod, placed) {
                repelling.add(&term.topology_key, labels, 1);
            }
        }
        if terms.affinity.is_empty() && terms.anti_affinity.is_empty() {
            continue;
        }
        for placed in node.pods() {
            for term in terms.wanting(placed) {
                wanted.add(&term.topology_key, labels, 1);
            }
            for term in terms.rejecting(placed) {
                unwanted.add(&term.topology_key, labels, 1);
            }
        }
    }
    Ok(Required {
        terms: Arc::new(terms),
        repelling: Counts::new(repelling),
        wanted: Counts::new(wanted),
        unwanted: Counts::new(unwanted),
    })
}

impl Terms {
    /// The anti-affinity terms of `placed` that are about the incoming `pod`.
    fn repelling<'a>(
        &'a self,
        pod: &'a PodInfo,
        placed: &'a PodInfo,
    ) -> impl Iterator<Item = &'a AffinityTerm> {
        let terms = placed.required_anti_affinity_terms().iter();
        terms.filter(|it| it.matches(pod, &self.namespace_labels))
    }

    /// The pod's affinity terms, if all of them are about `placed`.
    fn wanting(&self, placed: &PodInfo) -> &[OwnTerm] {
        if all_match(&self.affinity, placed) { &self.affinity } else { &[] }
    }

    /// The pod's anti-affinity terms that are about `placed`.
    fn rejecting<'a>(&'a self, placed: &'a PodInfo) -> impl Iterator<Item = &'a OwnTerm> {
        self.anti_affinity.iter().filter(|it| it.matches(placed))
    }
}

impl Required {
    /// What-if: `moved` comes to `node` or leaves it.
    fn shift(&mut self, pod: &PodInfo, moved: &PodInfo, node: &NodeInfo, delta: i64) {
        let labels = &node.node().metadata.labels;
        let terms = Arc::clone(&self.terms);
        for term in terms.repelling(pod, moved) {
            self.repelling.shift(&term.topology_key, labels, delta);
        }
        for term in terms.wanting(moved) {
            self.wanted.shift(&term.topology_key, labels, delta);
        }
        for term in terms.rejecting(moved) {
            self.unwanted.shift(&term.topology_key, labels, delta);
        }
    }

    /// Whether the pod may go to `node`.
    fn check(&self, node: &NodeInfo) -> Outcome {
        let labels = &node.node().metadata.labels;
        if !self.has_wanted(labels) {
            return Err(Status::unresolvable(AFFINITY_NOT_MATCH));
        }
        let unwanted = |it: &OwnTerm| {
            let value = labels.get(&it.topology_key);
            value.is_some_and(|value| self.unwanted.get(&it.topology_key, value) > 0)
        };
        if !self.unwanted.is_empty() && self.terms.anti_affinity.iter().any(unwanted) {
            return Err(Status::unschedulable(ANTI_AFFINITY_NOT_MATCH));
        }
        if self.repelling.any_at(labels) {
            return Err(Status::unschedulable(EXISTING_ANTI_AFFINITY_NOT_MATCH));
        }
        Ok(())
    }

    /// Whether each of the pod's affinity terms finds a pod near a node with `labels`. The first
    /// pod of a group that wants to be together finds none anywhere, and may start it on any node
    /// that has the topology.
    fn has_wanted(&self, labels: &Labels) -> bool {
        let mut found = true;
        for term in &self.terms.affinity {
            match labels.get(&term.topology_key) {
                None => return false,
                Some(value) => found &= self.wanted.get(&term.topology_key, value) > 0,
            }
        }
        found || (self.wanted.is_empty() && self.terms.self_match)
    }
}

const AFFINITY_NOT_MATCH: &str = "node(s) didn't match pod affinity rules";
const ANTI_AFFINITY_NOT_MATCH: &str = "node(s) didn't match pod anti-affinity rules";
const EXISTING_ANTI_AFFINITY_NOT_MATCH: &str =
    "node(s) didn't satisfy existing pods anti-affinity rules";
