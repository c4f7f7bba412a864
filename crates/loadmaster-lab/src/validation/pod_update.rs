//! What may change about a pod after its creation.

use serde_json::{Value, json};

use super::{items, pod, text};
use crate::defaults::qos_class;
use crate::status::FieldError;

const ONLY: &str = "pod updates may not change fields other than \
     `spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,\
     `spec.tolerations` (only additions to existing tolerations),\
     `spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)";

/// The faults of a changed pod.
pub(super) fn validate(old: &Value, new: &Value) -> Vec<FieldError> {
    let mut errors = gates(old, new);
    let (old, new) = (&old["spec"], &new["spec"]);
    if old == new {
        return errors;
    }
    errors.extend(images(new));
    errors.extend(deadline(old, new));
    let gated = items(&old["schedulingGates"]).next().is_some();
    let mut munged = new.clone();
    for list in ["containers", "initContainers"] {
        restore_images(&old[list], &mut munged[list]);
    }
    restore(old, &mut munged, "activeDeadlineSeconds");
    restore(old, &mut munged, "schedulingGates");
    if only_adds_tolerations(old, new) {
        restore(old, &mut munged, "tolerations");
    }
    let ended = |spec: &Value| spec["terminationGracePeriodSeconds"].as_i64();
    if ended(old).is_some_and(|it| it < 0) && ended(new) == Some(1) {
        restore(old, &mut munged, "terminationGracePeriodSeconds");
    }
    if gated {
        if narrows_node_selector(old, new) {
            restore(old, &mut munged, "nodeSelector");
        }
        if narrows_affinity(&old["affinity"], &new["affinity"]) {
            restore(old, &mut munged, "affinity");
        }
    }
    if normalised(munged) == normalised(old.clone()) {
        errors.extend(pod::validate(&json!({"spec": new})));
    } else {
        errors.push(FieldError::forbidden("spec", ONLY));
    }
    errors
}

/// The faults of a pod whose containers were given other resources (KEP-1287).
pub(super) fn validate_resize(old: &Value, new: &Value) -> Vec<FieldError> {
    let mut errors = pod::validate(new);
    let before = qos_class(old);
    if before != qos_class(new) {
        let detail = "Pod QOS Class may not change as a result of resizing";
        errors.push(FieldError::invalid("spec", &json!(before), detail));
    }
    errors
}

/// Gates may be taken off and never added.
fn gates(old: &Value, new: &Value) -> Vec<FieldError> {
    let (old, new) = (&old["spec"]["schedulingGates"], &new["spec"]["schedulingGates"]);
    let mut errors = Vec::new();
    for (index, gate) in items(new) {
        let name = text(gate, "name");
        if !items(old).any(|(_, it)| text(it, "name") == name) {
            let field = format!("spec.schedulingGates[{index}].name");
            let detail =
                format!("only deletion is allowed, but found new scheduling gate '{name}'");
            errors.push(FieldError::forbidden(field, &detail));
        }
    }
    errors
}

fn images(spec: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for (index, container) in items(&spec["containers"]) {
        if text(container, "image").is_empty() {
            let field = format!("spec.containers[{index}].image");
            errors.push(FieldError::required(field, ""));
        }
    }
    errors
}

fn deadline(old: &Value, new: &Value) -> Vec<FieldError> {
    let of = |spec: &Value| spec["activeDeadlineSeconds"].as_i64();
    let detail = match (of(old), of(new)) {
        (Some(before), Some(after)) if after > before => {
            "must be less than or equal to previous value"
        }
        (Some(_), None) => "must not update from a positive integer to nil value",
        _ => return Vec::new(),
    };
    let field = "spec.activeDeadlineSeconds";
    vec![FieldError::invalid(field, &new["activeDeadlineSeconds"], detail)]
}

fn restore(old: &Value, munged: &mut Value, field: &str) {
    match old.get(field) {
        Some(value) => munged[field] = value.clone(),
        None => {
            if let Some(map) = munged.as_object_mut() {
                map.remove(field);
            }
        }
    }
}

fn restore_images(old: &Value, munged: &mut Value) {
    let Some(containers) = munged.as_array_mut() else { return };
    for ((_, before), after) in items(old).zip(containers) {
        after["image"] = before["image"].clone();
    }
}

/// Absent and empty lists and objects mean the same.
fn normalised(mut spec: Value) -> Value {
    if let Some(map) = spec.as_object_mut() {
        map.retain(|_, value| match value {
            Value::Null => false,
            Value::Array(list) => !list.is_empty(),
            Value::Object(map) => !map.is_empty(),
            _ => true,
        });
    }
    spec
}

fn only_adds_tolerations(old: &Value, new: &Value) -> bool {
    // The seconds of a toleration may be changed, everything else identifies it.
    let same = |a: &Value, b: &Value| {
        ["key", "operator", "value", "effect"].iter().all(|it| text(a, it) == text(b, it))
    };
    items(&old["tolerations"])
        .all(|(_, before)| items(&new["tolerations"]).any(|(_, after)| same(before, after)))
}

fn narrows_node_selector(old: &Value, new: &Value) -> bool {
    let kept = |(key, value): (&String, &Value)| new["nodeSelector"].get(key) == Some(value);
    old["nodeSelector"].as_object().into_iter().flatten().all(kept)
}

/// The required node terms may gain requirements; whatever else was there must stay.
fn narrows_affinity(old: &Value, new: &Value) -> bool {
    const TERMS: &str =
        "/nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution/nodeSelectorTerms";
    for kind in ["podAffinity", "podAntiAffinity"] {
        if !old[kind].is_null() && old[kind] != new[kind] {
            return false;
        }
    }
    let Some(before) = old.pointer(TERMS).and_then(Value::as_array) else { return true };
    let Some(after) = new.pointer(TERMS).and_then(Value::as_array) else { return false };
    before.len() == after.len() && before.iter().zip(after).all(|(old, new)| narrows_term(old, new))
}

fn narrows_term(old: &Value, new: &Value) -> bool {
    ["matchExpressions", "matchFields"].iter().all(|list| {
        items(&old[*list]).all(|(_, kept)| items(&new[*list]).any(|(_, it)| it == kept))
    })
}
