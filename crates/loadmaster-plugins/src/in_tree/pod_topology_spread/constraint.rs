//! Spread constraints, prepared for counting, and which nodes they count.

use std::sync::Arc;

use loadmaster_framework::{
    NodeInfo, PodInfo,
    api::{
        Effect, LabelSelector, Labels, NodeInclusionPolicy, Pod, RequiredNodeAffinity, Selector,
        SelectorError, Text, TopologySpreadConstraint, find_matching_untolerated_taint,
    },
};

use super::HOSTNAME;

/// One constraint of one pod.
#[derive(Clone, Debug)]
pub(super) struct Constraint {
    pub(super) max_skew: i32,
    pub(super) topology_key: Text,
    pub(super) selector: Selector,
    pub(super) min_domains: i32,
    pub(super) honors_affinity: bool,
    pub(super) honors_taints: bool,
    /// Whether the pod is one of those that its constraint counts.
    pub(super) self_match: bool,
}

impl Constraint {
    /// A constraint of `pod` itself: its selector, narrowed by the labels of the pod that
    /// `matchLabelKeys` names (KEP-3243).
    pub(super) fn of_pod(
        from: &TopologySpreadConstraint,
        pod: &Pod,
    ) -> Result<Self, SelectorError> {
        let selector = LabelSelector::compile_optional(from.label_selector.as_ref())?;
        let keys = from.match_label_keys.iter();
        let own: Labels = keys
            .filter_map(|key| Some((key.clone(), pod.metadata.labels.get(key)?.clone())))
            .collect();
        let merged = Selector::from_labels(&own);
        let selector = selector.and(merged.requirements().unwrap_or_default().iter().cloned());
        Ok(Self::new(from, selector, pod))
    }

    /// A constraint of `pod` that counts what `selector` selects.
    pub(super) fn new(from: &TopologySpreadConstraint, selector: Selector, pod: &Pod) -> Self {
        let honors = |policy: Option<NodeInclusionPolicy>, default| {
            policy.unwrap_or(default) == NodeInclusionPolicy::Honor
        };
        Self {
            max_skew: from.max_skew,
            topology_key: from.topology_key.clone(),
            min_domains: from.min_domains.unwrap_or(1),
            honors_affinity: honors(from.node_affinity_policy, NodeInclusionPolicy::Honor),
            honors_taints: honors(from.node_taints_policy, NodeInclusionPolicy::Ignore),
            self_match: selector.matches(&pod.metadata.labels),
            selector,
        }
    }

    /// Whether each node is a domain of its own.
    pub(super) fn is_per_node(&self) -> bool {
        &*self.topology_key == HOSTNAME
    }

    /// How many of `pods` are counted in `namespace`. Terminating ones are not (k/k#87621), and a
    /// selector without requirements counts none.
    pub(super) fn count(&self, pods: &[Arc<PodInfo>], namespace: &str) -> i64 {
        let counted = |pod: &&Arc<PodInfo>| {
            **pod.namespace() == *namespace
                && !pod.is_terminating()
                && self.selector.matches(&pod.metadata.labels)
        };
        if self.selector.is_empty() {
            return 0;
        }
        i64::try_from(pods.iter().filter(counted).count()).unwrap_or(i64::MAX)
    }
}

/// Whether a node has every label that the constraints divide by.
pub(super) fn has_all_keys(labels: &Labels, constraints: &[Constraint]) -> bool {
    constraints.iter().all(|it| labels.contains_key(&it.topology_key))
}

/// What of a pod decides on which nodes its constraints count (KEP-3094).
#[derive(Clone, Debug)]
pub(super) struct Inclusion {
    /// Absent where no constraint asks, or where every node would do.
    affinity: Option<RequiredNodeAffinity>,
    taints: bool,
}

impl Inclusion {
    /// What the `constraints` of `pod` ask of nodes.
    pub(super) fn new(pod: &Pod, constraints: &[Constraint]) -> Self {
        let affinity = pod.spec.affinity.as_ref().and_then(|it| it.node_affinity.as_ref());
        let required = affinity.and_then(|it| it.required.as_ref());
        let restricted = required.is_some() || !pod.spec.node_selector.is_empty();
        let asked = restricted && constraints.iter().any(|it| it.honors_affinity);
        Self {
            affinity: asked.then(|| RequiredNodeAffinity::new(&pod.spec.node_selector, required)),
            taints: constraints.iter().any(|it| it.honors_taints),
        }
    }

    /// Looks at `node` once for all constraints of `pod`.
    pub(super) fn of(&self, pod: &Pod, node: &NodeInfo) -> Included {
        let node = node.node();
        let fits = |it: &RequiredNodeAffinity| {
            // A term that cannot be understood matches nothing here, and is told by NodeAffinity.
            it.matches(&node.metadata.labels, node.name()).unwrap_or(false)
        };
        let hard = |effect| matches!(effect, Effect::NoSchedule | Effect::NoExecute);
        let untolerated = || {
            let tolerations = &pod.spec.tolerations;
            find_matching_untolerated_taint(&node.spec.taints, tolerations, |it| hard(it.effect))
        };
        Included {
            affinity: self.affinity.as_ref().is_none_or(fits),
            taints: !self.taints || untolerated().is_none(),
        }
    }
}

/// What a node is to the policies of a pod's constraints.
#[derive(Clone, Copy, Debug)]
pub(super) struct Included {
    affinity: bool,
    taints: bool,
}

impl Included {
    /// Whether `constraint` counts the node.
    pub(super) fn by(self, constraint: &Constraint) -> bool {
        (self.affinity || !constraint.honors_affinity) && (self.taints || !constraint.honors_taints)
    }
}
