//! What is kept for server-side apply: the configuration that each manager applied last.
//!
//! That is enough for the two things that people notice: a manager that stops sending a field takes
//! it away unless another manager still applies it, and a manager that sends another value for a
//! field that somebody else applies is told about the conflict. Fields that were set by updates
//! belong to nobody here, and `managedFields` is never shown.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use serde_json::{Map, Value};

use super::{Api, PatchRequest};
use crate::resources::Resource;
use crate::status::{Cause, Details, Status};
use crate::store::{Object, text};

/// The last applied configurations: by object uid, then by manager.
#[derive(Debug, Default)]
pub(super) struct Ownership {
    by_uid: Mutex<BTreeMap<String, BTreeMap<String, Value>>>,
}

/// Members that identify an object rather than configure it.
const IDENTITY: [&str; 4] = ["name", "namespace", "uid", "resourceVersion"];

impl Api {
    /// Refuses conflicts with other managers and takes away what this manager no longer applies.
    pub(super) fn release(
        &self,
        object: &mut Value,
        request: PatchRequest<'_>,
    ) -> Result<(), Status> {
        let Some(wanted) = configuration(request.body) else { return Ok(()) };
        let uid = text(object, "uid").to_owned();
        let owned = self.applied.by_uid.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(managers) = owned.get(&uid) else { return Ok(()) };
        let others = || managers.iter().filter(|(name, _)| *name != request.field_manager);
        if !request.force {
            let mut conflicts = Vec::new();
            for (manager, applied) in others() {
                find_conflicts(&wanted, applied, object, "", manager, &mut conflicts);
            }
            if !conflicts.is_empty() {
                return Err(conflict(conflicts));
            }
        }
        if let Some(previous) = managers.get(request.field_manager) {
            let kept: Vec<&Value> = others().map(|(_, applied)| applied).collect();
            prune(object, previous, &wanted, &kept);
        }
        Ok(())
    }

    /// Lets go of what was applied to an object that is gone.
    pub(super) fn forget(&self, object: &Object) {
        let mut owned = self.applied.by_uid.lock().unwrap_or_else(PoisonError::into_inner);
        owned.remove(text(object, "uid"));
    }

    /// Keeps what was applied for the next time.
    pub(super) fn remember(
        &self,
        resource: &Resource,
        object: &Object,
        request: PatchRequest<'_>,
    ) -> Result<(), Status> {
        let uid = text(object, "uid").to_owned();
        if request.dry_run || uid.is_empty() {
            return Ok(());
        }
        let wanted = configuration(request.body)
            .ok_or_else(|| Status::bad_request(format!("{} cannot be applied", resource.kind)))?;
        let mut owned = self.applied.by_uid.lock().unwrap_or_else(PoisonError::into_inner);
        let managers = owned.entry(uid).or_default();
        if request.force {
            // What is taken by force no longer belongs to the others.
            for (name, applied) in managers.iter_mut() {
                if name != request.field_manager {
                    subtract(applied, &wanted);
                }
            }
        }
        managers.insert(request.field_manager.to_owned(), wanted);
        Ok(())
    }
}

/// The applied object without what identifies it.
fn configuration(body: &[u8]) -> Option<Value> {
    let mut value: Value = serde_json::from_slice(body).ok().or_else(|| {
        let text = std::str::from_utf8(body).ok()?;
        serde_saphyr::from_str(text).ok()
    })?;
    let map = value.as_object_mut()?;
    map.remove("kind");
    map.remove("apiVersion");
    if let Some(metadata) = map.get_mut("metadata").and_then(Value::as_object_mut) {
        for field in IDENTITY {
            metadata.remove(field);
        }
    }
    Some(value)
}

/// Leaves that `wanted` sets to something else than the object has and that `applied` sets too.
fn find_conflicts(
    wanted: &Value,
    applied: &Value,
    object: &Value,
    path: &str,
    manager: &str,
    found: &mut Vec<(String, String)>,
) {
    match (wanted, applied) {
        (Value::Object(wanted), Value::Object(applied)) => {
            for (key, value) in wanted {
                if let Some(other) = applied.get(key) {
                    let path = format!("{path}.{key}");
                    find_conflicts(value, other, &object[key], &path, manager, found);
                }
            }
        }
        // Lists merge by keys that only the patch knows; they are left to it.
        (Value::Array(_), Value::Array(_)) => {}
        _ if wanted != object => found.push((path.to_owned(), manager.to_owned())),
        _ => {}
    }
}

fn conflict(conflicts: Vec<(String, String)>) -> Status {
    let count = conflicts.len();
    let plural = if count == 1 { "" } else { "s" };
    let list: Vec<String> = conflicts
        .iter()
        .map(|(path, manager)| format!("conflict with {manager:?}: {path}"))
        .collect();
    let message = format!("Apply failed with {count} conflict{plural}: {}", list.join(", "));
    let causes = conflicts
        .into_iter()
        .map(|(field, manager)| Cause {
            reason: "FieldManagerConflict".to_owned(),
            message: format!("conflict with {manager:?}"),
            field,
        })
        .collect();
    Status::new(409, "Conflict", message).with_details(Details { causes, ..Details::default() })
}

/// Removes from `object` the members that `previous` had, `wanted` has not and nobody else applies.
fn prune(object: &mut Value, previous: &Value, wanted: &Value, others: &[&Value]) {
    let (Some(object), Some(previous)) = (object.as_object_mut(), previous.as_object()) else {
        return;
    };
    for (key, before) in previous {
        let still: Vec<&Value> = others.iter().filter_map(|it| it.get(key)).collect();
        match wanted.get(key) {
            None if still.is_empty() => {
                object.remove(key);
            }
            None => prune_inside(object, key, before, &Value::Object(Map::new()), &still),
            Some(after) => prune_inside(object, key, before, after, &still),
        }
    }
}

fn prune_inside(
    object: &mut Map<String, Value>,
    key: &str,
    before: &Value,
    after: &Value,
    still: &[&Value],
) {
    let Some(inner) = object.get_mut(key) else { return };
    match (before, after) {
        (Value::Object(_), Value::Object(_)) => prune(inner, before, after, still),
        (Value::Array(before), Value::Array(after)) => prune_list(inner, before, after),
        _ => {}
    }
}

/// Items that have a `name` are told apart by it; those no longer applied go.
fn prune_list(list: &mut Value, before: &[Value], after: &[Value]) {
    let Some(items) = list.as_array_mut() else { return };
    let named = |list: &[Value], name: &str| list.iter().any(|it| it["name"] == *name);
    items.retain(|item| {
        let Some(name) = item["name"].as_str() else { return true };
        !named(before, name) || named(after, name)
    });
    for item in items {
        let Some(name) = item["name"].as_str().map(str::to_owned) else { continue };
        let find = |list: &[Value]| list.iter().find(|it| it["name"] == *name).cloned();
        if let (Some(before), Some(after)) = (find(before), find(after)) {
            prune(item, &before, &after, &[]);
        }
    }
}

/// Removes from `applied` the leaves that `taken` sets.
fn subtract(applied: &mut Value, taken: &Value) {
    let (Some(applied), Some(taken)) = (applied.as_object_mut(), taken.as_object()) else { return };
    for (key, value) in taken {
        match applied.get_mut(key) {
            Some(inner) if inner.is_object() && value.is_object() => subtract(inner, value),
            Some(_) => {
                applied.remove(key);
            }
            None => {}
        }
    }
}
