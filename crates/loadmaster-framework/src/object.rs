//! Any object that events are about.

use std::sync::Arc;

use crate::api::{
    CsiDriver, CsiNode, CsiStorageCapacity, Namespace, Node, ObjectKey, ObjectMeta,
    PersistentVolume, PersistentVolumeClaim, Pod, PodDisruptionBudget, ReplicaSet,
    ReplicationController, Service, StatefulSet, StorageClass, VolumeAttachment,
};
use crate::event::EventResource;

/// An object of a kind that the framework has no type for: a claim of devices, or a kind that a
/// feed watches.
#[derive(Clone, Debug, Default, PartialEq, serde::Deserialize)]
#[serde(default)]
pub struct RawObject {
    /// Its metadata.
    pub metadata: ObjectMeta,
    /// Everything else, as the API sent it.
    #[serde(flatten)]
    pub body: serde_json::Map<String, serde_json::Value>,
}

macro_rules! objects {
    ($($(#[$doc:meta])* $variant:ident($type:ty) = $resource:expr;)*) => {
        /// An object of the cluster, shared.
        #[derive(Clone, Debug, PartialEq)]
        #[non_exhaustive]
        pub enum Object {
            $($(#[$doc])* $variant(Arc<$type>),)*
        }

        impl Object {
            /// The object's metadata.
            pub fn metadata(&self) -> &ObjectMeta {
                match self {
                    $(Self::$variant(it) => &it.metadata,)*
                }
            }

            /// The kind of events that the object causes; `None` where its changes are read but
            /// wake nobody.
            pub fn resource(&self) -> Option<EventResource> {
                match self {
                    $(Self::$variant(_) => $resource,)*
                }
            }
        }

        $(impl From<$type> for Object {
            fn from(object: $type) -> Self {
                Self::$variant(Arc::new(object))
            }
        })*
    };
}

objects! {
    /// A pod.
    Pod(Pod) = Some(EventResource::Pod);
    /// A node.
    Node(Node) = Some(EventResource::Node);
    /// A namespace.
    Namespace(Namespace) = None;
    /// A service.
    Service(Service) = None;
    /// A replication controller.
    ReplicationController(ReplicationController) = None;
    /// A replica set.
    ReplicaSet(ReplicaSet) = None;
    /// A stateful set.
    StatefulSet(StatefulSet) = None;
    /// A disruption budget.
    PodDisruptionBudget(PodDisruptionBudget) = None;
    /// A volume.
    PersistentVolume(PersistentVolume) = Some(EventResource::PersistentVolume);
    /// A claim.
    PersistentVolumeClaim(PersistentVolumeClaim) = Some(EventResource::PersistentVolumeClaim);
    /// A storage class.
    StorageClass(StorageClass) = Some(EventResource::StorageClass);
    /// A node's storage drivers.
    CsiNode(CsiNode) = Some(EventResource::CsiNode);
    /// A storage driver.
    CsiDriver(CsiDriver) = Some(EventResource::CsiDriver);
    /// Room in a part of the cluster.
    CsiStorageCapacity(CsiStorageCapacity) = Some(EventResource::CsiStorageCapacity);
    /// A volume attached to a node.
    VolumeAttachment(VolumeAttachment) = Some(EventResource::VolumeAttachment);
    /// A claim of devices.
    ResourceClaim(ResourceClaimObject) = Some(EventResource::ResourceClaim);
    /// Devices of a node.
    ResourceSlice(ResourceSliceObject) = Some(EventResource::ResourceSlice);
    /// A class of devices.
    DeviceClass(DeviceClassObject) = Some(EventResource::DeviceClass);
    /// An object of a kind that a feed watches; the core gets it as a fact.
    Raw(RawObject) = None;
}

macro_rules! raw {
    ($($(#[$doc:meta])* $name:ident;)*) => {
        $($(#[$doc])*
        #[derive(Clone, Debug, Default, PartialEq, serde::Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub RawObject);

        impl std::ops::Deref for $name {
            type Target = RawObject;

            fn deref(&self) -> &RawObject {
                &self.0
            }
        })*
    };
}

raw! {
    /// A `ResourceClaim` of `resource.k8s.io/v1`.
    ResourceClaimObject;
    /// A `ResourceSlice` of `resource.k8s.io/v1`.
    ResourceSliceObject;
    /// A `DeviceClass` of `resource.k8s.io/v1`.
    DeviceClassObject;
}

impl Object {
    /// `namespace/name`.
    pub fn key(&self) -> ObjectKey {
        self.metadata().key()
    }

    /// The server's version of the object.
    pub fn version(&self) -> &str {
        &self.metadata().resource_version
    }

    /// The pod, if it is one.
    pub fn as_pod(&self) -> Option<&Arc<Pod>> {
        if let Self::Pod(pod) = self { Some(pod) } else { None }
    }

    /// The node, if it is one.
    pub fn as_node(&self) -> Option<&Arc<Node>> {
        if let Self::Node(node) = self { Some(node) } else { None }
    }
}
