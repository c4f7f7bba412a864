//! Node affinity as a configuration writes it: operators are still words, so a wrong one is named.

use loadmaster_framework::field::{
    FieldError, child, element, label_key_faults, label_value_faults, quoted,
};
use serde::{Deserialize, Serialize};

use super::{list, optional_list};

/// Which nodes a profile's pods must and should go to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AddedNodeAffinity {
    /// A node must match one of the terms.
    #[serde(
        rename = "requiredDuringSchedulingIgnoredDuringExecution",
        skip_serializing_if = "Option::is_none"
    )]
    pub required: Option<AddedNodeSelector>,
    /// Each term that a node matches adds its weight.
    #[serde(
        rename = "preferredDuringSchedulingIgnoredDuringExecution",
        deserialize_with = "list",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub preferred: Vec<PreferredSchedulingTerm>,
}

/// Terms of which a node must match one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct AddedNodeSelector {
    /// The terms; none given and an empty list are told apart only where they are printed.
    #[serde(deserialize_with = "optional_list")]
    pub node_selector_terms: Option<Vec<NodeSelectorTerm>>,
}

/// A term that adds to a node's score.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct PreferredSchedulingTerm {
    /// What the term adds; a term of weight 0 is not looked at.
    pub weight: i32,
    /// The term.
    pub preference: NodeSelectorTerm,
}

/// Requirements that must all hold; an empty term matches nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct NodeSelectorTerm {
    /// On labels.
    #[serde(deserialize_with = "list", skip_serializing_if = "Vec::is_empty")]
    pub match_expressions: Vec<NodeSelectorRequirement>,
    /// On fields, of which there is `metadata.name`.
    #[serde(deserialize_with = "list", skip_serializing_if = "Vec::is_empty")]
    pub match_fields: Vec<NodeSelectorRequirement>,
}

/// One requirement.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Written")]
pub struct NodeSelectorRequirement {
    /// The label or field.
    pub key: String,
    /// `In`, `NotIn`, `Exists`, `DoesNotExist`, `Gt` or `Lt`; for fields the first two alone.
    pub operator: String,
    /// What it is compared with.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<String>,
    /// Whether no list of values is written, which is shown otherwise than an empty one.
    #[serde(skip)]
    unwritten: bool,
}

/// A requirement as it is written.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
struct Written {
    key: String,
    operator: String,
    #[serde(deserialize_with = "optional_list")]
    values: Option<Vec<String>>,
}

impl From<Written> for NodeSelectorRequirement {
    fn from(Written { key, operator, values }: Written) -> Self {
        let unwritten = values.is_none();
        Self { key, operator, values: values.unwrap_or_default(), unwritten }
    }
}

impl AddedNodeAffinity {
    pub(super) fn validate(&self, path: &str) -> Vec<FieldError> {
        let mut errors = Vec::new();
        if let Some(required) = &self.required {
            let path = child(path, "requiredDuringSchedulingIgnoredDuringExecution");
            let path = child(&path, "nodeSelectorTerms");
            let terms = required.node_selector_terms.iter().flatten();
            for (index, term) in terms.enumerate() {
                errors.extend(term.validate(&element(&path, index)));
            }
        }
        let path = child(path, "preferredDuringSchedulingIgnoredDuringExecution");
        for (index, term) in self.preferred.iter().enumerate() {
            if term.weight != 0 {
                // The path names the term and not its `preference`, as upstream's does.
                errors.extend(term.preference.validate(&element(&path, index)));
            }
        }
        errors
    }
}

impl NodeSelectorTerm {
    fn validate(&self, path: &str) -> Vec<FieldError> {
        let mut errors = Vec::new();
        let expressions = child(path, "matchExpressions");
        for (index, it) in self.match_expressions.iter().enumerate() {
            errors.extend(it.validate_on_labels(&element(&expressions, index)));
        }
        let fields = child(path, "matchFields");
        for (index, it) in self.match_fields.iter().enumerate() {
            errors.extend(it.validate_on_fields(&element(&fields, index)));
        }
        errors
    }
}

impl NodeSelectorRequirement {
    fn validate_on_labels(&self, path: &str) -> Vec<FieldError> {
        let values_path = child(path, "values");
        let count_fault = match &*self.operator {
            "In" | "NotIn" => self
                .values
                .is_empty()
                .then_some("for 'in', 'notin' operators, values set can't be empty"),
            "Exists" | "DoesNotExist" => (!self.values.is_empty())
                .then_some("values set must be empty for exists and does not exist"),
            "Gt" | "Lt" => (self.values.len() != 1)
                .then_some("for 'Gt', 'Lt' operators, exactly one value is required"),
            other => {
                let path = child(path, "operator");
                return vec![FieldError::not_supported(path, other, &LABEL_OPERATORS)];
            }
        };
        let mut errors = Vec::new();
        let key_faults = label_key_faults(&self.key);
        if !key_faults.is_empty() {
            let key = quoted(&self.key);
            errors.push(FieldError::invalid(child(path, "key"), key, key_faults.join("; ")));
        }
        errors.extend(count_fault.map(|it| FieldError::invalid(&*values_path, self.shown(), it)));
        if matches!(&*self.operator, "Gt" | "Lt") {
            for (index, value) in self.values.iter().enumerate() {
                if value.parse::<i64>().is_err() {
                    let detail = "for 'Gt', 'Lt' operators, the value must be an integer";
                    let path = element(&values_path, index);
                    errors.push(FieldError::invalid(path, quoted(value), detail));
                }
            }
        }
        for (index, value) in self.values.iter().enumerate() {
            let faults = label_value_faults(value);
            if !faults.is_empty() {
                let path = format!("{}[{}]", element(&values_path, index), self.key);
                errors.push(FieldError::invalid(path, quoted(value), faults.join("; ")));
            }
        }
        errors
    }

    fn validate_on_fields(&self, path: &str) -> Option<FieldError> {
        if !FIELD_OPERATORS.contains(&&*self.operator) {
            let path = child(path, "operator");
            return Some(FieldError::not_supported(path, &self.operator, &FIELD_OPERATORS));
        }
        (self.values.len() != 1).then(|| {
            FieldError::invalid(child(path, "values"), self.shown(), "must have one element")
        })
    }

    /// The values as they are shown in an error.
    fn shown(&self) -> String {
        if self.unwritten {
            return "null".to_owned();
        }
        let values: Vec<String> = self.values.iter().map(|it| quoted(it)).collect();
        format!("[{}]", values.join(","))
    }
}

const LABEL_OPERATORS: [&str; 6] = ["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"];
const FIELD_OPERATORS: [&str; 2] = ["In", "NotIn"];
