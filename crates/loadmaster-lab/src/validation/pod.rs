//! A new pod, and the pod spec inside a template.

use serde_json::{Value, json};

use super::{items, names, scheduling, text};
use crate::defaults::quantity_nanos;
use crate::status::FieldError;

/// The faults of a new pod's spec.
pub(super) fn validate(pod: &Value) -> Vec<FieldError> {
    let spec = &pod["spec"];
    let mut errors = containers(spec);
    let restart = &spec["restartPolicy"];
    if !matches!(restart.as_str(), Some("Always" | "OnFailure" | "Never")) {
        let supported = &["Always", "OnFailure", "Never"];
        errors.push(FieldError::not_supported("spec.restartPolicy", restart, supported));
    }
    let deadline = &spec["activeDeadlineSeconds"];
    if deadline.as_i64().is_some_and(|it| !(1..=i64::from(i32::MAX)).contains(&it)) {
        let detail = "must be between 1 and 2147483647, inclusive";
        errors.push(FieldError::invalid("spec.activeDeadlineSeconds", deadline, detail));
    }
    errors.extend(scheduling::node_labels(spec));
    let node = text(spec, "nodeName");
    if !node.is_empty() {
        for fault in names::subdomain(node) {
            errors.push(FieldError::invalid("spec.nodeName", &json!(node), &fault));
        }
    }
    errors.extend(scheduling::affinity(spec));
    errors.extend(scheduling::tolerations(spec));
    errors.extend(scheduling::spread_constraints(spec));
    errors.extend(gates(spec));
    errors
}

fn gates(spec: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let mut seen = Vec::new();
    for (index, gate) in items(&spec["schedulingGates"]) {
        let field = format!("spec.schedulingGates[{index}]");
        let name = text(gate, "name");
        if seen.contains(&name) {
            errors.push(FieldError::duplicate(field, &json!(name)));
            continue;
        }
        seen.push(name);
        for fault in names::qualified(name) {
            errors.push(FieldError::invalid(field.clone(), &json!(name), &fault));
        }
    }
    if !seen.is_empty() && !text(spec, "nodeName").is_empty() {
        let detail = "cannot be set until all schedulingGates have been cleared";
        errors.push(FieldError::forbidden("spec.nodeName", detail));
    }
    errors
}

fn containers(spec: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    if items(&spec["containers"]).next().is_none() {
        errors.push(FieldError::required("spec.containers", ""));
    }
    let mut seen = Vec::new();
    for list in ["containers", "initContainers"] {
        for (index, container) in items(&spec[list]) {
            let field = format!("spec.{list}[{index}]");
            let name = text(container, "name");
            let named = format!("{field}.name");
            if name.is_empty() {
                errors.push(FieldError::required(named.clone(), ""));
            } else {
                for fault in names::label(name) {
                    errors.push(FieldError::invalid(named.clone(), &json!(name), &fault));
                }
            }
            if text(container, "image").is_empty() {
                errors.push(FieldError::required(format!("{field}.image"), ""));
            }
            if !name.is_empty() && seen.contains(&name) {
                errors.push(FieldError::duplicate(named, &json!(name)));
            }
            seen.push(name);
            errors.extend(ports(container, &field));
            errors.extend(resources(&container["resources"], &format!("{field}.resources")));
        }
    }
    errors
}

fn ports(container: &Value, field: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for (index, port) in items(&container["ports"]) {
        let field = format!("{field}.ports[{index}]");
        let number = port["containerPort"].as_i64().unwrap_or(0);
        if number == 0 {
            errors.push(FieldError::required(format!("{field}.containerPort"), ""));
        }
        for member in ["containerPort", "hostPort"] {
            let value = &port[member];
            if value.as_i64().is_some_and(|it| it != 0 && !(1..=65535).contains(&it)) {
                let detail = "must be between 1 and 65535, inclusive";
                errors.push(FieldError::invalid(format!("{field}.{member}"), value, detail));
            }
        }
        let protocol = &port["protocol"];
        if !matches!(protocol.as_str(), Some("TCP" | "UDP" | "SCTP")) {
            let field = format!("{field}.protocol");
            errors.push(FieldError::not_supported(field, protocol, &["SCTP", "TCP", "UDP"]));
        }
    }
    errors
}

fn resources(resources: &Value, field: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for list in ["limits", "requests"] {
        for (name, amount) in resources[list].as_object().into_iter().flatten() {
            let field = format!("{field}.{list}");
            for fault in resource_name(name) {
                errors.push(FieldError::invalid(field.clone(), &json!(name), &fault));
            }
            if quantity_nanos(amount).is_some_and(|it| it < 0) {
                let field = format!("{field}[{name}]");
                let detail = "must be greater than or equal to 0";
                errors.push(FieldError::invalid(field, amount, detail));
            }
        }
    }
    for (name, request) in resources["requests"].as_object().into_iter().flatten() {
        let limit = &resources["limits"][name];
        let (wanted, allowed) = (quantity_nanos(request), quantity_nanos(limit));
        let field = format!("{field}.requests");
        let extended = name.contains('/') || name.starts_with("hugepages-");
        match (wanted, allowed) {
            (Some(wanted), Some(allowed)) if extended && wanted != allowed => {
                let limit = limit.as_str().unwrap_or_default();
                let detail = format!("must be equal to {name} limit of {limit}");
                errors.push(FieldError::invalid(field, request, &detail));
            }
            (Some(wanted), Some(allowed)) if wanted > allowed => {
                let limit = limit.as_str().unwrap_or_default();
                let detail = format!("must be less than or equal to {name} limit of {limit}");
                errors.push(FieldError::invalid(field, request, &detail));
            }
            (Some(_), None) if extended => {
                let field = format!("{}.limits", field.trim_end_matches(".requests"));
                let detail = "Limit must be set for non overcommitable resources";
                errors.push(FieldError::required(field, detail));
            }
            _ => {}
        }
    }
    errors
}

/// Names without a prefix are those that the system knows.
fn resource_name(name: &str) -> Vec<String> {
    let faults = names::qualified(name);
    let known = ["cpu", "memory", "ephemeral-storage"].contains(&name)
        || name.starts_with("hugepages-")
        || name.contains('/');
    if faults.is_empty() && !known {
        return vec!["must be a standard resource type or fully qualified".to_owned()];
    }
    faults
}
