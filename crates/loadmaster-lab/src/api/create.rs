//! Creating objects.

use std::sync::{Arc, PoisonError};

use serde_json::{Value, json};

use super::{Api, admission, lifecycle, views};
use crate::resources::{Collection, Resource};
use crate::status::Status;
use crate::store::{Object, StoreError, is_being_deleted, prepare_create, rfc3339, text};
use crate::{defaults, validation};

/// How many generated names are tried before a create is refused.
const NAME_TRIES: usize = 8;

impl Api {
    /// Creates an object in `namespace` (empty for cluster-scoped kinds) and answers it as stored;
    /// with `dry_run` everything but the storing is done.
    ///
    /// # Errors
    /// Whatever kube-apiserver refuses a create with: a namespace or name that contradicts itself,
    /// a missing or dying namespace, admission, validation, an existing object.
    pub fn create(
        &self,
        resource: &Resource,
        namespace: &str,
        object: Value,
        dry_run: bool,
    ) -> Result<Object, Status> {
        let (quotas, _) = self.store.list(Collection::RESOURCE_QUOTAS, Some(namespace));
        // Nothing waits while it has its turn.
        let _turn = (!quotas.is_empty())
            .then(|| self.quota_turn.lock().unwrap_or_else(PoisonError::into_inner));
        if dry_run {
            let object = self.admit(resource, namespace, &quotas, object)?;
            let name = text(&object, "name");
            if let Some(existing) = self.store.get(resource.collection, namespace, name) {
                return Err(Status::already_exists(resource, name, is_being_deleted(&existing)));
            }
            return Ok(views::from_stored(resource, &Arc::new(object)));
        }
        let generated = text(&object, "name").is_empty();
        // Among thousands of names of one prefix, two that are equal are not rare.
        let mut tries = if generated { NAME_TRIES } else { 1 };
        loop {
            tries -= 1;
            let admitted = self.admit(resource, namespace, &quotas, object.clone())?;
            match self.store.create(resource.collection, admitted) {
                Ok(stored) => return Ok(views::from_stored(resource, &stored)),
                Err(StoreError::AlreadyExists { .. }) if tries > 0 => {}
                Err(error) => return Err(Status::from_store(error, resource)),
            }
        }
    }

    /// Everything that happens to a new object before it is stored.
    fn admit(
        &self,
        resource: &Resource,
        namespace: &str,
        quotas: &[Object],
        object: Value,
    ) -> Result<Value, Status> {
        let stored = resource.collection.resource();
        let mut object = views::to_stored(resource, object);
        if !object.is_object() {
            object = json!({});
        }
        if !object["metadata"].is_object() {
            object["metadata"] = json!({});
        }
        place(resource, namespace, &mut object)?;
        if !text(&object, "resourceVersion").is_empty() {
            let message = "resourceVersion should not be set on objects to be created";
            return Err(Status::internal(message));
        }
        // A new object has no status of its own, except where clients stand in for a kubelet.
        if resource.has_status_subresource()
            && resource.collection != Collection::NODES
            && let Some(map) = object.as_object_mut()
        {
            map.remove("status");
        }
        let now = self.store.now();
        prepare_create(stored, &mut object, now);
        let name = text(&object, "name").to_owned();
        lifecycle::check_create(&self.store, resource, namespace, &name)?;
        let api_version = stored.api_version();
        defaults::default_object(&api_version, stored.kind, &mut object);
        self.admit_service_account(stored, &mut object)?;
        admission::admit_create(&self.store, stored, &mut object)?;
        defaults::prepare_create(&api_version, stored.kind, &mut object, &rfc3339(now));
        let errors = validation::validate_create(resource, &object);
        if !errors.is_empty() {
            return Err(Status::invalid(stored, &name, &errors));
        }
        admission::check_quotas(&self.store, quotas, stored, &object)?;
        Ok(object)
    }
}

/// Puts the object into the namespace of the request, unless it names another one.
pub(super) fn place(
    resource: &Resource,
    namespace: &str,
    object: &mut Value,
) -> Result<(), Status> {
    let given = text(object, "namespace");
    if resource.namespaced {
        if !given.is_empty() && given != namespace {
            return Err(Status::bad_request(
                "the namespace of the provided object does not match the namespace sent on the \
                 request",
            ));
        }
        object["metadata"]["namespace"] = json!(namespace);
    } else if let Some(map) = object["metadata"].as_object_mut() {
        map.remove("namespace");
    }
    Ok(())
}
