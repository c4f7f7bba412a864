//! What a pod takes of a node.

use super::{Pod, Resource};

/// What a pod takes of a node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PodResources {
    /// Its requests, overhead included.
    pub requests: Resource,
    /// The same with defaults for containers that ask for none (100 millicores, 200 MiB).
    pub non_zero: Resource,
}

impl PodResources {
    /// Works them out for `pod`.
    pub fn of(_pod: &Pod) -> Self {
        Self::default()
    }
}
