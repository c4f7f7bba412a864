//! Amounts of resources in fixed slots.

use std::collections::BTreeMap;

use super::{Quantity, Text};

/// Amounts by resource name, as manifests have them.
pub type ResourceList = BTreeMap<Text, Quantity>;

/// Amounts in fixed slots. Each slot is wide enough that sums of 64-bit amounts never overflow.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Resource {
    /// Millicores.
    pub milli_cpu: i128,
    /// Bytes.
    pub memory: i128,
    /// Bytes.
    pub ephemeral_storage: i128,
    /// Pods.
    pub allowed_pod_number: i128,
    /// Everything else, sorted by name.
    pub scalars: Vec<(Text, i128)>,
}

impl Resource {
    /// The slots of a list.
    pub fn from_resource_list(_list: &ResourceList) -> Self {
        Self::default()
    }

    /// Adds `other` slot by slot.
    pub fn add(&mut self, other: &Self) {
        self.milli_cpu += other.milli_cpu;
    }

    /// Takes `other` away slot by slot.
    pub fn sub(&mut self, other: &Self) {
        self.milli_cpu -= other.milli_cpu;
    }
}
