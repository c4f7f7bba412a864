//! Disruption budgets: how many pods of a kind may be missing at a time.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{LabelSelector, ObjectMeta, Text, null_as_default};

/// A `PodDisruptionBudget` of `policy/v1`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct PodDisruptionBudget {
    /// Name and namespace.
    pub metadata: ObjectMeta,
    /// Which pods it guards.
    #[serde(deserialize_with = "null_as_default")]
    pub spec: PodDisruptionBudgetSpec,
    /// How many may go now.
    #[serde(deserialize_with = "null_as_default")]
    pub status: PodDisruptionBudgetStatus,
}

/// Which pods a budget guards.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct PodDisruptionBudgetSpec {
    /// Absent or empty guards none here.
    pub selector: Option<LabelSelector>,
}

/// How many pods may go now.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PodDisruptionBudgetStatus {
    /// May be negative while the budget is overdrawn.
    #[serde(deserialize_with = "null_as_default")]
    pub disruptions_allowed: i32,
    /// Pods whose disruption has been granted and not seen yet.
    #[serde(deserialize_with = "null_as_default")]
    pub disrupted_pods: BTreeMap<Text, serde_json::Value>,
}
