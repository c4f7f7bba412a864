//! An API server in memory, as far as the sequences need one.

use std::collections::BTreeMap;

use loadmaster_core::scheduler::ClusterChange;
use loadmaster_framework::{
    Action, ActionError, ActionResult,
    api::{ObjectKey, Timestamp},
};
use serde::de::Error;
use serde_json::{Value, json};

use crate::golden::kinds::object;

/// The objects of the cluster as JSON, by kind, namespace and name.
#[derive(Debug, Default)]
pub(super) struct World {
    objects: BTreeMap<(String, ObjectKey), Value>,
    bound: i64,
}

fn key_of(object: &Value) -> ObjectKey {
    let text = |field: &str| object["metadata"][field].as_str().unwrap_or_default().to_owned();
    ObjectKey::new(text("namespace"), text("name"))
}

impl World {
    /// Stores an object, whether or not there is one of its name.
    pub(super) fn put(&mut self, kind: &str, value: Value) -> serde_json::Result<ClusterChange> {
        let change = object(kind, value.clone())?.map(ClusterChange::Applied);
        self.objects.insert((kind.to_owned(), key_of(&value)), value);
        change.ok_or_else(|| Error::custom("no object"))
    }

    /// Replaces metadata and spec of an object. Of a pod, the node and the status stay as they are.
    pub(super) fn update(
        &mut self,
        kind: &str,
        mut new: Value,
    ) -> serde_json::Result<ClusterChange> {
        let old = self.objects.get(&(kind.to_owned(), key_of(&new)));
        let old = old.ok_or_else(|| Error::custom("no such object"))?;
        if kind == "Pod" {
            for (part, field) in [("", "status"), ("spec", "nodeName")] {
                let from = if part.is_empty() { old } else { &old[part] };
                if let Some(kept) = from.get(field) {
                    let to = if part.is_empty() { &mut new } else { &mut new[part] };
                    to[field] = kept.clone();
                }
            }
        }
        self.put(kind, new)
    }

    /// Drops an object; `None` where there is none of this name.
    pub(super) fn delete(
        &mut self,
        kind: &str,
        key: &ObjectKey,
    ) -> serde_json::Result<Option<ClusterChange>> {
        let Some(last) = self.objects.remove(&(kind.to_owned(), key.clone())) else {
            return Ok(None);
        };
        Ok(object(kind, last)?.map(ClusterChange::Deleted))
    }

    /// The object as it is now.
    pub(super) fn get(&self, kind: &str, key: &ObjectKey) -> Option<&Value> {
        self.objects.get(&(kind.to_owned(), key.clone()))
    }

    /// Every pod.
    pub(super) fn pods(&self) -> impl Iterator<Item = (&ObjectKey, &Value)> {
        self.objects.iter().filter(|((kind, _), _)| kind == "Pod").map(|((_, key), it)| (key, it))
    }

    /// Does what a plugin asked for.
    pub(super) fn act(
        &mut self,
        action: &Action,
    ) -> serde_json::Result<(ActionResult, Option<ClusterChange>)> {
        let (kind, key) = match action {
            Action::Bind { pod, .. } => ("Pod", pod),
            Action::Patch { resource, key, .. } | Action::Delete { resource, key, .. } => {
                let kind = match &**resource {
                    "pods" => "Pod",
                    "persistentvolumes" => "PersistentVolume",
                    "persistentvolumeclaims" => "PersistentVolumeClaim",
                    other => return Err(Error::custom(format!("no resource {other:?} is known"))),
                };
                (kind, key)
            }
            other => return Err(Error::custom(format!("{other:?} cannot be done here"))),
        };
        let Some(mut value) = self.get(kind, key).cloned() else {
            return Ok((Err(ActionError::NotFound(format!("{key} not found"))), None));
        };
        match action {
            Action::Delete { .. } => {
                let change = self.delete(kind, key)?;
                return Ok((Ok(value), change));
            }
            Action::Bind { node, .. } => {
                value["spec"]["nodeName"] = json!(node);
                self.bound += 1;
                let started = jiff::Timestamp::from_second(self.bound * 60).map(Timestamp);
                value["status"]["startTime"] = json!(started.map_err(Error::custom)?);
            }
            Action::Patch { patch, .. } => merge(&mut value, patch),
            _ => {}
        }
        let change = self.put(kind, value.clone())?;
        Ok((Ok(value), Some(change)))
    }
}

/// Applies a merge patch (RFC 7386).
fn merge(value: &mut Value, patch: &Value) {
    let Value::Object(patch) = patch else {
        *value = patch.clone();
        return;
    };
    if !value.is_object() {
        *value = json!({});
    }
    for (key, change) in patch {
        if change.is_null() {
            if let Some(fields) = value.as_object_mut() {
                fields.remove(key);
            }
        } else {
            merge(&mut value[key], change);
        }
    }
}
