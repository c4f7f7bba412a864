//! Names, labels, annotations, owners and finalizers of any object.

use serde_json::{Value, json};

use super::{items, names, text};
use crate::resources::{Collection, Resource};
use crate::status::FieldError;

/// All annotations together may not be larger.
const MAX_ANNOTATIONS: usize = 256 * 1024;

/// The faults of an object's metadata.
pub fn validate_metadata(resource: &Resource, object: &Value) -> Vec<FieldError> {
    let metadata = &object["metadata"];
    let mut errors = name(resource, metadata);
    errors.extend(labels(&metadata["labels"], "metadata.labels"));
    errors.extend(annotations(&metadata["annotations"]));
    errors.extend(owners(&metadata["ownerReferences"]));
    for (index, finalizer) in items(&metadata["finalizers"]) {
        let field = format!("metadata.finalizers[{index}]");
        for fault in names::qualified(finalizer.as_str().unwrap_or_default()) {
            errors.push(FieldError::invalid(field.clone(), finalizer, &fault));
        }
    }
    errors
}

fn name(resource: &Resource, metadata: &Value) -> Vec<FieldError> {
    let name = text(metadata, "name");
    if name.is_empty() {
        let detail = "name or generateName is required";
        return vec![FieldError::required("metadata.name", detail)];
    }
    let faults = match resource.collection {
        Collection::NAMESPACES => names::label(name),
        Collection::SERVICES => names::label_1035(name),
        _ if resource.group == "rbac.authorization.k8s.io" => names::path_segment(name),
        _ => names::subdomain(name),
    };
    let invalid = |fault: String| FieldError::invalid("metadata.name", &json!(name), &fault);
    faults.into_iter().map(invalid).collect()
}

/// The faults of a map of labels at `field`.
pub(super) fn labels(labels: &Value, field: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for (key, value) in labels.as_object().into_iter().flatten() {
        for fault in names::qualified(key) {
            errors.push(FieldError::invalid(field, &json!(key), &fault));
        }
        for fault in names::label_value(value.as_str().unwrap_or_default()) {
            errors.push(FieldError::invalid(field, value, &fault));
        }
    }
    errors
}

fn annotations(annotations: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let mut size = 0;
    for (key, value) in annotations.as_object().into_iter().flatten() {
        size += key.len() + value.as_str().unwrap_or_default().len();
        for fault in names::qualified(&key.to_lowercase()) {
            errors.push(FieldError::invalid("metadata.annotations", &json!(key), &fault));
        }
    }
    if size > MAX_ANNOTATIONS {
        errors.push(FieldError::too_long("metadata.annotations", MAX_ANNOTATIONS));
    }
    errors
}

fn owners(owners: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let mut controller: Option<String> = None;
    for (index, owner) in items(owners) {
        let field = format!("metadata.ownerReferences[{index}]");
        for (member, detail) in [
            ("apiVersion", "version must not be empty"),
            ("kind", "must not be empty"),
            ("name", "must not be empty"),
            ("uid", "must not be empty"),
        ] {
            if text(owner, member).is_empty() {
                let field = format!("{field}.{member}");
                errors.push(FieldError::invalid(field, &json!(""), detail));
            }
        }
        if owner["controller"] == true {
            let name = format!("{}/{}", text(owner, "kind"), text(owner, "name"));
            if let Some(first) = &controller {
                let detail = format!(
                    "Only one reference can have Controller set to true. Found \"true\" in \
                     references for {first} and {name}"
                );
                errors.push(FieldError::invalid("metadata.ownerReferences", owner, &detail));
            }
            controller.get_or_insert(name);
        }
    }
    errors
}
