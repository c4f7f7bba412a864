use loadmaster_framework::field::{FieldError, child};
use serde::{Deserialize, Serialize};

/// Arguments of `InterPodAffinity`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct InterPodAffinityArgs {
    /// Score for a node where a pod runs that requires the incoming one nearby: 0..=100, default 1.
    pub hard_pod_affinity_weight: i32,
    /// Leave the preferred terms of running pods out of the score, unless the incoming pod has
    /// pod affinity itself.
    pub ignore_preferred_terms_of_existing_pods: bool,
}

impl Default for InterPodAffinityArgs {
    fn default() -> Self {
        Self { hard_pod_affinity_weight: 1, ignore_preferred_terms_of_existing_pods: false }
    }
}

impl InterPodAffinityArgs {
    /// What is wrong with the values, if anything; `path` is where the arguments stand.
    pub fn validate(&self, path: &str) -> Vec<FieldError> {
        let weight = self.hard_pod_affinity_weight;
        if (0..=100).contains(&weight) {
            return Vec::new();
        }
        let path = child(path, "hardPodAffinityWeight");
        vec![FieldError::invalid(path, weight, "not in valid range [0, 100]")]
    }
}
