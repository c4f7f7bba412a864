//! Objects of every kind that cases have, read by their kind's name.

use loadmaster_framework::{
    Object,
    api::{
        CsiDriver, CsiNode, CsiStorageCapacity, Namespace, Node, PersistentVolume,
        PersistentVolumeClaim, Pod, PodDisruptionBudget, ReplicaSet, ReplicationController,
        Service, StatefulSet, StorageClass, VolumeAttachment,
    },
};
use serde::de::{DeserializeOwned, Error};
use serde_json::Value;

/// Reads `value` as an object of `kind`, with or without the API group before it; `null` is none.
pub(super) fn object(kind: &str, value: Value) -> serde_json::Result<Option<Object>> {
    fn read<T: DeserializeOwned + Into<Object>>(
        value: Value,
    ) -> serde_json::Result<Option<Object>> {
        Ok(serde_json::from_value::<Option<T>>(value)?.map(Into::into))
    }
    fn raw<T: DeserializeOwned>(
        value: Value,
        into: fn(std::sync::Arc<T>) -> Object,
    ) -> serde_json::Result<Option<Object>> {
        Ok(serde_json::from_value::<Option<T>>(value)?.map(|it| into(it.into())))
    }
    match kind.rsplit('/').next().unwrap_or(kind) {
        "Pod" => read::<Pod>(value),
        "Node" => read::<Node>(value),
        "Namespace" => read::<Namespace>(value),
        "Service" => read::<Service>(value),
        "ReplicationController" => read::<ReplicationController>(value),
        "ReplicaSet" => read::<ReplicaSet>(value),
        "StatefulSet" => read::<StatefulSet>(value),
        "PodDisruptionBudget" => read::<PodDisruptionBudget>(value),
        "PersistentVolume" => read::<PersistentVolume>(value),
        "PersistentVolumeClaim" => read::<PersistentVolumeClaim>(value),
        "StorageClass" => read::<StorageClass>(value),
        "CSINode" => read::<CsiNode>(value),
        "CSIDriver" => read::<CsiDriver>(value),
        "CSIStorageCapacity" => read::<CsiStorageCapacity>(value),
        "VolumeAttachment" => read::<VolumeAttachment>(value),
        "ResourceClaim" => raw(value, Object::ResourceClaim),
        "ResourceSlice" => raw(value, Object::ResourceSlice),
        "DeviceClass" => raw(value, Object::DeviceClass),
        other => Err(Error::custom(format!("no kind {other:?} is known"))),
    }
}
