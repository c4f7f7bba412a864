//! Label selectors and node selectors inside objects.

use serde_json::{Value, json};

use super::metadata::labels;
use super::{items, names, text};
use crate::status::FieldError;

/// The faults of a `LabelSelector`.
pub(super) fn label_selector(selector: &Value, field: &str) -> Vec<FieldError> {
    let mut errors = labels(&selector["matchLabels"], &format!("{field}.matchLabels"));
    for (index, expression) in items(&selector["matchExpressions"]) {
        let field = format!("{field}.matchExpressions[{index}]");
        let values = expression["values"].as_array().map_or(0, Vec::len);
        match text(expression, "operator") {
            "In" | "NotIn" if values == 0 => errors.push(FieldError::required(
                format!("{field}.values"),
                "must be specified when `operator` is 'In' or 'NotIn'",
            )),
            "Exists" | "DoesNotExist" if values > 0 => errors.push(FieldError::forbidden(
                format!("{field}.values"),
                "may not be specified when `operator` is 'Exists' or 'DoesNotExist'",
            )),
            "In" | "NotIn" | "Exists" | "DoesNotExist" => {}
            _ => errors.push(FieldError::invalid(
                format!("{field}.operator"),
                &expression["operator"],
                "not a valid selector operator",
            )),
        }
        errors.extend(key(expression, &field));
        for (index, value) in items(&expression["values"]) {
            for fault in names::label_value(value.as_str().unwrap_or_default()) {
                let field = format!("{field}.values[{index}]");
                errors.push(FieldError::invalid(field, value, &fault));
            }
        }
    }
    errors
}

/// The faults of a required `NodeSelector`.
pub(super) fn node_selector(selector: &Value, field: &str) -> Vec<FieldError> {
    let field = format!("{field}.nodeSelectorTerms");
    if items(&selector["nodeSelectorTerms"]).next().is_none() {
        let detail = "must have at least one node selector term";
        return vec![FieldError::required(field, detail)];
    }
    let mut errors = Vec::new();
    for (index, term) in items(&selector["nodeSelectorTerms"]) {
        errors.extend(node_selector_term(term, &format!("{field}[{index}]")));
    }
    errors
}

/// The faults of one term of a node selector.
pub(super) fn node_selector_term(term: &Value, field: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for (index, expression) in items(&term["matchExpressions"]) {
        let field = format!("{field}.matchExpressions[{index}]");
        errors.extend(node_expression(expression, &field));
        errors.extend(key(expression, &field));
    }
    for (index, expression) in items(&term["matchFields"]) {
        errors.extend(node_field(expression, &format!("{field}.matchFields[{index}]")));
    }
    errors
}

fn node_expression(expression: &Value, field: &str) -> Vec<FieldError> {
    let values = expression["values"].as_array().map_or(0, Vec::len);
    let fault = match text(expression, "operator") {
        "In" | "NotIn" if values == 0 => FieldError::required(
            format!("{field}.values"),
            "must be specified when `operator` is 'In' or 'NotIn'",
        ),
        "Exists" | "DoesNotExist" if values > 0 => FieldError::forbidden(
            format!("{field}.values"),
            "may not be specified when `operator` is 'Exists' or 'DoesNotExist'",
        ),
        "Gt" | "Lt" if values != 1 => FieldError::required(
            format!("{field}.values"),
            "must be specified single value when `operator` is 'Lt' or 'Gt'",
        ),
        "In" | "NotIn" | "Exists" | "DoesNotExist" | "Gt" | "Lt" => return Vec::new(),
        _ => FieldError::invalid(
            format!("{field}.operator"),
            &expression["operator"],
            "not a valid selector operator",
        ),
    };
    vec![fault]
}

fn node_field(expression: &Value, field: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    match text(expression, "operator") {
        "In" | "NotIn" => {
            if expression["values"].as_array().map_or(0, Vec::len) != 1 {
                errors.push(FieldError::required(
                    format!("{field}.values"),
                    "must be only one value when `operator` is 'In' or 'NotIn' for node field \
                     selector",
                ));
            }
        }
        _ => errors.push(FieldError::invalid(
            format!("{field}.operator"),
            &expression["operator"],
            "not a valid selector operator",
        )),
    }
    if text(expression, "key") != "metadata.name" {
        let detail = "not a valid field selector key";
        errors.push(FieldError::invalid(format!("{field}.key"), &expression["key"], detail));
    }
    errors
}

fn key(expression: &Value, field: &str) -> Vec<FieldError> {
    let key = text(expression, "key");
    let invalid = |fault: String| FieldError::invalid(format!("{field}.key"), &json!(key), &fault);
    names::qualified(key).into_iter().map(invalid).collect()
}
