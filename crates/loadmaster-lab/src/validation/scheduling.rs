//! The parts of a pod's spec that say where it may run.

use serde_json::{Value, json};

use super::selectors::{label_selector, node_selector, node_selector_term};
use super::{items, names, text};
use crate::status::FieldError;

const EFFECTS: &[&str] = &["NoSchedule", "PreferNoSchedule", "NoExecute"];

/// The faults of `spec.nodeSelector`.
pub(super) fn node_labels(spec: &Value) -> Vec<FieldError> {
    super::metadata::labels(&spec["nodeSelector"], "spec.nodeSelector")
}

/// The faults of `spec.tolerations`.
pub(super) fn tolerations(spec: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for (index, toleration) in items(&spec["tolerations"]) {
        let field = format!("spec.tolerations[{index}]");
        let key = text(toleration, "key");
        let operator = text(toleration, "operator");
        if !key.is_empty() {
            for fault in names::qualified(key) {
                errors.push(FieldError::invalid(format!("{field}.key"), &json!(key), &fault));
            }
        } else if operator != "Exists" {
            let detail = "operator must be Exists when `key` is empty, which means \"match all \
                          values and all keys\"";
            errors.push(FieldError::invalid(format!("{field}.operator"), &json!(operator), detail));
        }
        let effect = text(toleration, "effect");
        if !toleration["tolerationSeconds"].is_null() && effect != "NoExecute" {
            let detail = "effect must be 'NoExecute' when `tolerationSeconds` is set";
            errors.push(FieldError::invalid(format!("{field}.effect"), &json!(effect), detail));
        }
        match operator {
            "" | "Equal" => {
                for fault in names::label_value(text(toleration, "value")) {
                    let value = &toleration["value"];
                    errors.push(FieldError::invalid(format!("{field}.operator"), value, &fault));
                }
            }
            "Exists" => {
                if !text(toleration, "value").is_empty() {
                    let detail = "value must be empty when `operator` is 'Exists'";
                    let value = &toleration["value"];
                    errors.push(FieldError::invalid(format!("{field}.operator"), value, detail));
                }
            }
            _ => errors.push(FieldError::not_supported(
                format!("{field}.operator"),
                &toleration["operator"],
                &["Equal", "Exists"],
            )),
        }
        if !effect.is_empty() && !EFFECTS.contains(&effect) {
            errors.push(FieldError::not_supported(
                format!("{field}.effect"),
                &toleration["effect"],
                EFFECTS,
            ));
        }
    }
    errors
}

/// The faults of `spec.affinity`.
pub(super) fn affinity(spec: &Value) -> Vec<FieldError> {
    const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";
    const PREFERRED: &str = "preferredDuringSchedulingIgnoredDuringExecution";
    let mut errors = Vec::new();
    let node = &spec["affinity"]["nodeAffinity"];
    if !node[REQUIRED].is_null() {
        let field = format!("spec.affinity.nodeAffinity.{REQUIRED}");
        errors.extend(node_selector(&node[REQUIRED], &field));
    }
    for (index, preferred) in items(&node[PREFERRED]) {
        let field = format!("spec.affinity.nodeAffinity.{PREFERRED}[{index}]");
        errors.extend(weight(preferred, &field));
        errors.extend(node_selector_term(&preferred["preference"], &format!("{field}.preference")));
    }
    for kind in ["podAffinity", "podAntiAffinity"] {
        for (index, term) in items(&spec["affinity"][kind][REQUIRED]) {
            errors.extend(pod_term(term, &format!("spec.affinity.{kind}.{REQUIRED}[{index}]")));
        }
        for (index, preferred) in items(&spec["affinity"][kind][PREFERRED]) {
            let field = format!("spec.affinity.{kind}.{PREFERRED}[{index}]");
            errors.extend(weight(preferred, &field));
            let term = &preferred["podAffinityTerm"];
            errors.extend(pod_term(term, &format!("{field}.podAffinityTerm")));
        }
    }
    errors
}

fn weight(preferred: &Value, field: &str) -> Vec<FieldError> {
    let weight = preferred["weight"].as_i64().unwrap_or(0);
    if (1..=100).contains(&weight) {
        return Vec::new();
    }
    let detail = "must be in the range 1-100";
    vec![FieldError::invalid(format!("{field}.weight"), &json!(weight), detail)]
}

fn pod_term(term: &Value, field: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for selector in ["labelSelector", "namespaceSelector"] {
        errors.extend(label_selector(&term[selector], &format!("{field}.{selector}")));
    }
    for (index, namespace) in items(&term["namespaces"]) {
        for fault in names::label(namespace.as_str().unwrap_or_default()) {
            let field = format!("{field}.namespaces[{index}]");
            errors.push(FieldError::invalid(field, namespace, &fault));
        }
    }
    let key = text(term, "topologyKey");
    let field = format!("{field}.topologyKey");
    if key.is_empty() {
        errors.push(FieldError::required(field, "can not be empty"));
    } else {
        for fault in names::qualified(key) {
            errors.push(FieldError::invalid(field.clone(), &json!(key), &fault));
        }
    }
    errors
}

/// The faults of `spec.topologySpreadConstraints`.
pub(super) fn spread_constraints(spec: &Value) -> Vec<FieldError> {
    const ACTIONS: &[&str] = &["DoNotSchedule", "ScheduleAnyway"];
    let mut errors = Vec::new();
    let mut seen = Vec::new();
    for (index, constraint) in items(&spec["topologySpreadConstraints"]) {
        let field = format!("spec.topologySpreadConstraints[{index}]");
        let skew = constraint["maxSkew"].as_i64().unwrap_or(0);
        if skew <= 0 {
            let detail = "must be greater than zero";
            errors.push(FieldError::invalid(format!("{field}.maxSkew"), &json!(skew), detail));
        }
        let key = text(constraint, "topologyKey");
        if key.is_empty() {
            errors.push(FieldError::required(format!("{field}.topologyKey"), "can not be empty"));
        } else {
            for fault in names::qualified(key) {
                let field = format!("{field}.topologyKey");
                errors.push(FieldError::invalid(field, &json!(key), &fault));
            }
        }
        let action = text(constraint, "whenUnsatisfiable");
        if !ACTIONS.contains(&action) {
            let field = format!("{field}.whenUnsatisfiable");
            errors.push(FieldError::not_supported(field, &json!(action), ACTIONS));
        }
        let pair = (key.to_owned(), action.to_owned());
        if seen.contains(&pair) {
            let field = format!("{field}.{{topologyKey, whenUnsatisfiable}}");
            errors.push(FieldError::duplicate(field, &json!(format!("{{{key}, {action}}}"))));
        }
        seen.push(pair);
        errors.extend(min_domains(constraint, &field, action));
        for policy in ["nodeAffinityPolicy", "nodeTaintsPolicy"] {
            let value = &constraint[policy];
            if !value.is_null() && *value != "Honor" && *value != "Ignore" {
                let field = format!("{field}.{policy}");
                errors.push(FieldError::not_supported(field, value, &["Honor", "Ignore"]));
            }
        }
        errors.extend(label_selector(
            &constraint["labelSelector"],
            &format!("{field}.labelSelector"),
        ));
    }
    errors
}

fn min_domains(constraint: &Value, field: &str, action: &str) -> Vec<FieldError> {
    let Some(domains) = constraint["minDomains"].as_i64() else { return Vec::new() };
    let field = format!("{field}.minDomains");
    let mut errors = Vec::new();
    if domains <= 0 {
        let detail = "must be greater than zero";
        errors.push(FieldError::invalid(field.clone(), &json!(domains), detail));
    }
    if action != "DoNotSchedule" {
        let detail =
            format!("can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {action}");
        errors.push(FieldError::invalid(field, &json!(domains), &detail));
    }
    errors
}

/// The faults of a node's taints.
pub(super) fn taints(node: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let mut seen = Vec::new();
    for (index, taint) in items(&node["spec"]["taints"]) {
        let field = format!("metadata.taints[{index}]");
        let (key, effect) = (text(taint, "key"), text(taint, "effect"));
        for fault in names::qualified(key) {
            errors.push(FieldError::invalid(format!("{field}.key"), &json!(key), &fault));
        }
        for fault in names::label_value(text(taint, "value")) {
            errors.push(FieldError::invalid(format!("{field}.value"), &taint["value"], &fault));
        }
        if effect.is_empty() {
            errors.push(FieldError::required(format!("{field}.effect"), ""));
        } else if !EFFECTS.contains(&effect) {
            let field = format!("{field}.effect");
            errors.push(FieldError::not_supported(field, &json!(effect), EFFECTS));
        }
        if seen.contains(&(key, effect)) {
            let value = json!(text(taint, "value"));
            let body = format!(
                "Duplicate value: {{\"Key\":{key:?},\"Value\":{value},\"Effect\":{effect:?},\
                 \"TimeAdded\":null}}: taints must be unique by key and effect pair"
            );
            errors.push(FieldError { field, reason: "FieldValueDuplicate", body });
        }
        seen.push((key, effect));
    }
    errors
}
