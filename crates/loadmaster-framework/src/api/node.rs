//! Nodes: what they offer and what they keep away.

use serde::{Deserialize, Serialize};

use super::{ObjectMeta, ResourceList, Taint, Text, null_as_default};

/// A node.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Node {
    /// Name, labels, annotations.
    pub metadata: ObjectMeta,
    /// What is wanted of it.
    #[serde(deserialize_with = "null_as_default")]
    pub spec: NodeSpec,
    /// What it offers.
    #[serde(deserialize_with = "null_as_default")]
    pub status: NodeStatus,
}

impl Node {
    /// `metadata.name`.
    pub fn name(&self) -> &Text {
        &self.metadata.name
    }

    /// The value of the node's label `key`.
    pub fn label(&self, key: &str) -> Option<&str> {
        self.metadata.labels.get(key).map(|value| &**value)
    }

    /// Whether the node says that it has `feature` (KEP-5328).
    pub fn has_declared_feature(&self, feature: &str) -> bool {
        self.status.declared_features.iter().any(|it| &**it == feature)
    }
}

/// What is wanted of a node.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct NodeSpec {
    /// Set by `kubectl cordon`.
    #[serde(deserialize_with = "null_as_default")]
    pub unschedulable: bool,
    /// Marks that keep pods away.
    #[serde(deserialize_with = "null_as_default")]
    pub taints: Vec<Taint>,
}

/// What a node offers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct NodeStatus {
    /// What it has.
    pub capacity: ResourceList,
    /// What of it pods may use.
    pub allocatable: ResourceList,
    /// `Ready` and the pressures.
    #[serde(deserialize_with = "null_as_default")]
    pub conditions: Vec<NodeCondition>,
    /// Images that are there already.
    #[serde(deserialize_with = "null_as_default")]
    pub images: Vec<ContainerImage>,
    /// Features that it says it has (KEP-5328).
    #[serde(deserialize_with = "null_as_default")]
    pub declared_features: Vec<Text>,
}

/// One entry of `status.conditions`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct NodeCondition {
    /// `Ready`, `MemoryPressure`, …
    pub r#type: Text,
    /// `True`, `False` or `Unknown`.
    pub status: Text,
}

/// An image on a node.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ContainerImage {
    /// All names by which it is known there.
    #[serde(deserialize_with = "null_as_default")]
    pub names: Vec<Text>,
    /// Its size in bytes.
    #[serde(deserialize_with = "null_as_default")]
    pub size_bytes: i64,
}
