//! The kinds of object that a scheduler may watch: where they are served and how they are read.

use serde::Deserialize;

use crate::{
    DeviceClassObject, EventResource, Object, ResourceClaimObject, ResourceSliceObject,
    api::{
        CsiDriver, CsiNode, CsiStorageCapacity, Namespace, Node, PersistentVolume,
        PersistentVolumeClaim, Pod, PodDisruptionBudget, ReplicaSet, ReplicationController,
        Service, StatefulSet, StorageClass, VolumeAttachment,
    },
};

macro_rules! kinds {
    ($($(#[$doc:meta])* $kind:ident: $version:literal / $plural:literal as $type:ty;)*) => {
        /// A kind of object that a scheduler may watch, and that a plugin finds in
        /// [`Listers`](crate::Listers) if it declares that it [reads](crate::HooksOf::reads) it.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum Kind {
            $($(#[$doc])* $kind,)*
        }

        impl Kind {
            /// Every kind.
            pub const ALL: &[Self] = &[$(Self::$kind),*];

            /// Group and version, as `storage.k8s.io/v1`.
            pub fn api_version(self) -> &'static str {
                match self {
                    $(Self::$kind => $version,)*
                }
            }

            /// The plural name, as `pods`.
            pub fn plural(self) -> &'static str {
                match self {
                    $(Self::$kind => $plural,)*
                }
            }

            /// Reads one object; what no decision depends on is skipped.
            ///
            /// # Errors
            /// It is no such object, or no JSON.
            pub fn decode(self, json: &str) -> Result<Object, serde_json::Error> {
                fn read<T: for<'de> Deserialize<'de> + Into<Object>>(
                    json: &str,
                ) -> Result<Object, serde_json::Error> {
                    serde_json::from_str::<T>(json).map(Into::into)
                }
                match self {
                    $(Self::$kind => read::<$type>(json),)*
                }
            }
        }
    };
}

kinds! {
    /// Nodes.
    Node: "v1" / "nodes" as Node;
    /// Pods that have not finished.
    Pod: "v1" / "pods" as Pod;
    /// Namespaces.
    Namespace: "v1" / "namespaces" as Namespace;
    /// Services.
    Service: "v1" / "services" as Service;
    /// Replication controllers.
    ReplicationController: "v1" / "replicationcontrollers" as ReplicationController;
    /// Replica sets.
    ReplicaSet: "apps/v1" / "replicasets" as ReplicaSet;
    /// Stateful sets.
    StatefulSet: "apps/v1" / "statefulsets" as StatefulSet;
    /// Disruption budgets.
    PodDisruptionBudget: "policy/v1" / "poddisruptionbudgets" as PodDisruptionBudget;
    /// Volumes.
    PersistentVolume: "v1" / "persistentvolumes" as PersistentVolume;
    /// Claims.
    PersistentVolumeClaim: "v1" / "persistentvolumeclaims" as PersistentVolumeClaim;
    /// Storage classes.
    StorageClass: "storage.k8s.io/v1" / "storageclasses" as StorageClass;
    /// Storage drivers of nodes.
    CsiNode: "storage.k8s.io/v1" / "csinodes" as CsiNode;
    /// Storage drivers.
    CsiDriver: "storage.k8s.io/v1" / "csidrivers" as CsiDriver;
    /// Room for volumes.
    CsiStorageCapacity: "storage.k8s.io/v1" / "csistoragecapacities" as CsiStorageCapacity;
    /// Attached volumes.
    VolumeAttachment: "storage.k8s.io/v1" / "volumeattachments" as VolumeAttachment;
    /// Claims of devices.
    ResourceClaim: "resource.k8s.io/v1" / "resourceclaims" as ResourceClaimObject;
    /// Devices of nodes.
    ResourceSlice: "resource.k8s.io/v1" / "resourceslices" as ResourceSliceObject;
    /// Classes of devices.
    DeviceClass: "resource.k8s.io/v1" / "deviceclasses" as DeviceClassObject;
}

impl Kind {
    /// The kind of object that causes events of this resource.
    pub fn of(resource: EventResource) -> Option<Self> {
        match resource {
            EventResource::Pod | EventResource::AssignedPod | EventResource::UnschedulablePod => {
                Some(Self::Pod)
            }
            EventResource::Node => Some(Self::Node),
            EventResource::PersistentVolume => Some(Self::PersistentVolume),
            EventResource::PersistentVolumeClaim => Some(Self::PersistentVolumeClaim),
            EventResource::StorageClass => Some(Self::StorageClass),
            EventResource::CsiNode => Some(Self::CsiNode),
            EventResource::CsiDriver => Some(Self::CsiDriver),
            EventResource::CsiStorageCapacity => Some(Self::CsiStorageCapacity),
            EventResource::VolumeAttachment => Some(Self::VolumeAttachment),
            EventResource::ResourceClaim => Some(Self::ResourceClaim),
            EventResource::ResourceSlice => Some(Self::ResourceSlice),
            EventResource::DeviceClass => Some(Self::DeviceClass),
            _ => None,
        }
    }

    /// An object of the kind that says nothing: stands for the kind where one is asked for by an
    /// example.
    ///
    /// # Panics
    /// Never: a test reads one of every kind.
    pub fn example(self) -> Object {
        self.decode(r#"{"metadata":{"name":"example"}}"#).expect("every other field may be absent")
    }

    /// The group and the plural name, as the permission to watch them names them.
    pub fn qualified(self) -> String {
        match self.api_version().split_once('/') {
            Some((group, _)) => format!("{}.{group}", self.plural()),
            None => self.plural().to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_reads_an_object_of_nothing_but_a_name() {
        for kind in Kind::ALL {
            let object = kind.decode(r#"{"metadata":{"name":"a"},"later":{}}"#).unwrap();
            assert_eq!(&*object.metadata().name, "a", "{kind:?}");
            assert_eq!(kind.example().resource(), object.resource(), "{kind:?}");
            assert_eq!(
                object.resource().and_then(Kind::of),
                object.resource().map(|_| *kind),
                "{kind:?}"
            );
        }
    }
}
