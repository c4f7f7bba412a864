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

    /// The object of this key.
    pub fn by_key(&self, key: &ObjectKey) -> Option<&Arc<T>> {
        self.0.get(key)
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

/// Volumes and claims as they will be once what was decided about them is written.
#[derive(Clone, Debug, Default)]
struct Assumed {
    volumes: Lister<PersistentVolume>,
    claims: Lister<PersistentVolumeClaim>,
}

impl Assumed {
    /// Drops what is assumed of `object` unless its version passes `keep`.
    fn retain(&mut self, object: &Object, keep: impl Fn(&str) -> bool) {
        let key = object.key();
        match object {
            Object::PersistentVolume(_) => {
                let assumed = self.volumes.by_key(&key);
                if assumed.is_some_and(|it| !keep(&it.metadata.resource_version)) {
                    self.volumes.remove(&key);
                }
            }
            Object::PersistentVolumeClaim(_) => {
                let assumed = self.claims.by_key(&key);
                if assumed.is_some_and(|it| !keep(&it.metadata.resource_version)) {
                    self.claims.remove(&key);
                }
            }
            _ => {}
        }
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
            assumed: Assumed,
        }

        impl Listers {
            /// Stores `object`, whatever its kind, and returns the one it replaces. Nodes, pods and
            /// what feeds bring have their own homes and are ignored here.
            pub fn upsert(&mut self, object: &Object) -> Option<Object> {
                self.assumed.retain(object, |it| !it.is_empty() && it == object.version());
                match object {
                    $(Object::$variant(it) => self
                        .$field
                        .insert(object.key(), Arc::clone(it))
                        .map(Object::$variant),)*
                    Object::Pod(_) | Object::Node(_) | Object::Raw(_) => None,
                }
            }

            /// Drops `object`, whatever its kind, and returns it as it was known.
            pub fn remove(&mut self, object: &Object) -> Option<Object> {
                self.assumed.retain(object, |_| false);
                match object {
                    $(Object::$variant(_) => self
                        .$field
                        .remove(&object.key())
                        .map(Object::$variant),)*
                    Object::Pod(_) | Object::Node(_) | Object::Raw(_) => None,
                }
            }

            /// Drops every object of the kind of `like`.
            pub fn clear_kind(&mut self, like: &Object) {
                match like {
                    $(Object::$variant(_) => self.$field = Lister::default(),)*
                    Object::Pod(_) | Object::Node(_) | Object::Raw(_) => {}
                }
                match like {
                    Object::PersistentVolume(_) => self.assumed.volumes = Lister::default(),
                    Object::PersistentVolumeClaim(_) => self.assumed.claims = Lister::default(),
                    _ => {}
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

    /// Takes it that a volume or a claim will be as `object` has it, until another version of it
    /// is seen. Objects of other kinds are ignored.
    pub fn assume(&mut self, object: Object) {
        let key = object.key();
        match object {
            Object::PersistentVolume(it) => _ = self.assumed.volumes.insert(key, it),
            Object::PersistentVolumeClaim(it) => _ = self.assumed.claims.insert(key, it),
            _ => {}
        }
    }

    /// Takes back what was assumed of the version of `object`.
    pub fn restore(&mut self, object: &Object) {
        self.assumed.retain(object, |it| it != object.version());
    }

    /// The volume of this name, as it is assumed to be where something is.
    pub fn assumed_volume(&self, name: &str) -> Option<&Arc<PersistentVolume>> {
        self.persistent_volumes.get("", name).map(|it| self.as_assumed(it))
    }

    /// Every volume, as it is assumed to be where something is, in name order.
    pub fn assumed_volumes(&self) -> impl Iterator<Item = &Arc<PersistentVolume>> {
        self.persistent_volumes.iter().map(|it| self.as_assumed(it))
    }

    fn as_assumed<'a>(&'a self, known: &'a Arc<PersistentVolume>) -> &'a Arc<PersistentVolume> {
        if self.assumed.volumes.is_empty() {
            return known;
        }
        self.assumed.volumes.by_key(&known.metadata.key()).unwrap_or(known)
    }

    /// The claim of this key, as it is assumed to be where something is.
    pub fn assumed_claim(&self, key: &ObjectKey) -> Option<&Arc<PersistentVolumeClaim>> {
        let known = self.persistent_volume_claims.by_key(key)?;
        Some(self.assumed.claims.by_key(key).unwrap_or(known))
    }

    /// Drops every fact of the feed of this name.
    pub fn clear_feed(&mut self, feed: &str) {
        if self.feeds.keys().any(|(name, _)| &**name == feed) {
            Arc::make_mut(&mut self.feeds).retain(|(name, _), _| &**name != feed);
        }
    }

    /// What feed `feed` last brought for `key`, with its age.
    pub fn feed(&self, feed: &str, key: &str) -> Option<&FeedFact> {
        self.feeds.get(&(Text::from(feed), Text::from(key)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::ObjectReference;

    fn volume(version: &str, claim: Option<&str>) -> Object {
        let mut volume = PersistentVolume::default();
        volume.metadata.name = "v".into();
        volume.metadata.resource_version = version.into();
        volume.spec.claim_ref =
            claim.map(|name| ObjectReference { name: name.into(), ..ObjectReference::default() });
        volume.into()
    }

    fn claim_of(listers: &Listers) -> Option<Text> {
        let volume = listers.assumed_volume("v")?;
        volume.spec.claim_ref.as_ref().map(|it| it.name.clone())
    }

    #[test]
    fn what_is_assumed_of_a_volume_holds_until_another_version_is_seen() {
        let mut listers = Listers::default();
        listers.upsert(&volume("1", None));
        listers.assume(volume("1", Some("c")));
        assert_eq!(claim_of(&listers).as_deref(), Some("c"));
        assert_eq!(listers.persistent_volumes.get("", "v").unwrap().spec.claim_ref, None);
        listers.upsert(&volume("1", None));
        assert_eq!(claim_of(&listers).as_deref(), Some("c"), "the same version says nothing new");
        listers.upsert(&volume("2", None));
        assert_eq!(claim_of(&listers), None);
    }

    #[test]
    fn what_is_assumed_can_be_taken_back_for_its_own_version() {
        let mut listers = Listers::default();
        listers.upsert(&volume("1", None));
        listers.assume(volume("1", Some("c")));
        listers.restore(&volume("2", None));
        assert_eq!(claim_of(&listers).as_deref(), Some("c"));
        listers.restore(&volume("1", None));
        assert_eq!(claim_of(&listers), None);
        listers.assume(volume("1", Some("c")));
        listers.remove(&volume("1", None));
        listers.upsert(&volume("1", None));
        assert_eq!(claim_of(&listers), None, "a volume that went and came is another");
    }
}
