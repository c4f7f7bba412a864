//! The kinds of object that a scheduler may watch: where they are served and how they are read.

use loadmaster_framework::{
    DeviceClassObject, EventResource, Object, ResourceClaimObject, ResourceSliceObject,
    api::{
        CsiDriver, CsiNode, CsiStorageCapacity, Namespace, Node, PersistentVolume,
        PersistentVolumeClaim, Pod, PodDisruptionBudget, ReplicaSet, ReplicationController,
        Service, StatefulSet, StorageClass, VolumeAttachment,
    },
};
use serde::Deserialize;

macro_rules! kinds {
    ($($(#[$doc:meta])* $kind:ident: $version:literal / $plural:literal as $type:ty;)*) => {
        /// A kind of object that a scheduler may watch.
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
            pub(crate) fn decode(self, json: &str) -> Result<Object, serde_json::Error> {
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
    pub fn example(self) -> Object {
        self.decode(r#"{"metadata":{"name":"example"}}"#).expect("every other field may be absent")
    }

    /// Which of the objects are looked at, as an encoded query; a pod that has finished uses
    /// nothing any more (upstream: `NewInformerFactory`).
    pub(crate) fn query(self) -> &'static str {
        match self {
            Self::Pod => "&fieldSelector=status.phase%21%3DSucceeded%2Cstatus.phase%21%3DFailed",
            _ => "",
        }
    }

    /// The group and the plural name, as the permission to watch them names them.
    pub(crate) fn qualified(self) -> String {
        match self.api_version().split_once('/') {
            Some((group, _)) => format!("{}.{group}", self.plural()),
            None => self.plural().to_owned(),
        }
    }
}

/// The path of a resource, of one namespace where there is one.
pub(crate) fn resource_path(api_version: &str, plural: &str, namespace: &str) -> String {
    let root = if api_version.contains('/') { "apis" } else { "api" };
    if namespace.is_empty() {
        format!("/{root}/{api_version}/{plural}")
    } else {
        format!("/{root}/{api_version}/namespaces/{namespace}/{plural}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_those_of_the_api() {
        let path = |it: Kind| resource_path(it.api_version(), it.plural(), "");
        assert_eq!(path(Kind::Node), "/api/v1/nodes");
        assert_eq!(path(Kind::CsiNode), "/apis/storage.k8s.io/v1/csinodes");
        assert_eq!(resource_path("v1", "pods", "web"), "/api/v1/namespaces/web/pods");
    }

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
