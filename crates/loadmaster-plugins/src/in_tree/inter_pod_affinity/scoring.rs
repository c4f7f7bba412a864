//! PreScore sums preferences by topology; Score looks up a node's domains.

use std::sync::Arc;

use loadmaster_framework::{
    AffinityTerm, Cycle, CycleState, Interest, NodeInfo, NodeScore, Outcome, PodInfo, PreScore,
    Score, Status, WeightedAffinityTerm,
    api::{Labels, PodAffinity},
};

use super::{InterPodAffinity, counts::ByTopology, own_term::OwnTerm};

/// What the preferences of the pod and of placed pods come to, by topology.
#[derive(Clone, Debug)]
struct Preferred(ByTopology);

impl PreScore for InterPodAffinity {
    fn pre_score(
        &self,
        cx: Cycle<'_>,
        state: &mut CycleState,
        _: &[Arc<NodeInfo>],
    ) -> Outcome<Interest> {
        let sums = self.preferences(cx)?;
        if sums.is_empty() {
            return Ok(Interest::Skip);
        }
        state.put(Preferred(sums));
        Ok(Interest::Score)
    }
}

impl Score for InterPodAffinity {
    fn score(&self, cx: Cycle<'_>, state: &CycleState, node: &NodeInfo) -> Outcome<i64> {
        let labels = &node.node().metadata.labels;
        match state.try_get::<Preferred>() {
            Some(Preferred(sums)) => Ok(sums.total(labels)),
            None => Ok(self.preferences(cx)?.total(labels)),
        }
    }

    /// The most wanted node gets all points, the least wanted none, the others in proportion.
    fn normalize(&self, _: Cycle<'_>, _: &CycleState, scores: &mut [NodeScore<'_>]) -> Outcome {
        let raw = || scores.iter().map(|it| i128::from(it.score));
        let (Some(min), Some(max)) = (raw().min(), raw().max()) else { return Ok(()) };
        for score in scores {
            let part = (i128::from(score.score) - min) as f64 / (max - min) as f64;
            // Upstream multiplies floats and cuts, so the same is done here: 100·(29/50) is 57.
            #[expect(clippy::cast_possible_truncation, reason = "0 to 100")]
            let points = (NodeScore::MAX as f64 * part) as i64;
            score.score = if max == min { NodeScore::MIN } else { points };
        }
        Ok(())
    }
}

impl InterPodAffinity {
    /// Sums the preferences that the pod has about placed pods, and those that placed pods have
    /// about it.
    fn preferences(&self, cx: Cycle<'_>) -> Outcome<ByTopology> {
        let affinity = cx.pod.spec.affinity.as_ref();
        let prefers = |it: Option<&PodAffinity>| it.is_some_and(|it| !it.preferred.is_empty());
        let has_own = affinity.is_some_and(|it| {
            prefers(it.pod_affinity.as_ref()) || prefers(it.pod_anti_affinity.as_ref())
        });
        if self.args.ignore_preferred_terms_of_existing_pods && !has_own {
            return Ok(ByTopology::default());
        }
        if let Some(error) = cx.pod.affinity_error() {
            return Err(Status::error(format!("failed to parse pod: {error}")));
        }
        let listers = cx.snapshot.listers();
        let own = |terms: &[WeightedAffinityTerm], sign: i64| {
            let terms = terms.iter();
            let settled =
                terms.map(|it| (OwnTerm::new(&it.term, listers), sign * i64::from(it.weight)));
            settled.collect::<Vec<_>>()
        };
        let mut own_terms = own(cx.pod.preferred_affinity_terms(), 1);
        own_terms.extend(own(cx.pod.preferred_anti_affinity_terms(), -1));
        let namespace_labels = listers.namespace_labels(cx.pod.namespace());
        let mut sums = ByTopology::default();
        for node in cx.snapshot.nodes() {
            let labels = &node.node().metadata.labels;
            if labels.is_empty() {
                continue;
            }
            // Without preferences of its own, only pods that have some matter to the pod.
            let placed = if has_own { node.pods() } else { node.pods_with_affinity() };
            for placed in placed {
                for (term, weight) in &own_terms {
                    if term.matches(placed) {
                        sums.add(&term.topology_key, labels, *weight);
                    }
                }
                self.preferences_of(placed, cx.pod, &namespace_labels, |term, weight| {
                    sums.add(&term.topology_key, labels, weight);
                });
            }
        }
        Ok(sums)
    }

    /// Tells `add` every term of `placed` that is about `pod`, with its weight.
    fn preferences_of(
        &self,
        placed: &PodInfo,
        pod: &PodInfo,
        namespace_labels: &Labels,
        mut add: impl FnMut(&AffinityTerm, i64),
    ) {
        let mut weigh = |term: &AffinityTerm, weight: i64| {
            if term.matches(pod, namespace_labels) {
                add(term, weight);
            }
        };
        let hard = i64::from(self.args.hard_pod_affinity_weight);
        if hard > 0 {
            placed.required_affinity_terms().iter().for_each(|it| weigh(it, hard));
        }
        for it in placed.preferred_affinity_terms() {
            weigh(&it.term, i64::from(it.weight));
        }
        for it in placed.preferred_anti_affinity_terms() {
            weigh(&it.term, -i64::from(it.weight));
        }
    }
}
