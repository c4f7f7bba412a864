//! The cluster: what an API server would say there is.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::Arc,
};

use loadmaster_core::scheduler::{ClusterChange, ConditionPatch};
use loadmaster_framework::{
    ActionError, Object,
    api::{ObjectKey, PersistentVolume, PersistentVolumeClaim, Pod, PodCondition, Text, Timestamp},
};

use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

/// The kind of an object and its key: what an API server keeps apart.
type Place = (u8, ObjectKey);

/// The cluster: what an API server would say there is, and what it has still to tell.
#[derive(Clone, Debug, Default)]
pub struct Cluster {
    objects: BTreeMap<Place, Object>,
    /// Changes that the scheduler has not been told yet, in order.
    pub(crate) untold: VecDeque<ClusterChange>,
    version: u64,
    bound: u64,
    conflicts: u64,
}

/// The first pod that is bound starts at this second since 1970; each later one a minute later.
const FIRST_START_SECOND: i64 = 1_767_225_600;

impl Cluster {
    /// Every object, by kind and key.
    pub fn objects(&self) -> impl Iterator<Item = &Object> {
        self.objects.values()
    }

    /// Every pod, by key.
    pub fn pods(&self) -> impl Iterator<Item = &Arc<Pod>> {
        self.objects.values().filter_map(Object::as_pod)
    }

    /// The pod of this key.
    pub fn pod(&self, key: &ObjectKey) -> Option<&Arc<Pod>> {
        self.objects.get(&(kind_number(&Object::from(Pod::default())), key.clone()))?.as_pod()
    }

    /// How often a pod that was bound already was to be bound again.
    pub fn bind_conflicts(&self) -> u64 {
        self.conflicts
    }

    /// Stores an object as it is, whatever was there. An update of a pod keeps its binding and its
    /// status, as the API does.
    pub fn write(&mut self, object: Object) {
        let object = match (&object, self.objects.get(&place(&object))) {
            (Object::Pod(new), Some(Object::Pod(old))) => {
                let mut pod = Pod::clone(new);
                pod.spec.node_name = old.spec.node_name.clone();
                pod.status = old.status.clone();
                if pod.uid().is_empty() {
                    pod.metadata.uid = old.uid().clone();
                }
                Object::from(pod)
            }
            _ => object,
        };
        self.store(object);
    }

    /// Drops the object of this kind and key; the kind is that of `like`. Returns it if it was
    /// there.
    pub fn delete(&mut self, like: &Object) -> Option<Object> {
        let gone = self.objects.remove(&place(like))?;
        self.version += 1;
        self.untold.push_back(ClusterChange::Deleted(gone.clone()));
        Some(gone)
    }

    /// Binds a pod, as `POST pods/NAME/binding` does.
    ///
    /// # Errors
    /// As the API: the pod is gone, is another, is going, or is bound already.
    pub fn bind(&mut self, key: &ObjectKey, uid: &str, node: &Text) -> Result<(), ActionError> {
        let pod = self.live(key, uid)?;
        if let Some(node) = pod.node_name() {
            self.conflicts += 1;
            let text = format!("pod {} is already assigned to node {node:?}", key.name);
            return Err(ActionError::Conflict(text));
        }
        if pod.is_terminating() {
            let text = format!("pod {} is being deleted, cannot be assigned to a host", key.name);
            return Err(ActionError::Conflict(text));
        }
        let mut pod = Pod::clone(&pod);
        pod.spec.node_name = node.clone();
        pod.status.nominated_node_name = Text::from("");
        let start = FIRST_START_SECOND + 60 * i64::try_from(self.bound).unwrap_or(i64::MAX);
        self.bound += 1;
        pod.status.start_time = jiff::Timestamp::from_second(start).ok().map(Timestamp);
        set_condition(&mut pod, "PodScheduled", "True", "", "");
        self.store(Object::from(pod));
        Ok(())
    }

    /// Patches a pod's status.
    ///
    /// # Errors
    /// The pod is gone or is another.
    pub fn patch_status(
        &mut self,
        key: &ObjectKey,
        uid: &str,
        condition: Option<&ConditionPatch>,
        nominated_node_name: Option<&Text>,
    ) -> Result<(), ActionError> {
        let mut pod = Pod::clone(&*self.live(key, uid)?);
        if let Some(it) = condition {
            set_condition(&mut pod, it.kind, it.status, it.reason, &it.message);
        }
        if let Some(node) = nominated_node_name {
            pod.status.nominated_node_name = node.clone();
        }
        self.store(Object::from(pod));
        Ok(())
    }

    /// Patches a volume or a claim (JSON merge patch), as PreBind does.
    ///
    /// # Errors
    /// There is no such object, the patch is for another version of it, or makes no sense of it.
    pub fn patch(
        &mut self,
        resource: &str,
        key: &ObjectKey,
        patch: &Value,
    ) -> Result<(), ActionError> {
        let like: Object = match resource {
            "persistentvolumes" => PersistentVolume::default().into(),
            "persistentvolumeclaims" => PersistentVolumeClaim::default().into(),
            other => return Err(ActionError::Refused(format!("no patches of {other} here"))),
        };
        let not_found = || ActionError::NotFound(format!("{resource} {:?} not found", &*key.name));
        let refused = |it: serde_json::Error| ActionError::Refused(it.to_string());
        let known = self.objects.get(&(kind_number(&like), key.clone()));
        let for_version = patch.pointer("/metadata/resourceVersion").and_then(Value::as_str);
        if let (Some(known), Some(version)) = (known, for_version)
            && known.version() != version
        {
            let name = &key.name;
            let text = format!(
                "Operation cannot be fulfilled on {resource} {name:?}: the object has been modified"
            );
            return Err(ActionError::Conflict(text));
        }
        let object = match known {
            Some(Object::PersistentVolume(it)) => patched(&**it, patch).map(Object::from),
            Some(Object::PersistentVolumeClaim(it)) => patched(&**it, patch).map(Object::from),
            _ => return Err(not_found()),
        };
        let object = object.map_err(refused)?;
        // A write that changes nothing is told to nobody.
        if self.objects.get(&place(&object)) != Some(&object) {
            self.store(object);
        }
        Ok(())
    }

    /// Deletes a pod at once.
    ///
    /// # Errors
    /// The pod is gone or is another.
    pub fn delete_pod(&mut self, key: &ObjectKey, uid: &str) -> Result<(), ActionError> {
        let pod = self.live(key, uid)?;
        self.delete(&Object::Pod(pod));
        Ok(())
    }

    fn live(&self, key: &ObjectKey, uid: &str) -> Result<Arc<Pod>, ActionError> {
        let pod = self.pod(key).filter(|it| &**it.uid() == uid);
        pod.cloned()
            .ok_or_else(|| ActionError::NotFound(format!("pods {:?} not found", &*key.name)))
    }

    fn store(&mut self, object: Object) {
        self.version += 1;
        let mut object = object;
        // Objects that the scheduler writes to: their versions tell what it has seen.
        let metadata = match &mut object {
            Object::Pod(it) => Some(&mut Arc::make_mut(it).metadata),
            Object::PersistentVolume(it) => Some(&mut Arc::make_mut(it).metadata),
            Object::PersistentVolumeClaim(it) => Some(&mut Arc::make_mut(it).metadata),
            _ => None,
        };
        if let Some(metadata) = metadata {
            metadata.resource_version = Text::from(self.version.to_string());
        }
        self.objects.insert(place(&object), object.clone());
        self.untold.push_back(ClusterChange::Applied(object));
    }
}

fn patched<T: Serialize + DeserializeOwned>(
    object: &T,
    patch: &Value,
) -> Result<T, serde_json::Error> {
    let mut json = serde_json::to_value(object)?;
    json_patch::merge(&mut json, patch);
    serde_json::from_value(json)
}

fn set_condition(pod: &mut Pod, kind: &str, status: &str, reason: &str, message: &str) {
    pod.status.conditions.retain(|it| &*it.r#type != kind);
    pod.status.conditions.push(PodCondition {
        r#type: kind.into(),
        status: status.into(),
        reason: reason.into(),
        message: message.into(),
    });
}

pub(crate) fn place(object: &Object) -> Place {
    (kind_number(object), object.key())
}

/// Tells kinds apart; the numbers mean nothing.
fn kind_number(object: &Object) -> u8 {
    match object {
        Object::Pod(_) => 0,
        Object::Node(_) => 1,
        Object::Namespace(_) => 2,
        Object::Service(_) => 3,
        Object::ReplicationController(_) => 4,
        Object::ReplicaSet(_) => 5,
        Object::StatefulSet(_) => 6,
        Object::PodDisruptionBudget(_) => 7,
        Object::PersistentVolume(_) => 8,
        Object::PersistentVolumeClaim(_) => 9,
        Object::StorageClass(_) => 10,
        Object::CsiNode(_) => 11,
        Object::CsiDriver(_) => 12,
        Object::CsiStorageCapacity(_) => 13,
        Object::VolumeAttachment(_) => 14,
        Object::ResourceClaim(_) => 15,
        Object::ResourceSlice(_) => 16,
        Object::DeviceClass(_) => 17,
        _ => u8::MAX,
    }
}
