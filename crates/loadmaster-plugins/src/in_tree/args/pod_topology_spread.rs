use std::collections::BTreeMap;

use loadmaster_framework::field::{FieldError, child, element, label_key_faults, quoted};
use serde::{Deserialize, Serialize};

use super::list;

/// Arguments of `PodTopologySpread`: what holds for pods that ask for no spreading themselves.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct PodTopologySpreadArgs {
    /// The constraints under `List`; their selector is deduced from the pod's services and owners.
    #[serde(deserialize_with = "list", skip_serializing_if = "Vec::is_empty")]
    pub default_constraints: Vec<DefaultConstraint>,
    /// `System` (the default: spread over nodes and zones) or `List`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub defaulting_type: String,
}

/// One constraint, as a pod's `topologySpreadConstraints` writes it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct DefaultConstraint {
    /// The largest difference allowed between a domain and the emptiest one; at least 1.
    pub max_skew: i32,
    /// The label of nodes whose values are the domains.
    pub topology_key: String,
    /// `DoNotSchedule` or `ScheduleAnyway`.
    pub when_unsatisfiable: String,
    /// Must not be given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label_selector: Option<LabelSelector>,
    /// With fewer domains than this the emptiest counts as 0; taken over unchecked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_domains: Option<i32>,
    /// `Honor` or `Ignore`; taken over unchecked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node_affinity_policy: Option<String>,
    /// `Honor` or `Ignore`; taken over unchecked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node_taints_policy: Option<String>,
    /// Labels of the pod whose values are added to the selector.
    #[serde(deserialize_with = "list", skip_serializing_if = "Vec::is_empty")]
    pub match_label_keys: Vec<String>,
}

/// A selector, whose place in a default constraint is forbidden but whose fields are known.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct LabelSelector {
    /// Labels with their values.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub match_labels: BTreeMap<String, String>,
    /// Requirements.
    #[serde(deserialize_with = "list", skip_serializing_if = "Vec::is_empty")]
    pub match_expressions: Vec<super::NodeSelectorRequirement>,
}

impl Default for PodTopologySpreadArgs {
    fn default() -> Self {
        Self { default_constraints: Vec::new(), defaulting_type: SYSTEM.to_owned() }
    }
}

impl PodTopologySpreadArgs {
    /// What is wrong with the values, if anything; `path` is where the arguments stand.
    pub fn validate(&self, path: &str) -> Vec<FieldError> {
        let mut errors = Vec::new();
        let kind = &*self.defaulting_type;
        let type_path = child(path, "defaultingType");
        if ![SYSTEM, LIST].contains(&kind) {
            errors.push(FieldError::not_supported(type_path, kind, &[SYSTEM, LIST]));
        } else if kind == SYSTEM && !self.default_constraints.is_empty() {
            let detail = "when .defaultConstraints are not empty";
            errors.push(FieldError::invalid(type_path, quoted(kind), detail));
        }
        let path = child(path, "defaultConstraints");
        for (index, constraint) in self.default_constraints.iter().enumerate() {
            let path = element(&path, index);
            errors.extend(constraint.validate(&path));
            let same = |other: &DefaultConstraint| {
                other.topology_key == constraint.topology_key
                    && other.when_unsatisfiable == constraint.when_unsatisfiable
            };
            if self.default_constraints[..index].iter().any(same) {
                let (key, action) = (&constraint.topology_key, &constraint.when_unsatisfiable);
                errors.push(FieldError::duplicate(path, &format!("{{{key}, {action}}}")));
            }
        }
        errors
    }
}

impl DefaultConstraint {
    fn validate(&self, path: &str) -> Vec<FieldError> {
        let mut errors = Vec::new();
        if self.max_skew <= 0 {
            let detail = "not in valid range (0, inf)";
            errors.push(FieldError::invalid(child(path, "maxSkew"), self.max_skew, detail));
        }
        let key_path = child(path, "topologyKey");
        if self.topology_key.is_empty() {
            errors.push(FieldError::required(key_path, "can not be empty"));
        } else {
            let faults = label_key_faults(&self.topology_key).into_iter();
            let key = quoted(&self.topology_key);
            errors.extend(faults.map(|it| FieldError::invalid(&*key_path, &key, it)));
        }
        let action_path = child(path, "whenUnsatisfiable");
        if self.when_unsatisfiable.is_empty() {
            errors.push(FieldError::required(action_path, "can not be empty"));
        } else if !ACTIONS.contains(&&*self.when_unsatisfiable) {
            let action = &self.when_unsatisfiable;
            errors.push(FieldError::not_supported(action_path, action, &ACTIONS));
        }
        if self.label_selector.is_some() {
            let detail = "constraint must not define a selector, as they deduced for each pod";
            errors.push(FieldError::forbidden(child(path, "labelSelector"), detail));
        }
        errors
    }
}

const SYSTEM: &str = "System";
const LIST: &str = "List";
const ACTIONS: [&str; 2] = ["DoNotSchedule", "ScheduleAnyway"];
