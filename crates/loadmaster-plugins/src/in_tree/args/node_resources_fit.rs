use loadmaster_framework::field::{FieldError, child, element, label_key_faults, quoted};
use serde::{Deserialize, Serialize};

use super::{ResourceSpec, UtilizationShapePoint, list};

/// Arguments of `NodeResourcesFit`.
///
/// Upstream's validation looks for these under a wrong name, so it checks them only when the plugin
/// is built, and not at all when it is not enabled.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Written", rename_all = "camelCase")]
pub struct NodeResourcesFitArgs {
    /// Extended resources that Filter ignores.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ignored_resources: Vec<String>,
    /// Groups of extended resources (`example.com` of `example.com/gpu`) that Filter ignores.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ignored_resource_groups: Vec<String>,
    /// How nodes are scored; default `LeastAllocated` by processor and memory.
    pub scoring_strategy: ScoringStrategy,
}

/// How nodes are scored by their resources.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct ScoringStrategy {
    /// `LeastAllocated`, `MostAllocated` or `RequestedToCapacityRatio`.
    #[serde(rename = "type", skip_serializing_if = "String::is_empty")]
    pub kind: String,
    /// The resources looked at, with weights in 1..=100; default processor and memory.
    #[serde(deserialize_with = "list", skip_serializing_if = "Vec::is_empty")]
    pub resources: Vec<ResourceSpec>,
    /// The line for `RequestedToCapacityRatio`, and for that alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requested_to_capacity_ratio: Option<RequestedToCapacityRatioParam>,
}

/// The line that maps how full a node is to a score.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct RequestedToCapacityRatioParam {
    /// Its points, by rising utilization.
    #[serde(deserialize_with = "list", skip_serializing_if = "Vec::is_empty")]
    pub shape: Vec<UtilizationShapePoint>,
}

/// The arguments as they are written, before defaults.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
struct Written {
    #[serde(deserialize_with = "list")]
    ignored_resources: Vec<String>,
    #[serde(deserialize_with = "list")]
    ignored_resource_groups: Vec<String>,
    scoring_strategy: Option<ScoringStrategy>,
}

impl From<Written> for NodeResourcesFitArgs {
    fn from(written: Written) -> Self {
        // A strategy that is given without a type keeps none, which `validate` then refuses.
        let mut scoring_strategy = written.scoring_strategy.unwrap_or_else(|| ScoringStrategy {
            kind: LEAST_ALLOCATED.to_owned(),
            ..ScoringStrategy::default()
        });
        ResourceSpec::default_list(&mut scoring_strategy.resources);
        Self {
            ignored_resources: written.ignored_resources,
            ignored_resource_groups: written.ignored_resource_groups,
            scoring_strategy,
        }
    }
}

impl Default for NodeResourcesFitArgs {
    fn default() -> Self {
        Written::default().into()
    }
}

impl NodeResourcesFitArgs {
    /// What is wrong with the values, if anything; `path` is where the arguments stand.
    pub fn validate(&self, path: &str) -> Vec<FieldError> {
        let mut errors = Vec::new();
        let ignored = child(path, "ignoredResources");
        for (index, name) in self.ignored_resources.iter().enumerate() {
            errors.extend(label_key_errors(name, &element(&ignored, index)));
        }
        let groups = child(path, "ignoredResourceGroups");
        for (index, group) in self.ignored_resource_groups.iter().enumerate() {
            let path = element(&groups, index);
            if group.contains('/') {
                let detail = "resource group name can't contain '/'";
                errors.push(FieldError::invalid(&*path, quoted(group), detail));
            }
            errors.extend(label_key_errors(group, &path));
        }
        errors.extend(self.scoring_strategy.validate(&child(path, "scoringStrategy")));
        errors
    }
}

impl ScoringStrategy {
    fn validate(&self, path: &str) -> Vec<FieldError> {
        let mut errors = Vec::new();
        if !STRATEGIES.contains(&&*self.kind) {
            errors.push(FieldError::not_supported(child(path, "type"), &self.kind, &STRATEGIES));
        }
        errors.extend(ResourceSpec::validate_weights(&self.resources, &child(path, "resources")));
        let path = child(path, "requestedToCapacityRatio");
        match (&self.requested_to_capacity_ratio, self.kind == REQUESTED_TO_CAPACITY_RATIO) {
            (Some(ratio), true) => {
                let path = child(&path, "shape");
                errors.extend(UtilizationShapePoint::validate_line(&ratio.shape, &path));
            }
            (None, true) => {
                let detail = "must be specified when type is RequestedToCapacityRatio";
                errors.push(FieldError::required(path, detail));
            }
            (Some(_), false) => {
                let detail = "must be nil when type is not RequestedToCapacityRatio";
                errors.push(FieldError::forbidden(path, detail));
            }
            (None, false) => {}
        }
        errors
    }
}

fn label_key_errors(name: &str, path: &str) -> impl Iterator<Item = FieldError> {
    label_key_faults(name).into_iter().map(move |it| FieldError::invalid(path, quoted(name), it))
}

const LEAST_ALLOCATED: &str = "LeastAllocated";
const REQUESTED_TO_CAPACITY_RATIO: &str = "RequestedToCapacityRatio";
const STRATEGIES: [&str; 3] = [LEAST_ALLOCATED, "MostAllocated", REQUESTED_TO_CAPACITY_RATIO];
