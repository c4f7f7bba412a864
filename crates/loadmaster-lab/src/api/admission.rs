//! Admission: what the default plugins do, looked up in the store.

use serde_json::Value;

use crate::defaults::{AdmissionWorld, admit_pod};
use crate::quota;
use crate::resources::{Collection, Resource};
use crate::status::Status;
use crate::store::{Object, Store, text};

/// The store as the pod plugins look things up in it.
struct World<'a>(&'a Store);

impl AdmissionWorld for World<'_> {
    fn priority_class(&self, name: &str) -> Option<Value> {
        let class = self.0.get(Collection::PRIORITY_CLASSES, "", name)?;
        Some(Value::clone(&class))
    }

    fn default_priority_class(&self) -> Option<Value> {
        let (classes, _) = self.0.list(Collection::PRIORITY_CLASSES, None);
        let class = classes.iter().find(|it| it["globalDefault"] == true)?;
        Some(Value::clone(class))
    }

    fn limit_ranges(&self, namespace: &str) -> Vec<Value> {
        let (ranges, _) = self.0.list(Collection::LIMIT_RANGES, Some(namespace));
        ranges.iter().map(|it| Value::clone(it)).collect()
    }
}

/// Changes or refuses a new object.
pub(super) fn admit_create(
    store: &Store,
    resource: &Resource,
    object: &mut Value,
) -> Result<(), Status> {
    match resource.collection {
        Collection::PODS => pod(store, resource, object, true),
        Collection::PRIORITY_CLASSES => one_default_class(store, resource, object),
        Collection::PERSISTENT_VOLUME_CLAIMS => {
            default_storage_class(store, object);
            Ok(())
        }
        _ => Ok(()),
    }
}

/// `ResourceQuota`: the quotas of the namespace have room for the object.
///
/// `quotas` are those of the object's namespace.
pub(super) fn check_quotas(
    store: &Store,
    quotas: &[Object],
    resource: &Resource,
    object: &Value,
) -> Result<(), Status> {
    quota::check(store, quotas, resource, object)
        .map_err(|why| Status::forbidden(resource, text(object, "name"), &why))
}

/// Changes or refuses a changed object.
pub(super) fn admit_update(
    store: &Store,
    resource: &Resource,
    object: &mut Value,
) -> Result<(), Status> {
    match resource.collection {
        Collection::PODS => pod(store, resource, object, false),
        Collection::PRIORITY_CLASSES => one_default_class(store, resource, object),
        _ => Ok(()),
    }
}

fn pod(store: &Store, resource: &Resource, object: &mut Value, create: bool) -> Result<(), Status> {
    admit_pod(object, create, &World(store))
        .map_err(|denied| Status::forbidden(resource, &denied.name, &denied.reason))
}

/// `Priority` on classes: there is one global default at most.
fn one_default_class(store: &Store, resource: &Resource, object: &Value) -> Result<(), Status> {
    if object["globalDefault"] != true {
        return Ok(());
    }
    let name = text(object, "name");
    match World(store).default_priority_class() {
        Some(other) if text(&other, "name") != name => {
            let why = format!(
                "PriorityClass {} is already marked as default. Only one default can exist",
                text(&other, "name")
            );
            Err(Status::forbidden(resource, name, &why))
        }
        _ => Ok(()),
    }
}

/// `DefaultStorageClass`: a claim that names no class gets the newest default one.
fn default_storage_class(store: &Store, claim: &mut Value) {
    if !claim["spec"]["storageClassName"].is_null() {
        return;
    }
    let is_default = |class: &Value| {
        class["metadata"]["annotations"]["storageclass.kubernetes.io/is-default-class"] == "true"
    };
    let (classes, _) = store.list(Collection::STORAGE_CLASSES, None);
    let newest = classes
        .iter()
        .filter(|it| is_default(it))
        .max_by_key(|it| (text(it, "creationTimestamp"), std::cmp::Reverse(text(it, "name"))));
    if let Some(class) = newest {
        claim["spec"]["storageClassName"] = class["metadata"]["name"].clone();
    }
}
