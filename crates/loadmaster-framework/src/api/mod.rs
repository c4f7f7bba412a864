//! The facts of a pod, a node, a volume that a decision needs, free of any client type.
//!
//! The types are filled straight from the API's JSON: field names are the API's, what no scheduler
//! reads is skipped while decoding, and a missing field is its default. Amounts and selectors are
//! exact: [`Quantity`], [`LabelSelector`], [`NodeSelector`].

mod affinity;
mod container;
mod labels;
mod meta;
mod node;
mod node_selector;
mod pod;
mod policy;
mod quantity;
mod requests;
mod resource;
mod selector;
mod storage;
mod taint;
mod volume;
mod workload;

#[cfg(test)]
mod tests;

pub use affinity::{
    Affinity, NodeAffinity, NodeInclusionPolicy, PodAffinity, PodAffinityTerm,
    TopologySpreadConstraint, UnsatisfiableConstraintAction, WeightedPodAffinityTerm,
};
pub use container::{
    Container, ContainerPort, ContainerRestartPolicy, ContainerRestartRule, ContainerStatus,
    Protocol, ResourceRequirements,
};
pub use labels::{Labels, Text};
pub use meta::{ObjectKey, ObjectMeta, OwnerReference, Timestamp};
pub use node::{ContainerImage, Node, NodeCondition, NodeSpec, NodeStatus};
pub use node_selector::{
    CompiledNodeSelector, CompiledPreferredTerms, NodeSelector, NodeSelectorRequirement,
    NodeSelectorTerm, PreferredSchedulingTerm, RequiredNodeAffinity,
};
pub use pod::{
    Pod, PodCondition, PodPhase, PodResourceClaim, PodResourceClaimStatus, PodSchedulingGate,
    PodSpec, PodStatus, PreemptionPolicy,
};
pub use policy::{PodDisruptionBudget, PodDisruptionBudgetSpec, PodDisruptionBudgetStatus};
pub use quantity::{Quantity, QuantityError};
pub use requests::{
    DEFAULT_MEMORY_REQUEST, DEFAULT_MILLI_CPU_REQUEST, PodRequestOptions, PodResources,
    is_pod_level_requests_set, is_supported_pod_level_resource, pod_requests,
};
pub use resource::{
    CPU, EPHEMERAL_STORAGE, MEMORY, PODS, Resource, ResourceList,
    is_attachable_volume_resource_name, is_dra_extended_resource_name, is_extended_resource_name,
    is_huge_page_resource_name, is_native_resource, is_prefixed_native_resource,
    is_scalar_resource_name,
};
pub use selector::{
    LabelSelector, LabelSelectorRequirement, Operator, Requirement, Selector, SelectorError,
};
pub use storage::{
    CsiDriver, CsiDriverSpec, CsiNode, CsiNodeDriver, CsiNodeSpec, CsiStorageCapacity,
    ObjectReference, PersistentVolume, PersistentVolumeClaim, PersistentVolumeClaimSpec,
    PersistentVolumeClaimStatus, PersistentVolumeSpec, PersistentVolumeStatus, StorageClass,
    TopologySelectorLabelRequirement, TopologySelectorTerm, VolumeAttachment,
    VolumeAttachmentSource, VolumeAttachmentSpec, VolumeBindingMode, VolumeNodeAffinity,
    VolumeNodeResources, VolumeResourceRequirements,
};
pub use taint::{
    Effect, Taint, Toleration, TolerationOperator, find_matching_untolerated_taint,
    tolerations_tolerate_taint,
};
pub use volume::{
    AwsElasticBlockStore, AzureDisk, AzureFile, CinderDisk, CsiVolume, EphemeralVolume,
    GcePersistentDisk, ImageVolume, Iscsi, PersistentVolumeClaimTemplate,
    PersistentVolumeClaimVolume, PortworxVolume, Rbd, Volume, VsphereVolume,
};
pub use workload::{Namespace, ReplicaSet, ReplicationController, Service, StatefulSet};

/// Reads a field that the API may send as `null` like one that is absent.
pub(crate) fn null_as_default<'de, D, T>(from: D) -> Result<T, D::Error>
where
    D: serde::Deserializer<'de>,
    T: Default + serde::Deserialize<'de>,
{
    Ok(<Option<T> as serde::Deserialize>::deserialize(from)?.unwrap_or_default())
}
