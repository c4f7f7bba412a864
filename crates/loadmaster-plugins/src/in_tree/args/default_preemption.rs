use loadmaster_framework::field::{FieldError, child};
use serde::{Deserialize, Serialize};

/// Arguments of `DefaultPreemption`: how many candidate nodes a dry run looks for.
///
/// The number is the larger of the two settings, at most the number of nodes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct DefaultPreemptionArgs {
    /// Part of the nodes, in percent: 0..=100, default 10.
    pub min_candidate_nodes_percentage: i32,
    /// Number of nodes: not negative, default 100.
    pub min_candidate_nodes_absolute: i32,
}

impl Default for DefaultPreemptionArgs {
    fn default() -> Self {
        Self { min_candidate_nodes_percentage: 10, min_candidate_nodes_absolute: 100 }
    }
}

impl DefaultPreemptionArgs {
    /// What is wrong with the values, if anything; `path` is where the arguments stand.
    pub fn validate(&self, path: &str) -> Vec<FieldError> {
        let percentage = self.min_candidate_nodes_percentage;
        let absolute = self.min_candidate_nodes_absolute;
        let percentage_path = child(path, "minCandidateNodesPercentage");
        let absolute_path = child(path, "minCandidateNodesAbsolute");
        let mut errors = Vec::new();
        if !(0..=100).contains(&percentage) {
            let detail = "not in valid range [0, 100]";
            errors.push(FieldError::invalid(&*percentage_path, percentage, detail));
        }
        if absolute < 0 {
            let detail = "not in valid range [0, inf)";
            errors.push(FieldError::invalid(&*absolute_path, absolute, detail));
        }
        if percentage == 0 && absolute == 0 {
            let detail = "cannot be zero at the same time as minCandidateNodesAbsolute";
            errors.push(FieldError::invalid(percentage_path, percentage, detail));
            let detail = "cannot be zero at the same time as minCandidateNodesPercentage";
            errors.push(FieldError::invalid(absolute_path, absolute, detail));
        }
        errors
    }
}
