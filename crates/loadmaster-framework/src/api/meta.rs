//! What every object carries: its name, identity, labels and owners.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{Labels, Text, null_as_default};

/// A moment in UTC with the precision of the API (whole seconds or microseconds).
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Timestamp(pub jiff::Timestamp);

impl Timestamp {
    /// Microseconds since 1970-01-01T00:00:00Z.
    pub fn as_micros(self) -> i64 {
        self.0.as_microsecond()
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// `namespace/name`, the way a person names an object; the namespace is empty for objects of the
/// cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ObjectKey {
    /// The object's namespace.
    pub namespace: Text,
    /// The object's name in it.
    pub name: Text,
}

impl ObjectKey {
    /// The key of `name` in `namespace`.
    pub fn new(namespace: impl Into<Text>, name: impl Into<Text>) -> Self {
        Self { namespace: namespace.into(), name: name.into() }
    }
}

impl fmt::Display for ObjectKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.namespace.is_empty() {
            write!(f, "{}/", self.namespace)?;
        }
        f.write_str(&self.name)
    }
}

/// The object that an object belongs to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct OwnerReference {
    /// Group and version of the owner's kind, `apps/v1`.
    pub api_version: Text,
    /// The owner's kind, `ReplicaSet`.
    pub kind: Text,
    /// The owner's name in the same namespace.
    pub name: Text,
    /// The owner's identity.
    pub uid: Text,
    /// Whether the owner is the managing controller; at most one owner is.
    #[serde(deserialize_with = "null_as_default")]
    pub controller: bool,
}

/// The part of an object's metadata that a decision can depend on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ObjectMeta {
    /// Unique among the live objects of the kind in its namespace.
    pub name: Text,
    /// Empty for objects of the cluster.
    #[serde(deserialize_with = "null_as_default")]
    pub namespace: Text,
    /// Unique for ever: a successor of the same name has another.
    #[serde(deserialize_with = "null_as_default")]
    pub uid: Text,
    /// The server's version of this object; opaque.
    #[serde(deserialize_with = "null_as_default")]
    pub resource_version: Text,
    /// Grows when the specification changes.
    #[serde(deserialize_with = "null_as_default")]
    pub generation: i64,
    /// `metadata.labels`.
    pub labels: Labels,
    /// `metadata.annotations`.
    pub annotations: Labels,
    /// `metadata.ownerReferences`.
    #[serde(deserialize_with = "null_as_default")]
    pub owner_references: Vec<OwnerReference>,
    /// When the server first stored the object.
    pub creation_timestamp: Option<Timestamp>,
    /// When the object is (or was) to go; set once its deletion has been asked for.
    pub deletion_timestamp: Option<Timestamp>,
}

impl ObjectMeta {
    /// `namespace/name`.
    pub fn key(&self) -> ObjectKey {
        ObjectKey { namespace: self.namespace.clone(), name: self.name.clone() }
    }

    /// The managing controller, if there is one.
    pub fn controller(&self) -> Option<&OwnerReference> {
        self.owner_references.iter().find(|owner| owner.controller)
    }
}
