//! The arguments of the in-tree plugins, in the v1 form of `KubeSchedulerConfiguration`.
//!
//! Each type decodes strictly, fills in upstream's defaults and says with `validate` what is wrong
//! in upstream's words. Serialised again it is the effective arguments, with the same fields left
//! out as upstream leaves out. `apiVersion` and `kind` are the caller's affair.
//!
//! Source: `k8s.io/kube-scheduler/config/v1/types_pluginargs.go`, `apis/config/v1/defaults.go` and
//! `apis/config/validation/validation_pluginargs.go`, 1.36 with its default feature gates.

mod default_preemption;
mod dynamic_resources;
mod inter_pod_affinity;
mod node_affinity;
mod node_resources_balanced_allocation;
mod node_resources_fit;
mod node_selector;
mod pod_topology_spread;
mod resources;
mod volume_binding;

pub use default_preemption::DefaultPreemptionArgs;
pub use dynamic_resources::DynamicResourcesArgs;
pub use inter_pod_affinity::InterPodAffinityArgs;
pub use node_affinity::NodeAffinityArgs;
pub use node_resources_balanced_allocation::NodeResourcesBalancedAllocationArgs;
pub use node_resources_fit::{
    NodeResourcesFitArgs, RequestedToCapacityRatioParam, ScoringStrategy,
};
pub use node_selector::{
    AddedNodeAffinity, AddedNodeSelector, NodeSelectorRequirement, NodeSelectorTerm,
    PreferredSchedulingTerm,
};
pub use pod_topology_spread::{DefaultConstraint, LabelSelector, PodTopologySpreadArgs};
pub use resources::{ResourceSpec, UtilizationShapePoint};
pub use volume_binding::VolumeBindingArgs;

use serde::{Deserialize, Deserializer};

/// Reads a list in which, as in Go, `null` is the empty list and a `null` element the zero value.
fn list<'de, T, D>(deserializer: D) -> Result<Vec<T>, D::Error>
where
    T: Deserialize<'de> + Default,
    D: Deserializer<'de>,
{
    optional_list(deserializer).map(Option::unwrap_or_default)
}

/// As [`list`], where an empty list and none are not the same.
fn optional_list<'de, T, D>(deserializer: D) -> Result<Option<Vec<T>>, D::Error>
where
    T: Deserialize<'de> + Default,
    D: Deserializer<'de>,
{
    let elements = Option::<Vec<Option<T>>>::deserialize(deserializer)?;
    Ok(elements.map(|it| it.into_iter().map(Option::unwrap_or_default).collect()))
}

/// Whether a number is zero, which Go's `omitempty` leaves out.
fn is_zero<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

#[cfg(test)]
mod tests;
