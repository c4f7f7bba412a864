//! Node selectors and node affinity: decoded from the API, compiled once, asked per node
//! (upstream: `component-helpers/scheduling/corev1/nodeaffinity`).

#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};

use super::selector::{Field, Operator, Requirement, Selector, SelectorError};
use super::{Labels, Text, null_as_default};

/// The one field of a node that `matchFields` can look at.
const METADATA_NAME: &str = "metadata.name";

/// One entry of `matchExpressions` or `matchFields`, as written in the API.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(default)]
pub struct NodeSelectorRequirement {
    /// The label or field looked at.
    #[serde(deserialize_with = "null_as_default")]
    pub key: Text,
    /// `In`, `NotIn`, `Exists`, `DoesNotExist`, `Gt` or `Lt`; for fields only `In` and `NotIn`.
    #[serde(deserialize_with = "null_as_default")]
    pub operator: Text,
    /// What the label or field is compared with.
    #[serde(deserialize_with = "null_as_default")]
    pub values: Vec<Text>,
}

/// Requirements that must all hold; a term without any matches no node.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct NodeSelectorTerm {
    /// On the node's labels.
    #[serde(deserialize_with = "null_as_default")]
    pub match_expressions: Vec<NodeSelectorRequirement>,
    /// On the node's fields, of which there is `metadata.name`.
    #[serde(deserialize_with = "null_as_default")]
    pub match_fields: Vec<NodeSelectorRequirement>,
}

impl NodeSelectorTerm {
    /// Whether the term has no requirement, and so matches no node.
    pub fn is_empty(&self) -> bool {
        self.match_expressions.is_empty() && self.match_fields.is_empty()
    }
}

/// Terms of which one must match, as written in the API.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct NodeSelector {
    /// Without any term no node matches.
    #[serde(deserialize_with = "null_as_default")]
    pub node_selector_terms: Vec<NodeSelectorTerm>,
}

impl NodeSelector {
    /// Prepares the selector. What is wrong with a term is told when the selector is asked, and
    /// only if no other term matches (upstream: `NewLazyErrorNodeSelector`).
    pub fn compile(&self) -> CompiledNodeSelector {
        self.compile_under(&Field::root())
    }

    /// Prepares the selector (upstream: `NewNodeSelector`). `path` is the field that the selector
    /// stands in, for error texts; it may be empty.
    ///
    /// # Errors
    /// Names everything that is wrong with any term.
    pub fn compile_strict(&self, path: &str) -> Result<CompiledNodeSelector, SelectorError> {
        let compiled = self.compile_under(&Field::at(path));
        let errors = compiled.terms.iter().filter_map(|term| term.as_ref().err().cloned());
        SelectorError::from_errors(errors).map_or(Ok(()), Err)?;
        Ok(compiled)
    }

    fn compile_under(&self, path: &Field) -> CompiledNodeSelector {
        let path = path.child("nodeSelectorTerms");
        let terms = self.node_selector_terms.iter().enumerate();
        let terms = terms
            .filter(|(_, term)| !term.is_empty())
            .map(|(index, term)| CompiledTerm::new(term, &path.index(index)))
            .collect();
        CompiledNodeSelector { terms }
    }
}

/// A term with a weight, as written in the API.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(default)]
pub struct PreferredSchedulingTerm {
    /// 1 to 100; a term of weight 0 is not even looked at.
    #[serde(deserialize_with = "null_as_default")]
    pub weight: i32,
    /// The nodes that gain the weight.
    #[serde(deserialize_with = "null_as_default")]
    pub preference: NodeSelectorTerm,
}

/// A [`NodeSelector`] prepared for matching.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CompiledNodeSelector {
    terms: Vec<Result<CompiledTerm, SelectorError>>,
}

impl CompiledNodeSelector {
    /// Whether a node of these labels and this name matches one of the terms.
    ///
    /// # Errors
    /// What is wrong with the terms that could not be understood, if none of the others matches.
    pub fn matches(&self, labels: &Labels, node_name: &str) -> Result<bool, SelectorError> {
        if self.terms.iter().flatten().any(|term| term.matches(labels, node_name)) {
            return Ok(true);
        }
        let errors = self.terms.iter().filter_map(|term| term.as_ref().err().cloned());
        SelectorError::from_errors(errors).map_or(Ok(false), Err)
    }
}

/// Weighted terms prepared for scoring (upstream: `PreferredSchedulingTerms`).
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct CompiledPreferredTerms {
    terms: Vec<(i64, CompiledTerm)>,
}

impl CompiledPreferredTerms {
    /// Prepares the terms. Terms without requirements or of weight 0 are left out unchecked.
    /// `path` is the field of the list, for error texts; it may be empty.
    ///
    /// # Errors
    /// Names everything that is wrong with any term.
    pub fn new(terms: &[PreferredSchedulingTerm], path: &str) -> Result<Self, SelectorError> {
        let path = Field::at(path);
        let (mut compiled, mut errors) = (Vec::with_capacity(terms.len()), Vec::new());
        for (index, term) in terms.iter().enumerate() {
            if term.weight == 0 || term.preference.is_empty() {
                continue;
            }
            match CompiledTerm::new(&term.preference, &path.index(index)) {
                Ok(it) => compiled.push((i64::from(term.weight), it)),
                Err(error) => errors.push(error),
            }
        }
        SelectorError::from_errors(errors).map_or(Ok(Self { terms: compiled }), Err)
    }

    /// The sum of the weights of the terms that a node of these labels and this name matches.
    pub fn score(&self, labels: &Labels, node_name: &str) -> i64 {
        let matching = self.terms.iter().filter(|(_, term)| term.matches(labels, node_name));
        matching.map(|(weight, _)| weight).sum()
    }

    /// Whether no term is left that could give a score.
    pub fn is_empty(&self) -> bool {
        self.terms.is_empty()
    }
}

/// A pod's `nodeSelector` and required node affinity, prepared for matching (upstream:
/// `GetRequiredNodeAffinity`).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RequiredNodeAffinity {
    labels: Selector,
    required: Option<CompiledNodeSelector>,
}

impl RequiredNodeAffinity {
    /// Prepares `spec.nodeSelector` and the required node affinity, if there is one.
    pub fn new(node_selector: &Labels, required: Option<&NodeSelector>) -> Self {
        Self {
            labels: Selector::from_labels(node_selector),
            required: required.map(NodeSelector::compile),
        }
    }

    /// Whether a node of these labels and this name is allowed.
    ///
    /// # Errors
    /// As [`CompiledNodeSelector::matches`].
    pub fn matches(&self, labels: &Labels, node_name: &str) -> Result<bool, SelectorError> {
        if !self.labels.matches(labels) {
            return Ok(false);
        }
        self.required.as_ref().map_or(Ok(true), |required| required.matches(labels, node_name))
    }
}

/// A condition on a field of a node.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct FieldTest {
    key: Text,
    value: Text,
    equal: bool,
}

impl FieldTest {
    /// Whether the field has the value; a field that does not exist is empty. A node without a
    /// name is not tested.
    fn holds(&self, node_name: &str) -> bool {
        let actual = if &*self.key == METADATA_NAME { node_name } else { "" };
        node_name.is_empty() || (actual == &*self.value) == self.equal
    }
}

/// A term that could be understood.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct CompiledTerm {
    labels: Selector,
    fields: Vec<FieldTest>,
}

impl CompiledTerm {
    fn new(term: &NodeSelectorTerm, path: &Field) -> Result<Self, SelectorError> {
        let mut errors = Vec::new();
        let at = path.child("matchExpressions");
        let mut requirements = Vec::with_capacity(term.match_expressions.len());
        for (index, expression) in term.match_expressions.iter().enumerate() {
            match label_requirement(expression, &at.index(index)) {
                Ok(requirement) => requirements.push(requirement),
                Err(error) => errors.push(error),
            }
        }
        let at = path.child("matchFields");
        let mut fields = Vec::with_capacity(term.match_fields.len());
        for (index, expression) in term.match_fields.iter().enumerate() {
            match field_test(expression, &at.index(index)) {
                Ok(test) => fields.push(test),
                Err(error) => errors.push(error),
            }
        }
        let labels = Selector::from_requirements(requirements);
        SelectorError::from_errors(errors).map_or(Ok(Self { labels, fields }), Err)
    }

    fn matches(&self, labels: &Labels, node_name: &str) -> bool {
        self.labels.matches(labels) && self.fields.iter().all(|test| test.holds(node_name))
    }
}

fn label_requirement(
    expression: &NodeSelectorRequirement,
    at: &Field,
) -> Result<Requirement, SelectorError> {
    let operator = match &*expression.operator {
        "In" => Operator::In,
        "NotIn" => Operator::NotIn,
        "Exists" => Operator::Exists,
        "DoesNotExist" => Operator::DoesNotExist,
        "Gt" => Operator::GreaterThan,
        "Lt" => Operator::LessThan,
        other => {
            let known = ["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"];
            return Err(SelectorError::new(at.child("operator").not_supported(other, &known)));
        }
    };
    Requirement::new(&expression.key, operator, &expression.values, at)
}

fn field_test(
    expression: &NodeSelectorRequirement,
    at: &Field,
) -> Result<FieldTest, SelectorError> {
    let equal = match &*expression.operator {
        "In" => true,
        "NotIn" => false,
        other => {
            let known = ["In", "NotIn"];
            return Err(SelectorError::new(at.child("operator").not_supported(other, &known)));
        }
    };
    let [value] = expression.values.as_slice() else {
        let why = "must have one element";
        return Err(SelectorError::new(at.child("values").invalid_list(&expression.values, why)));
    };
    Ok(FieldTest { key: expression.key.clone(), value: value.clone(), equal })
}
