use loadmaster_framework::field::{FieldError, child};
use serde::{Deserialize, Serialize};

use super::{ResourceSpec, list};

/// Arguments of `NodeResourcesBalancedAllocation`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Written")]
pub struct NodeResourcesBalancedAllocationArgs {
    /// The resources whose use should be even; default processor and memory. Weights are 1.
    pub resources: Vec<ResourceSpec>,
}

/// The arguments as they are written, before defaults.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
struct Written {
    #[serde(deserialize_with = "list")]
    resources: Vec<ResourceSpec>,
}

impl From<Written> for NodeResourcesBalancedAllocationArgs {
    fn from(Written { mut resources }: Written) -> Self {
        ResourceSpec::default_list(&mut resources);
        Self { resources }
    }
}

impl Default for NodeResourcesBalancedAllocationArgs {
    fn default() -> Self {
        Written::default().into()
    }
}

impl NodeResourcesBalancedAllocationArgs {
    /// What is wrong with the values, if anything; `path` is where the arguments stand.
    pub fn validate(&self, path: &str) -> Vec<FieldError> {
        ResourceSpec::validate_unweighted(&self.resources, &child(path, "resources"))
    }
}
