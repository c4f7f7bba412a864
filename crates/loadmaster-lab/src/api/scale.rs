//! The `scale` subresource: a workload seen as a number of replicas.

use serde_json::{Value, json};

use super::{Api, PatchRequest};
use crate::patch::apply_patch;
use crate::resources::{Collection, Resource};
use crate::selectors::LabelSelector;
use crate::status::{FieldError, Status};
use crate::store::text;

impl Api {
    /// The `Scale` of an object.
    ///
    /// # Errors
    /// 404.
    pub fn scale(&self, resource: &Resource, namespace: &str, name: &str) -> Result<Value, Status> {
        let object = self.get(resource, namespace, name)?;
        Ok(scale_of(resource, &object))
    }

    /// Replaces the `Scale` of an object, which changes its replicas.
    ///
    /// # Errors
    /// 404, 409 for an older version, 422 for a negative number.
    pub fn replace_scale(
        &self,
        resource: &Resource,
        (namespace, name): (&str, &str),
        scale: &Value,
        dry_run: bool,
    ) -> Result<Value, Status> {
        let given = text(scale, "name");
        if !given.is_empty() && given != name {
            return Err(Status::bad_request(format!(
                "the name of the object ({given}) does not match the name on the URL ({name})"
            )));
        }
        let written = self.write(resource, (namespace, name), dry_run, |current| {
            let version = text(scale, "resourceVersion");
            if !version.is_empty() && version != text(current, "resourceVersion") {
                return Err(Status::modified(resource, name));
            }
            scaled(name, current, scale)
        })?;
        Ok(scale_of(resource, &written))
    }

    /// Patches the `Scale` of an object.
    ///
    /// # Errors
    /// As [`Api::replace_scale`], and 400 or 415 for the patch itself.
    pub fn patch_scale(
        &self,
        resource: &Resource,
        (namespace, name): (&str, &str),
        request: PatchRequest<'_>,
    ) -> Result<Value, Status> {
        let written = self.write(resource, (namespace, name), request.dry_run, |current| {
            let scale = scale_of(resource, current);
            let patched =
                apply_patch("autoscaling/v1", "Scale", &scale, request.content_type, request.body)
                    .map_err(|error| Status::bad_request(error.to_string()))?;
            if text(&patched, "resourceVersion") != text(current, "resourceVersion") {
                return Err(Status::modified(resource, name));
            }
            scaled(name, current, &patched)
        })?;
        Ok(scale_of(resource, &written))
    }
}

fn scaled(name: &str, current: &Value, scale: &Value) -> Result<Value, Status> {
    let replicas = &scale["spec"]["replicas"];
    let replicas = match replicas {
        Value::Null => 0,
        other => other.as_i64().ok_or_else(|| {
            Status::bad_request(
                "Scale in version \"v1\" cannot be handled as a Scale: replicas must be a number",
            )
        })?,
    };
    if replicas < 0 {
        let detail = "must be greater than or equal to 0";
        let error = FieldError::invalid("spec.replicas", &json!(replicas), detail);
        return Err(Status::invalid_kind("autoscaling", "Scale", name, &[error]));
    }
    let mut next = current.clone();
    next["spec"]["replicas"] = json!(replicas);
    Ok(next)
}

fn scale_of(resource: &Resource, object: &Value) -> Value {
    let mut metadata = json!({});
    for field in ["name", "namespace", "uid", "resourceVersion", "creationTimestamp"] {
        metadata[field] = object["metadata"][field].clone();
    }
    let selector = if resource.collection == Collection::REPLICATION_CONTROLLERS {
        LabelSelector::from_map(object["spec"]["selector"].as_object())
    } else {
        LabelSelector::from_object(&object["spec"]["selector"])
    };
    json!({
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": metadata,
        "spec": {"replicas": object["spec"]["replicas"].as_i64().unwrap_or(0)},
        "status": {
            "replicas": object["status"]["replicas"].as_i64().unwrap_or(0),
            "selector": selector.to_string(),
        },
    })
}
