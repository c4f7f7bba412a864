//! Kinds other than pods, in what labs rely on.

use serde_json::{Value, json};

use super::{pod, scheduling, text};
use crate::resources::Resource;
use crate::selectors::LabelSelector;
use crate::status::FieldError;

/// Classes above this are the system's.
const MAX_USER_PRIORITY: i64 = 1_000_000_000;

/// The faults of a new node.
pub(super) fn node(node: &Value) -> Vec<FieldError> {
    scheduling::taints(node)
}

/// The faults of a changed node.
pub(super) fn changed_node(old: &Value, new: &Value) -> Vec<FieldError> {
    let mut errors = scheduling::taints(new);
    let before = &old["spec"]["podCIDRs"];
    if !before.is_null() && *before != new["spec"]["podCIDRs"] {
        let detail = "node updates may not change podCIDR except from \"\" to valid";
        errors.push(FieldError::forbidden("spec.podCIDRs", detail));
    }
    let provider = text(&old["spec"], "providerID");
    if !provider.is_empty() && provider != text(&new["spec"], "providerID") {
        let detail = "node updates may not change providerID except from \"\" to valid";
        errors.push(FieldError::forbidden("spec.providerID", detail));
    }
    errors
}

/// The faults of a new priority class.
pub(super) fn new_priority_class(class: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let name = class["metadata"]["name"].as_str().unwrap_or_default();
    let value = class["value"].as_i64().unwrap_or(0);
    let system = ["system-cluster-critical", "system-node-critical"].contains(&name);
    if name.starts_with("system-") && !system {
        let detail = "priority class names with 'system-' prefix are reserved for system use only. \
                      error: system priority class";
        errors.push(FieldError::forbidden("metadata.name", detail));
    }
    if value > MAX_USER_PRIORITY && !system {
        let detail =
            format!("maximum allowed value of a user defined priority is {MAX_USER_PRIORITY}");
        errors.push(FieldError::forbidden("value", &detail));
    }
    let policy = &class["preemptionPolicy"];
    if !matches!(policy.as_str(), None | Some("Never" | "PreemptLowerPriority")) {
        let supported = &["Never", "PreemptLowerPriority"];
        errors.push(FieldError::not_supported("preemptionPolicy", policy, supported));
    }
    errors
}

/// The faults of a changed priority class.
pub(super) fn changed_priority_class(old: &Value, new: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    if old["value"].as_i64().unwrap_or(0) != new["value"].as_i64().unwrap_or(0) {
        errors.push(FieldError::forbidden("value", "may not be changed in an update."));
    }
    if old["preemptionPolicy"] != new["preemptionPolicy"] {
        let value = &new["preemptionPolicy"];
        errors.push(FieldError::invalid("preemptionPolicy", value, "field is immutable"));
    }
    errors
}

/// The faults of a deployment, replica set, stateful set or daemon set.
pub(super) fn workload(object: &Value) -> Vec<FieldError> {
    let spec = &object["spec"];
    let mut errors = Vec::new();
    let replicas = spec["replicas"].as_i64().unwrap_or(0);
    if replicas < 0 {
        let detail = "must be greater than or equal to 0";
        errors.push(FieldError::invalid("spec.replicas", &json!(replicas), detail));
    }
    let selector = LabelSelector::from_object(&spec["selector"]);
    if spec["selector"].is_null() {
        errors.push(FieldError::required("spec.selector", ""));
    } else if selector.is_everything() {
        let detail = "empty selector is invalid for deployment";
        errors.push(FieldError::invalid("spec.selector", &spec["selector"], detail));
    } else if !selector.matches_labels(&spec["template"]["metadata"]["labels"]) {
        let labels = match &spec["template"]["metadata"]["labels"] {
            Value::Null => json!({}),
            labels => labels.clone(),
        };
        let detail = "`selector` does not match template `labels`";
        errors.push(FieldError::invalid("spec.template.metadata.labels", &labels, detail));
    }
    let template = &spec["template"];
    for mut error in pod::validate(template) {
        error.field = format!("spec.template.{}", error.field);
        errors.push(error);
    }
    errors
}

/// The faults of a changed workload.
pub(super) fn changed_workload(old: &Value, new: &Value) -> Vec<FieldError> {
    let mut errors = workload(new);
    let selector = &new["spec"]["selector"];
    if old["spec"]["selector"] != *selector {
        errors.push(FieldError::invalid("spec.selector", selector, "field is immutable"));
    }
    errors
}

/// The faults of a new event, which the newer API demands more of.
pub(super) fn event(resource: &Resource, event: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let namespace = text(&event["metadata"], "namespace");
    let involved = text(&event["involvedObject"], "namespace");
    let matches = involved == namespace || (involved.is_empty() && namespace == "default");
    if !matches {
        errors.push(FieldError::invalid(
            "involvedObject.namespace",
            &json!(involved),
            "does not match event.namespace",
        ));
    }
    if !resource.is_events_view() {
        return errors;
    }
    if event["eventTime"].is_null() {
        errors.push(FieldError::required("eventTime", ""));
    }
    let kind = text(event, "type");
    if kind != "Normal" && kind != "Warning" {
        let detail = format!("has invalid value: {kind}");
        errors.push(FieldError::invalid("type", &json!(kind), &detail));
    }
    errors
}
