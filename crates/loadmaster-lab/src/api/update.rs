//! Replacing and patching objects.

use std::sync::Arc;

use serde_json::{Value, json};

use super::{Api, admission, views};
use crate::decode::{DecodeError, normalise};
use crate::patch::{PatchError, apply_patch};
use crate::resources::{Collection, Resource};
use crate::status::{Details, FieldError, Status};
use crate::store::{Object, StoreError, Write, is_being_deleted, text};
use crate::{defaults, validation};

/// Which part of an object a write may change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Everything but `status`.
    Whole,
    /// `status` and metadata.
    Status,
    /// A namespace's `spec.finalizers`.
    Finalize,
    /// What the containers of a pod ask for.
    Resize,
}

/// What to do about fields that the kind does not have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FieldValidation {
    /// Drop them silently.
    Ignore,
    /// Drop them and say so.
    #[default]
    Warn,
    /// Refuse them.
    Strict,
}

/// A patch as it came in.
#[derive(Clone, Copy, Debug)]
pub struct PatchRequest<'a> {
    /// One of the four media types.
    pub content_type: &'a str,
    /// The patch itself.
    pub body: &'a [u8],
    /// Who applies; needed by server-side apply alone.
    pub field_manager: &'a str,
    /// Whether an apply takes fields from other managers.
    pub force: bool,
    /// What to do about unknown fields.
    pub validation: FieldValidation,
    /// Whether to store nothing.
    pub dry_run: bool,
}

impl PatchRequest<'_> {
    /// Whether this is a server-side apply, which creates what is missing.
    pub(crate) fn is_apply(&self) -> bool {
        self.content_type.starts_with("application/apply-patch+yaml")
    }
}

/// The outcome of a write.
#[derive(Clone, Debug, PartialEq)]
pub struct Written {
    /// The object afterwards.
    pub object: Object,
    /// Whether it did not exist before.
    pub created: bool,
    /// Faults that were let pass.
    pub warnings: Vec<String>,
}

/// Kinds whose `PUT` creates what is missing.
const CREATED_BY_PUT: [&str; 5] =
    ["endpoints", "events", "leases.coordination.k8s.io", "limitranges", "podtemplates"];

/// Whether a `PUT` of this kind creates what is missing.
pub(crate) fn creates_by_put(resource: &Resource) -> bool {
    CREATED_BY_PUT.contains(&resource.collection.name())
}

/// Kinds whose `PUT` must say which version it is based on.
const CONDITIONAL: [&str; 5] = [
    "csidrivers.storage.k8s.io",
    "csinodes.storage.k8s.io",
    "leases.coordination.k8s.io",
    "poddisruptionbudgets.policy",
    "volumeattachments.storage.k8s.io",
];

impl Api {
    /// Replaces an object (`PUT`).
    ///
    /// # Errors
    /// A contradiction with the URL (400), a missing object (404), a version or uid that is not the
    /// stored one (409), admission and validation.
    pub fn replace(
        &self,
        resource: &Resource,
        part: Part,
        (namespace, name): (&str, &str),
        object: Value,
        dry_run: bool,
    ) -> Result<Written, Status> {
        let object = views::to_stored(resource, object);
        check_place(resource, namespace, name, &object)?;
        let missing = self.store.get(resource.collection, namespace, name).is_none();
        if missing && part == Part::Whole && creates_by_put(resource) {
            let mut object = object;
            object["metadata"]["name"] = json!(name);
            let object = self.create(resource, namespace, object, dry_run)?;
            return Ok(Written { object, created: true, warnings: Vec::new() });
        }
        let object = self.write(resource, (namespace, name), dry_run, |current| {
            let stale = check_uid(resource, name, current, &object);
            stale.and_then(|()| self.settle(resource, part, current, object.clone()))
        })?;
        Ok(Written { object, created: false, warnings: Vec::new() })
    }

    /// Patches an object (`PATCH`); an apply creates what is missing.
    ///
    /// # Errors
    /// As [`Api::replace`], and 400, 415 or 422 for what is wrong with the patch itself.
    pub fn patch(
        &self,
        resource: &Resource,
        part: Part,
        (namespace, name): (&str, &str),
        request: PatchRequest<'_>,
    ) -> Result<Written, Status> {
        check_options(&request)?;
        let missing = self.store.get(resource.collection, namespace, name).is_none();
        if missing && part == Part::Whole && request.is_apply() {
            let (mut object, warnings) = patched(resource, &Value::Null, request)?;
            check_place(resource, namespace, name, &object)?;
            object["metadata"]["name"] = json!(name);
            let object = self.create(resource, namespace, object, request.dry_run)?;
            self.remember(resource, &object, request)?;
            return Ok(Written { object, created: true, warnings });
        }
        let mut warnings = Vec::new();
        let object = self.write(resource, (namespace, name), request.dry_run, |current| {
            let mut viewed = Value::clone(&views::from_stored(resource, current));
            if request.is_apply() {
                self.release(&mut viewed, request)?;
            }
            let (next, told) = patched(resource, &viewed, request)?;
            warnings = told;
            let next = views::to_stored(resource, next);
            check_place(resource, namespace, name, &next)?;
            let given = text(&next, "uid");
            if !given.is_empty() && given != text(current, "uid") {
                let error =
                    FieldError::invalid("metadata.uid", &json!(given), "field is immutable");
                return Err(Status::invalid(resource, name, &[error]));
            }
            self.settle(resource, part, current, next)
        })?;
        if request.is_apply() {
            self.remember(resource, &object, request)?;
        }
        Ok(Written { object, created: false, warnings })
    }

    /// Runs one read-modify-write, or with `dry_run` just computes its outcome.
    pub(super) fn write(
        &self,
        resource: &Resource,
        (namespace, name): (&str, &str),
        dry_run: bool,
        mut decide: impl FnMut(&Object) -> Result<Value, Status>,
    ) -> Result<Object, Status> {
        let collection = resource.collection;
        let stored = if dry_run {
            let current = self.store.get(collection, namespace, name);
            let current = current.ok_or_else(|| Status::not_found(resource, name))?;
            let next = decide(&current)?;
            Arc::new(self.store.preview(collection, &current, next))
        } else {
            self.store
                .update(collection, namespace, name, |current| {
                    decide(current).map(Write::Put).map_err(StoreError::from)
                })
                .map_err(|error| Status::from_store(error, resource))?
        };
        Ok(views::from_stored(resource, &stored))
    }

    /// Everything that happens to a changed object before it is stored.
    fn settle(
        &self,
        resource: &Resource,
        part: Part,
        current: &Value,
        mut next: Value,
    ) -> Result<Value, Status> {
        let stored = resource.collection.resource();
        let name = text(current, "name");
        check_version(resource, name, current, &next)?;
        next["kind"] = json!(stored.kind);
        next["apiVersion"] = json!(stored.api_version());
        keep_metadata(current, &mut next);
        keep_other_parts(stored, part, current, &mut next);
        if part == Part::Resize {
            defaults::default_object(&stored.api_version(), stored.kind, &mut next);
        }
        if part == Part::Whole {
            defaults::default_object(&stored.api_version(), stored.kind, &mut next);
            admission::admit_update(&self.store, stored, &mut next)?;
        }
        let mut errors = new_finalizers(current, &next);
        if errors.is_empty() {
            errors = match part {
                Part::Whole => validation::validate_update(stored, current, &next),
                Part::Status => validation::validate_metadata(stored, &next),
                Part::Finalize => Vec::new(),
                Part::Resize => validation::validate_resize(current, &next),
            };
        }
        if !errors.is_empty() {
            return Err(Status::invalid(stored, name, &errors));
        }
        Ok(next)
    }
}

/// The patched object in the view's shape, without unknown fields, and warnings about those.
fn patched(
    resource: &Resource,
    viewed: &Value,
    request: PatchRequest<'_>,
) -> Result<(Value, Vec<String>), Status> {
    let api_version = resource.api_version();
    let mut next =
        apply_patch(&api_version, resource.kind, viewed, request.content_type, request.body)
            .map_err(|error| patch_status(&error))?;
    if !next.is_object() {
        return Err(Status::bad_request("the patched object is no object"));
    }
    if next["metadata"].is_null() {
        next["metadata"] = json!({});
    }
    let as_sent = next.clone();
    let unknown =
        normalise(&api_version, resource.kind, &mut next).map_err(DecodeError::into_status)?;
    let unknown: Vec<String> =
        unknown.into_iter().map(|it| format!("unknown field {it:?}")).collect();
    if unknown.is_empty() || request.validation == FieldValidation::Ignore {
        return Ok((next, Vec::new()));
    }
    if request.validation == FieldValidation::Strict {
        let detail = format!("strict decoding error: {}", unknown.join(", "));
        let error = FieldError::invalid("patch", &json!(as_sent.to_string()), &detail);
        return Err(Status::invalid_kind("", "", "", &[error]));
    }
    Ok((next, unknown))
}

fn patch_status(error: &PatchError) -> Status {
    let message = error.to_string();
    match error {
        PatchError::MediaType => {
            Status::new(415, "UnsupportedMediaType", message).with_details(Details::default())
        }
        PatchError::Rejected => {
            Status::new(422, "Invalid", message).with_details(Details::default())
        }
        _ if error.code() == 500 => Status::internal(message),
        _ => Status::bad_request(message),
    }
}

fn check_options(request: &PatchRequest<'_>) -> Result<(), Status> {
    let error = if request.is_apply() {
        if !request.field_manager.is_empty() {
            return Ok(());
        }
        FieldError::required("fieldManager", "is required for apply patch")
    } else {
        if !request.force {
            return Ok(());
        }
        FieldError::forbidden("force", "may not be specified for non-apply patch")
    };
    Err(Status::invalid_kind("meta.k8s.io", "PatchOptions", "", &[error]))
}

fn check_place(
    resource: &Resource,
    namespace: &str,
    name: &str,
    object: &Value,
) -> Result<(), Status> {
    let given = text(object, "name");
    if !given.is_empty() && given != name {
        return Err(Status::bad_request(format!(
            "the name of the object ({given}) does not match the name on the URL ({name})"
        )));
    }
    let given = text(object, "namespace");
    if resource.namespaced && !given.is_empty() && given != namespace {
        return Err(Status::bad_request(
            "the namespace of the provided object does not match the namespace sent on the request",
        ));
    }
    Ok(())
}

fn check_uid(resource: &Resource, name: &str, current: &Value, next: &Value) -> Result<(), Status> {
    let (given, actual) = (text(next, "uid"), text(current, "uid"));
    if given.is_empty() || given == actual {
        return Ok(());
    }
    let fault = format!("UID in precondition: {given}, UID in object meta: {actual}");
    Err(precondition_failed(resource, text(current, "namespace"), name, &fault))
}

/// The storage layer's own words for a precondition that does not hold.
pub(super) fn precondition_failed(
    resource: &Resource,
    namespace: &str,
    name: &str,
    fault: &str,
) -> Status {
    let slash = if namespace.is_empty() { "" } else { "/" };
    let why = format!(
        "StorageError: invalid object, Code: 4, Key: /registry/{}{slash}{namespace}/{name}, \
         ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: {fault}",
        resource.plural
    );
    Status::conflict(resource, name, &why)
}

fn check_version(
    resource: &Resource,
    name: &str,
    current: &Value,
    next: &Value,
) -> Result<(), Status> {
    let given = text(next, "resourceVersion");
    if given.is_empty() || given == "0" {
        if !CONDITIONAL.contains(&resource.collection.name()) {
            return Ok(());
        }
        let error = FieldError::invalid(
            "metadata.resourceVersion",
            &json!(0),
            "must be specified for an update",
        );
        // The real server names the resource here and not the kind.
        return Err(Status::invalid_kind(resource.group, resource.plural, name, &[error]));
    }
    if given != text(current, "resourceVersion") {
        return Err(Status::modified(resource, name));
    }
    Ok(())
}

/// Metadata that only the server writes stays as it is.
fn keep_metadata(current: &Value, next: &mut Value) {
    if !next["metadata"].is_object() {
        next["metadata"] = json!({});
    }
    for field in ["deletionTimestamp", "deletionGracePeriodSeconds", "generation", "generateName"] {
        let kept = &current["metadata"][field];
        set_or_remove(&mut next["metadata"], field, kept);
    }
    if let Some(map) = next["metadata"].as_object_mut() {
        map.remove("managedFields");
        map.remove("selfLink");
        for field in ["labels", "annotations", "finalizers", "ownerReferences"] {
            let empty = map.get(field).is_some_and(|it| *it == json!({}) || *it == json!([]));
            if empty {
                map.remove(field);
            }
        }
    }
}

fn keep_other_parts(stored: &Resource, part: Part, current: &Value, next: &mut Value) {
    match part {
        Part::Whole => {
            if stored.has_status_subresource() {
                set_or_remove(next, "status", &current["status"]);
            }
            if stored.collection == Collection::NAMESPACES {
                set_or_remove(&mut next["spec"], "finalizers", &current["spec"]["finalizers"]);
            }
        }
        Part::Status => {
            let status = next["status"].take();
            let metadata = next["metadata"].take();
            next.clone_from(current);
            next["metadata"] = metadata;
            set_or_remove(next, "status", &status);
        }
        Part::Resize => {
            let wanted = next["spec"].take();
            next.clone_from(current);
            resize(&mut next["spec"], &wanted);
        }
        Part::Finalize => {
            let finalizers = next["spec"]["finalizers"].take();
            next.clone_from(current);
            set_or_remove(&mut next["spec"], "finalizers", &finalizers);
        }
    }
}

/// Gives each container of a spec the resources that it has in another one.
fn resize(spec: &mut Value, wanted: &Value) {
    for list in ["containers", "initContainers"] {
        for container in spec[list].as_array_mut().into_iter().flatten() {
            let mut others = wanted[list].as_array().into_iter().flatten();
            if let Some(other) = others.find(|it| it["name"] == container["name"]) {
                set_or_remove(container, "resources", &other["resources"]);
            }
        }
    }
}

fn set_or_remove(object: &mut Value, field: &str, value: &Value) {
    if !value.is_null() {
        object[field] = value.clone();
    } else if let Some(map) = object.as_object_mut() {
        map.remove(field);
    }
}

/// An object that is being deleted may lose finalizers and not gain any.
fn new_finalizers(current: &Value, next: &Value) -> Vec<FieldError> {
    if !is_being_deleted(current) {
        return Vec::new();
    }
    let of = |object: &Value| -> Vec<String> {
        let list = object["metadata"]["finalizers"].as_array().into_iter().flatten();
        list.filter_map(Value::as_str).map(str::to_owned).collect()
    };
    let (before, after) = (of(current), of(next));
    let added: Vec<String> =
        after.into_iter().filter(|it| !before.contains(it)).map(|it| format!("{it:?}")).collect();
    if added.is_empty() {
        return Vec::new();
    }
    let detail = format!(
        "no new finalizers can be added if the object is being deleted, found new finalizers \
         []string{{{}}}",
        added.join(", ")
    );
    vec![FieldError::forbidden("metadata.finalizers", &detail)]
}
