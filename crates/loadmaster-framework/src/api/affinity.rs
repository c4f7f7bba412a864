//! Affinity and spreading: what a pod wants of its node and of its neighbours.

use serde::{Deserialize, Serialize};

use super::{LabelSelector, NodeSelector, PreferredSchedulingTerm, Text, null_as_default};

/// `spec.affinity`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Affinity {
    /// What the node must or should be like.
    pub node_affinity: Option<NodeAffinity>,
    /// Which pods must or should be near.
    pub pod_affinity: Option<PodAffinity>,
    /// Which pods must or should not be near.
    pub pod_anti_affinity: Option<PodAffinity>,
}

/// What the node must or should be like.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct NodeAffinity {
    /// The node must match one of the terms.
    #[serde(rename = "requiredDuringSchedulingIgnoredDuringExecution")]
    pub required: Option<NodeSelector>,
    /// Each term that the node matches adds its weight.
    #[serde(
        rename = "preferredDuringSchedulingIgnoredDuringExecution",
        deserialize_with = "null_as_default"
    )]
    pub preferred: Vec<PreferredSchedulingTerm>,
}

/// Which pods must or should (not) be near; the same shape serves affinity and anti-affinity.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PodAffinity {
    /// All of these must hold.
    #[serde(
        rename = "requiredDuringSchedulingIgnoredDuringExecution",
        deserialize_with = "null_as_default"
    )]
    pub required: Vec<PodAffinityTerm>,
    /// Each match adds its weight (or takes it away, under anti-affinity).
    #[serde(
        rename = "preferredDuringSchedulingIgnoredDuringExecution",
        deserialize_with = "null_as_default"
    )]
    pub preferred: Vec<WeightedPodAffinityTerm>,
}

/// A set of pods, and the node label within whose value they count as near.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PodAffinityTerm {
    /// Which pods, by label; absent is none.
    pub label_selector: Option<LabelSelector>,
    /// In these namespaces; with neither this nor a selector, the pod's own.
    #[serde(deserialize_with = "null_as_default")]
    pub namespaces: Vec<Text>,
    /// The label of nodes whose equal value means near.
    pub topology_key: Text,
    /// Also in namespaces with these labels.
    pub namespace_selector: Option<LabelSelector>,
    /// Merged into `label_selector` by the API server (KEP-3633).
    #[serde(deserialize_with = "null_as_default")]
    pub match_label_keys: Vec<Text>,
    /// Merged into `label_selector` by the API server (KEP-3633).
    #[serde(deserialize_with = "null_as_default")]
    pub mismatch_label_keys: Vec<Text>,
}

/// A term that adds to a node's score.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct WeightedPodAffinityTerm {
    /// 1..=100.
    pub weight: i32,
    /// The term.
    pub pod_affinity_term: PodAffinityTerm,
}

/// What happens to a pod whose spreading cannot be had.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum UnsatisfiableConstraintAction {
    /// It waits.
    #[default]
    DoNotSchedule,
    /// It is placed where the skew is least.
    ScheduleAnyway,
    /// A word that the API does not define; the constraint means nothing.
    #[serde(other)]
    Unknown,
}

/// Whether something about a node takes it out of the count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum NodeInclusionPolicy {
    /// The node counts in any case.
    Ignore,
    /// The node counts only where the pod could go.
    Honor,
    /// A word that the API does not define; like [`Self::Ignore`].
    #[serde(other)]
    Unknown,
}

/// One constraint on how alike pods are spread (KEP-895).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct TopologySpreadConstraint {
    /// The largest difference allowed between a domain and the emptiest one; at least 1.
    pub max_skew: i32,
    /// The label of nodes whose values are the domains.
    pub topology_key: Text,
    /// What happens when it cannot be had.
    pub when_unsatisfiable: UnsatisfiableConstraintAction,
    /// Which pods are counted.
    pub label_selector: Option<LabelSelector>,
    /// With fewer domains than this the emptiest counts as 0 (KEP-3022); absent is 1.
    pub min_domains: Option<i32>,
    /// Whether the pod's node affinity narrows the domains; absent is Honor (KEP-3094).
    pub node_affinity_policy: Option<NodeInclusionPolicy>,
    /// Whether taints narrow the domains; absent is Ignore (KEP-3094).
    pub node_taints_policy: Option<NodeInclusionPolicy>,
    /// Labels of the pod whose values are added to the selector (KEP-3243).
    #[serde(deserialize_with = "null_as_default")]
    pub match_label_keys: Vec<Text>,
}
