use loadmaster_framework::field::{FieldError, child};
use serde::{Deserialize, Serialize};

use super::AddedNodeAffinity;

/// Arguments of `NodeAffinity`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct NodeAffinityArgs {
    /// Node affinity that holds for every pod of the profile, besides the pod's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub added_affinity: Option<AddedNodeAffinity>,
}

impl NodeAffinityArgs {
    /// What is wrong with the values, if anything; `path` is where the arguments stand.
    pub fn validate(&self, path: &str) -> Vec<FieldError> {
        let path = child(path, "addedAffinity");
        self.added_affinity.as_ref().map_or_else(Vec::new, |it| it.validate(&path))
    }
}
