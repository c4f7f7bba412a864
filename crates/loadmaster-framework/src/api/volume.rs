//! Volumes of a pod: only sources that bear on where it may run.

use serde::{Deserialize, Serialize};

use super::{ObjectMeta, PersistentVolumeClaimSpec, Text, null_as_default};

/// A volume of a pod. A source that no scheduler reads leaves every field empty.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Volume {
    /// Unique in the pod.
    pub name: Text,
    /// A claim in the pod's namespace.
    pub persistent_volume_claim: Option<PersistentVolumeClaimVolume>,
    /// A claim of the pod's own, named `pod-volume`.
    pub ephemeral: Option<EphemeralVolume>,
    /// A driver's volume given in the manifest.
    pub csi: Option<CsiVolume>,
    /// A disk of Google's cloud.
    pub gce_persistent_disk: Option<GcePersistentDisk>,
    /// A disk of Amazon's cloud.
    pub aws_elastic_block_store: Option<AwsElasticBlockStore>,
    /// A disk of Microsoft's cloud.
    pub azure_disk: Option<AzureDisk>,
    /// A share of Microsoft's cloud.
    pub azure_file: Option<AzureFile>,
    /// A disk of `OpenStack`.
    pub cinder: Option<CinderDisk>,
    /// A disk of `vSphere`.
    pub vsphere_volume: Option<VsphereVolume>,
    /// A disk of Portworx.
    pub portworx_volume: Option<PortworxVolume>,
    /// A disk over iSCSI.
    pub iscsi: Option<Iscsi>,
    /// A Ceph block device.
    pub rbd: Option<Rbd>,
    /// An image mounted as a volume (KEP-4639).
    pub image: Option<ImageVolume>,
}

/// An image mounted as a volume.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ImageVolume {
    /// The image's name as written in the manifest.
    #[serde(deserialize_with = "null_as_default")]
    pub reference: Text,
}

/// A reference to a claim.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PersistentVolumeClaimVolume {
    /// The claim's name in the pod's namespace.
    pub claim_name: Text,
    /// Whether it is mounted for reading only.
    #[serde(deserialize_with = "null_as_default")]
    pub read_only: bool,
}

/// A claim that lives as long as the pod (KEP-1698).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct EphemeralVolume {
    /// What the claim will be.
    pub volume_claim_template: Option<PersistentVolumeClaimTemplate>,
}

/// What a claim made for a pod will be.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct PersistentVolumeClaimTemplate {
    /// Labels and annotations of the claim.
    #[serde(deserialize_with = "null_as_default")]
    pub metadata: ObjectMeta,
    /// The claim.
    #[serde(deserialize_with = "null_as_default")]
    pub spec: PersistentVolumeClaimSpec,
}

/// A driver's volume; in a pod only `driver` is set.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct CsiVolume {
    /// The driver's name.
    pub driver: Text,
    /// The driver's own name for the volume.
    #[serde(deserialize_with = "null_as_default")]
    pub volume_handle: Text,
}

/// A disk of Google's cloud.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct GcePersistentDisk {
    /// The disk's name.
    pub pd_name: Text,
    /// Whether it is mounted for reading only.
    #[serde(deserialize_with = "null_as_default")]
    pub read_only: bool,
}

/// A disk of Amazon's cloud.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct AwsElasticBlockStore {
    /// The disk's name.
    #[serde(rename = "volumeID")]
    pub volume_id: Text,
}

/// A disk of Microsoft's cloud.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct AzureDisk {
    /// The disk's name.
    pub disk_name: Text,
    /// Its address.
    #[serde(rename = "diskURI")]
    pub disk_uri: Text,
    /// `Managed`, `Dedicated` or `Shared`.
    pub kind: Option<Text>,
}

/// A share of Microsoft's cloud.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct AzureFile {
    /// The share's name.
    pub share_name: Text,
}

/// A disk of `OpenStack`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct CinderDisk {
    /// The disk's name.
    #[serde(rename = "volumeID")]
    pub volume_id: Text,
}

/// A disk of `vSphere`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct VsphereVolume {
    /// The disk's path.
    pub volume_path: Text,
}

/// A disk of Portworx.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PortworxVolume {
    /// The disk's name.
    #[serde(rename = "volumeID")]
    pub volume_id: Text,
}

/// A disk over iSCSI.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Iscsi {
    /// The target's portal.
    pub target_portal: Text,
    /// The target's qualified name.
    pub iqn: Text,
    /// The unit's number.
    #[serde(deserialize_with = "null_as_default")]
    pub lun: i32,
    /// Whether it is mounted for reading only.
    #[serde(deserialize_with = "null_as_default")]
    pub read_only: bool,
}

/// A Ceph block device.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Rbd {
    /// The cluster's monitors.
    #[serde(rename = "monitors", deserialize_with = "null_as_default")]
    pub ceph_monitors: Vec<Text>,
    /// The image's name.
    #[serde(rename = "image")]
    pub rbd_image: Text,
    /// The pool it lives in.
    #[serde(rename = "pool", deserialize_with = "null_as_default")]
    pub rbd_pool: Text,
    /// Whether it is mounted for reading only.
    #[serde(deserialize_with = "null_as_default")]
    pub read_only: bool,
}
