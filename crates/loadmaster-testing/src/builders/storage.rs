//! Volumes, claims, classes and drivers.

use loadmaster_framework::api::{
    CsiNode, CsiNodeDriver, CsiVolume, NodeSelectorRequirement, ObjectReference, PersistentVolume,
    PersistentVolumeClaim, StorageClass, Text, TopologySelectorLabelRequirement,
    TopologySelectorTerm, VolumeBindingMode, VolumeNodeResources,
};

use super::workload::metadata;
use super::{NAMESPACE, builder, node_term, quantity};

/// The annotation of a claim for which a provisioner has been told to make a volume on a node.
const SELECTED_NODE: &str = "volume.kubernetes.io/selected-node";
/// Marks a volume or a claim whose binding is complete.
const BIND_COMPLETED: &str = "pv.kubernetes.io/bind-completed";

/// Starts a volume of this size that is `ReadWriteOnce` and available.
pub fn persistent_volume(name: &str, size: &str) -> VolumeBuilder {
    let mut volume = PersistentVolume {
        metadata: metadata("PersistentVolume", name),
        ..PersistentVolume::default()
    };
    volume.metadata.namespace = Text::default();
    volume.spec.capacity.insert("storage", quantity(size));
    volume.spec.access_modes = vec!["ReadWriteOnce".into()];
    volume.status.phase = "Available".into();
    VolumeBuilder(volume)
}

/// A volume in the making; see [`persistent_volume`].
#[derive(Clone, Debug)]
#[must_use = "a builder does nothing until it is built"]
pub struct VolumeBuilder(PersistentVolume);

builder!(VolumeBuilder => PersistentVolume);

impl VolumeBuilder {
    /// Its storage class.
    pub fn class(self, name: impl Into<Text>) -> Self {
        self.with(|it| it.spec.storage_class_name = name.into())
    }

    /// Its access modes, instead of `ReadWriteOnce`.
    pub fn access_modes<'a>(self, modes: impl IntoIterator<Item = &'a str>) -> Self {
        self.with(|it| it.spec.access_modes = modes.into_iter().map(Into::into).collect())
    }

    /// It is bound to this claim of namespace `default`.
    pub fn bound_to(self, claim: &str) -> Self {
        let claim = ObjectReference {
            kind: "PersistentVolumeClaim".into(),
            namespace: NAMESPACE.into(),
            name: claim.into(),
            uid: format!("PersistentVolumeClaim/{claim}").into(),
        };
        self.with(|it| {
            it.spec.claim_ref = Some(claim);
            it.status.phase = "Bound".into();
        })
    }

    /// It can be reached from nodes that meet all `requirements`, or those of another call.
    pub fn node_affinity(
        self,
        requirements: impl IntoIterator<Item = NodeSelectorRequirement>,
    ) -> Self {
        let term = node_term(requirements);
        self.with(|it| {
            let affinity = it.spec.node_affinity.get_or_insert_default();
            affinity.required.get_or_insert_default().node_selector_terms.push(term);
        })
    }

    /// It is a volume of this driver.
    pub fn csi(self, driver: &str, handle: &str) -> Self {
        let source = CsiVolume { driver: driver.into(), volume_handle: handle.into() };
        self.with(|it| it.spec.csi = Some(source))
    }

    /// The volume.
    pub fn build(self) -> PersistentVolume {
        self.0
    }
}

/// Starts a claim for this size in namespace `default` that is `ReadWriteOnce` and pending.
pub fn persistent_volume_claim(name: &str, size: &str) -> ClaimBuilder {
    let mut claim = PersistentVolumeClaim {
        metadata: metadata("PersistentVolumeClaim", name),
        ..PersistentVolumeClaim::default()
    };
    claim.spec.resources.requests.insert("storage", quantity(size));
    claim.spec.access_modes = vec!["ReadWriteOnce".into()];
    claim.status.phase = "Pending".into();
    ClaimBuilder(claim)
}

/// A claim in the making; see [`persistent_volume_claim`].
#[derive(Clone, Debug)]
#[must_use = "a builder does nothing until it is built"]
pub struct ClaimBuilder(PersistentVolumeClaim);

builder!(ClaimBuilder => PersistentVolumeClaim);

impl ClaimBuilder {
    /// Puts the claim into another namespace.
    pub fn namespace(self, namespace: impl Into<Text>) -> Self {
        self.with(|it| it.metadata.namespace = namespace.into())
    }

    /// Its storage class.
    pub fn class(self, name: impl Into<Text>) -> Self {
        self.with(|it| it.spec.storage_class_name = Some(name.into()))
    }

    /// Its access modes, instead of `ReadWriteOnce`.
    pub fn access_modes<'a>(self, modes: impl IntoIterator<Item = &'a str>) -> Self {
        self.with(|it| it.spec.access_modes = modes.into_iter().map(Into::into).collect())
    }

    /// It is bound to this volume.
    pub fn bound_to(self, volume: impl Into<Text>) -> Self {
        self.annotation(BIND_COMPLETED, "yes").with(|it| {
            it.spec.volume_name = volume.into();
            it.status.phase = "Bound".into();
        })
    }

    /// Its provisioner has been told to make a volume for this node.
    pub fn selected_node(self, node: &str) -> Self {
        self.annotation(SELECTED_NODE, node)
    }

    /// The claim.
    pub fn build(self) -> PersistentVolumeClaim {
        self.0
    }
}

/// Starts a storage class without provisioner whose claims are bound at once.
pub fn storage_class(name: &str) -> StorageClassBuilder {
    let mut class = StorageClass {
        metadata: metadata("StorageClass", name),
        provisioner: "kubernetes.io/no-provisioner".into(),
        volume_binding_mode: Some(VolumeBindingMode::Immediate),
        ..StorageClass::default()
    };
    class.metadata.namespace = Text::default();
    StorageClassBuilder(class)
}

/// A storage class in the making; see [`storage_class`].
#[derive(Clone, Debug)]
#[must_use = "a builder does nothing until it is built"]
pub struct StorageClassBuilder(StorageClass);

builder!(StorageClassBuilder => StorageClass);

impl StorageClassBuilder {
    /// Who makes its volumes.
    pub fn provisioner(self, name: impl Into<Text>) -> Self {
        self.with(|it| it.provisioner = name.into())
    }

    /// Its claims are bound once a pod that uses them has a node.
    pub fn wait_for_first_consumer(self) -> Self {
        self.with(|it| it.volume_binding_mode = Some(VolumeBindingMode::WaitForFirstConsumer))
    }

    /// Its volumes can be made where nodes have one of `values` for `key`, or as another call
    /// says.
    pub fn allowed_topology<'a>(
        self,
        key: &str,
        values: impl IntoIterator<Item = &'a str>,
    ) -> Self {
        let requirement = TopologySelectorLabelRequirement {
            key: key.into(),
            values: values.into_iter().map(Into::into).collect(),
        };
        let term = TopologySelectorTerm { match_label_expressions: vec![requirement] };
        self.with(|it| it.allowed_topologies.push(term))
    }

    /// The class.
    pub fn build(self) -> StorageClass {
        self.0
    }
}

/// Starts the list of a node's storage drivers.
pub fn csi_node(node: &str) -> CsiNodeBuilder {
    let mut csi_node = CsiNode { metadata: metadata("CSINode", node), ..CsiNode::default() };
    csi_node.metadata.namespace = Text::default();
    CsiNodeBuilder(csi_node)
}

/// A list of storage drivers in the making; see [`csi_node`].
#[derive(Clone, Debug)]
#[must_use = "a builder does nothing until it is built"]
pub struct CsiNodeBuilder(CsiNode);

builder!(CsiNodeBuilder => CsiNode);

impl CsiNodeBuilder {
    /// A driver that can attach `limit` volumes to the node; `None` is no limit.
    pub fn driver(self, name: &str, limit: Option<i32>) -> Self {
        let driver = CsiNodeDriver {
            name: name.into(),
            node_id: self.0.metadata.name.clone(),
            allocatable: limit.map(|count| VolumeNodeResources { count: Some(count) }),
            ..CsiNodeDriver::default()
        };
        self.with(|it| it.spec.drivers.push(driver))
    }

    /// The list.
    pub fn build(self) -> CsiNode {
        self.0
    }
}
