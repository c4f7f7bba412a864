//! Storage: volumes, claims, classes, drivers and what is attached where.

use serde::{Deserialize, Serialize};

use super::{
    AwsElasticBlockStore, AzureDisk, CinderDisk, CsiVolume, GcePersistentDisk, LabelSelector,
    NodeSelector, ObjectMeta, PortworxVolume, Quantity, ResourceList, Text, VsphereVolume,
    null_as_default,
};

/// A reference to an object.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ObjectReference {
    /// The object's kind.
    #[serde(deserialize_with = "null_as_default")]
    pub kind: Text,
    /// Its namespace.
    #[serde(deserialize_with = "null_as_default")]
    pub namespace: Text,
    /// Its name.
    #[serde(deserialize_with = "null_as_default")]
    pub name: Text,
    /// Its identity; empty where it is not known yet.
    #[serde(deserialize_with = "null_as_default")]
    pub uid: Text,
}

/// A `PersistentVolume` of `v1`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct PersistentVolume {
    /// Name, labels, annotations.
    pub metadata: ObjectMeta,
    /// The volume.
    pub spec: PersistentVolumeSpec,
    /// Whether it is taken.
    #[serde(deserialize_with = "null_as_default")]
    pub status: PersistentVolumeStatus,
}

/// What a volume is and who may use it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PersistentVolumeSpec {
    /// `storage` is its size.
    pub capacity: ResourceList,
    /// `ReadWriteOnce`, `ReadOnlyMany`, `ReadWriteMany`, `ReadWriteOncePod`.
    #[serde(deserialize_with = "null_as_default")]
    pub access_modes: Vec<Text>,
    /// The claim that it is bound to or kept for.
    pub claim_ref: Option<ObjectReference>,
    /// Its class; empty is none.
    #[serde(deserialize_with = "null_as_default")]
    pub storage_class_name: Text,
    /// `Filesystem` (also when absent) or `Block`.
    pub volume_mode: Option<Text>,
    /// From which nodes it can be reached.
    pub node_affinity: Option<VolumeNodeAffinity>,
    /// Its attributes class (KEP-3751).
    pub volume_attributes_class_name: Option<Text>,
    /// A driver's volume.
    pub csi: Option<CsiVolume>,
    /// A disk of Google's cloud.
    pub gce_persistent_disk: Option<GcePersistentDisk>,
    /// A disk of Amazon's cloud.
    pub aws_elastic_block_store: Option<AwsElasticBlockStore>,
    /// A disk of Microsoft's cloud.
    pub azure_disk: Option<AzureDisk>,
    /// A disk of `OpenStack`.
    pub cinder: Option<CinderDisk>,
    /// A disk of `vSphere`.
    pub vsphere_volume: Option<VsphereVolume>,
    /// A disk of Portworx.
    pub portworx_volume: Option<PortworxVolume>,
    /// A disk of one node.
    pub local: Option<serde_json::Value>,
    /// A folder of one node.
    pub host_path: Option<serde_json::Value>,
}

/// From which nodes a volume can be reached.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct VolumeNodeAffinity {
    /// The node must match one of the terms.
    pub required: Option<NodeSelector>,
}

/// Whether a volume is taken.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct PersistentVolumeStatus {
    /// `Available`, `Bound`, `Released`, `Failed`, `Pending`.
    #[serde(deserialize_with = "null_as_default")]
    pub phase: Text,
}

/// A `PersistentVolumeClaim` of `v1`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct PersistentVolumeClaim {
    /// Name, namespace, annotations, owners.
    pub metadata: ObjectMeta,
    /// What is asked for.
    #[serde(deserialize_with = "null_as_default")]
    pub spec: PersistentVolumeClaimSpec,
    /// What it got.
    #[serde(deserialize_with = "null_as_default")]
    pub status: PersistentVolumeClaimStatus,
}

/// What a claim asks for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PersistentVolumeClaimSpec {
    /// Modes that the volume must have.
    #[serde(deserialize_with = "null_as_default")]
    pub access_modes: Vec<Text>,
    /// Labels that the volume must have.
    pub selector: Option<LabelSelector>,
    /// How much.
    #[serde(deserialize_with = "null_as_default")]
    pub resources: VolumeResourceRequirements,
    /// The volume it is bound to; empty while it waits.
    #[serde(deserialize_with = "null_as_default")]
    pub volume_name: Text,
    /// Absent is the default class, empty is none.
    pub storage_class_name: Option<Text>,
    /// `Filesystem` (also when absent) or `Block`.
    pub volume_mode: Option<Text>,
    /// Its attributes class (KEP-3751).
    pub volume_attributes_class_name: Option<Text>,
}

/// How much a claim asks for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct VolumeResourceRequirements {
    /// `storage` is the least size.
    pub requests: ResourceList,
}

/// What a claim got.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PersistentVolumeClaimStatus {
    /// `Pending`, `Bound` or `Lost`.
    #[serde(deserialize_with = "null_as_default")]
    pub phase: Text,
    /// The attributes class in force.
    pub current_volume_attributes_class_name: Option<Text>,
}

/// When a claim of a class is bound.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum VolumeBindingMode {
    /// As soon as it exists.
    #[default]
    Immediate,
    /// Once a pod that uses it has a node.
    WaitForFirstConsumer,
    /// A word that the API does not define; like [`Self::Immediate`].
    #[serde(other)]
    Unknown,
}

/// A `StorageClass` of `storage.k8s.io/v1`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct StorageClass {
    /// Name and annotations.
    pub metadata: ObjectMeta,
    /// Who makes its volumes.
    #[serde(deserialize_with = "null_as_default")]
    pub provisioner: Text,
    /// When its claims are bound; absent is an error to `VolumeBinding`.
    pub volume_binding_mode: Option<VolumeBindingMode>,
    /// Where its volumes can be made; empty is everywhere.
    #[serde(deserialize_with = "null_as_default")]
    pub allowed_topologies: Vec<TopologySelectorTerm>,
}

/// A set of nodes by label values.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct TopologySelectorTerm {
    /// All of these must hold.
    #[serde(deserialize_with = "null_as_default")]
    pub match_label_expressions: Vec<TopologySelectorLabelRequirement>,
}

/// A label that must have one of some values.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TopologySelectorLabelRequirement {
    /// The label.
    pub key: Text,
    /// The values.
    #[serde(deserialize_with = "null_as_default")]
    pub values: Vec<Text>,
}

/// A `CSINode` of `storage.k8s.io/v1`: which drivers a node has.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct CsiNode {
    /// The node's name; annotations tell of migrated plugins.
    pub metadata: ObjectMeta,
    /// The drivers.
    #[serde(deserialize_with = "null_as_default")]
    pub spec: CsiNodeSpec,
}

/// The drivers of a node.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct CsiNodeSpec {
    /// Each driver once.
    #[serde(deserialize_with = "null_as_default")]
    pub drivers: Vec<CsiNodeDriver>,
}

/// A driver on a node.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct CsiNodeDriver {
    /// The driver's name.
    pub name: Text,
    /// The driver's name for the node.
    #[serde(rename = "nodeID", deserialize_with = "null_as_default")]
    pub node_id: Text,
    /// Labels of nodes within which its volumes can be reached.
    #[serde(deserialize_with = "null_as_default")]
    pub topology_keys: Vec<Text>,
    /// How many volumes it can attach.
    pub allocatable: Option<VolumeNodeResources>,
}

/// How many volumes a driver can attach to a node.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct VolumeNodeResources {
    /// Absent is no limit.
    pub count: Option<i32>,
}

/// A `CSIDriver` of `storage.k8s.io/v1`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct CsiDriver {
    /// The driver's name.
    pub metadata: ObjectMeta,
    /// What it needs.
    #[serde(deserialize_with = "null_as_default")]
    pub spec: CsiDriverSpec,
}

/// What a driver needs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct CsiDriverSpec {
    /// Whether it tells where it has room (KEP-1472).
    pub storage_capacity: Option<bool>,
    /// Whether its volumes are attached to nodes.
    pub attach_required: Option<bool>,
    /// Whether a pod must not go to a node that lacks the driver (KEP-5030).
    pub prevent_pod_scheduling_if_missing: Option<bool>,
}

/// A `CSIStorageCapacity` of `storage.k8s.io/v1`: room in one part of the cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct CsiStorageCapacity {
    /// Name and namespace.
    pub metadata: ObjectMeta,
    /// Which nodes it is about; absent is none.
    pub node_topology: Option<LabelSelector>,
    /// Which class it is about.
    #[serde(deserialize_with = "null_as_default")]
    pub storage_class_name: Text,
    /// How much room there is.
    pub capacity: Option<Quantity>,
    /// The largest volume that can be made.
    pub maximum_volume_size: Option<Quantity>,
}

/// A `VolumeAttachment` of `storage.k8s.io/v1`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct VolumeAttachment {
    /// Its name.
    pub metadata: ObjectMeta,
    /// What is attached where.
    #[serde(deserialize_with = "null_as_default")]
    pub spec: VolumeAttachmentSpec,
}

/// What is attached where.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct VolumeAttachmentSpec {
    /// The driver.
    #[serde(deserialize_with = "null_as_default")]
    pub attacher: Text,
    /// The node.
    #[serde(deserialize_with = "null_as_default")]
    pub node_name: Text,
    /// The volume.
    #[serde(deserialize_with = "null_as_default")]
    pub source: VolumeAttachmentSource,
}

/// The volume of an attachment.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct VolumeAttachmentSource {
    /// The volume's name.
    pub persistent_volume_name: Option<Text>,
}
