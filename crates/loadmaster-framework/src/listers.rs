//! What is known of the cluster beside its nodes and pods.

use std::{collections::BTreeMap, sync::Arc};

use super::{FeedFact, Object};
use crate::api::{
    CsiDriver, CsiNode, CsiStorageCapacity, Labels, Namespace, ObjectKey, PersistentVolume,
    PersistentVolumeClaim, PodDisruptionBudget, ReplicaSet, ReplicationController, Service,
    StatefulSet, StorageClass, Text, VolumeAttachment,
};
use crate::object::{DeviceClassObject, ResourceClaimObject, ResourceSliceObject};

/// All objects of one kind, by namespace and name. A clone shares the contents until one changes.
#[derive(Debug)]
pub struct Lister<T>(Arc<BTreeMap<ObjectKey, Arc<T>>>);

impl<T> Clone for Lister<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T> Default for Lister<T> {
    fn default() -> Self {
        Self(Arc::default())
    }
}

impl<T> Lister<T> {
    /// The object of this key; the namespace of objects of the cluster is empty.
    pub fn get(&self, namespace: &str, name: &str) -> Option<&Arc<T>> {
        self.0.get(&ObjectKey::new(namespace, name))
    }

    /// Every object, in key order.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<T>> {
        self.0.values()
    }

    /// Every object of one namespace, in name order.
    pub fn in_namespace(&self, namespace: &str) -> impl Iterator<Item = &Arc<T>> {
        let from = ObjectKey::new(namespace, "");
        let same = from.namespace.clone();
        self.0.range(from..).take_while(move |(key, _)| key.namespace == same).map(|(_, it)| it)
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Stores an object; returns the one it replaces.
    pub fn insert(&mut self, key: ObjectKey, object: Arc<T>) -> Option<Arc<T>> {
        Arc::make_mut(&mut self.0).insert(key, object)
    }

    /// Drops an object; returns it if it was there.
    pub fn remove(&mut self, key: &ObjectKey) -> Option<Arc<T>> {
        if !self.0.contains_key(key) {
            return None;
        }
        Arc::make_mut(&mut self.0).remove(key)
    }
}

macro_rules! listers {
    ($($(#[$doc:meta])* $field:ident: $variant:ident($type:ty);)*) => {
        /// What is known of the cluster beside its nodes and pods: upstream's informer listers.
        #[derive(Clone, Debug, Default)]
        #[non_exhaustive]
        pub struct Listers {
            $($(#[$doc])* pub $field: Lister<$type>,)*
            /// What feeds have brought, by feed and key.
            pub feeds: Arc<BTreeMap<(Text, Text), FeedFact>>,
        }

        impl Listers {
            /// Stores `object`, whatever its kind, and returns the one it replaces. Nodes and pods
            /// have their own home and are ignored here.
            pub fn upsert(&mut self, object: &Object) -> Option<Object> {
                match object {
                    $(Object::$variant(it) => self
                        .$field
                        .insert(object.key(), Arc::clone(it))
                        .map(Object::$variant),)*
                    Object::Pod(_) | Object::Node(_) => None,
                }
            }

            /// Drops `object`, whatever its kind, and returns it as it was known.
            pub fn remove(&mut self, object: &Object) -> Option<Object> {
                match object {
                    $(Object::$variant(_) => self
                        .$field
                        .remove(&object.key())
                        .map(Object::$variant),)*
                    Object::Pod(_) | Object::Node(_) => None,
                }
            }
        }
    };
}

listers! {
    /// Namespaces.
    namespaces: Namespace(Namespace);
    /// Services.
    services: Service(Service);
    /// Replication controllers.
    replication_controllers: ReplicationController(ReplicationController);
    /// Replica sets.
    replica_sets: ReplicaSet(ReplicaSet);
    /// Stateful sets.
    stateful_sets: StatefulSet(StatefulSet);
    /// Disruption budgets.
    pod_disruption_budgets: PodDisruptionBudget(PodDisruptionBudget);
    /// Volumes.
    persistent_volumes: PersistentVolume(PersistentVolume);
    /// Claims.
    persistent_volume_claims: PersistentVolumeClaim(PersistentVolumeClaim);
    /// Storage classes.
    storage_classes: StorageClass(StorageClass);
    /// Storage drivers of nodes.
    csi_nodes: CsiNode(CsiNode);
    /// Storage drivers.
    csi_drivers: CsiDriver(CsiDriver);
    /// Room for volumes.
    csi_storage_capacities: CsiStorageCapacity(CsiStorageCapacity);
    /// Attached volumes.
    volume_attachments: VolumeAttachment(VolumeAttachment);
    /// Claims of devices.
    resource_claims: ResourceClaim(ResourceClaimObject);
    /// Devices of nodes.
    resource_slices: ResourceSlice(ResourceSliceObject);
    /// Classes of devices.
    device_classes: DeviceClass(DeviceClassObject);
}

impl Listers {
    /// The labels of a namespace; those of one that is not known are empty.
    pub fn namespace_labels(&self, name: &str) -> Labels {
        self.namespaces.get("", name).map(|it| it.metadata.labels.clone()).unwrap_or_default()
    }

    /// What feed `feed` last brought for `key`, with its age.
    pub fn feed(&self, feed: &str, key: &str) -> Option<&FeedFact> {
        self.feeds.get(&(Text::from(feed), Text::from(key)))
    }
}
