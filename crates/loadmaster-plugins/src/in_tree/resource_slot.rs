//! How full a node is, by the resources that a profile names.

use loadmaster_framework::{
    NodeInfo,
    api::{CPU, EPHEMERAL_STORAGE, MEMORY, Resource, Text},
};

use super::args::ResourceSpec;

/// The slot of a [`Resource`] that a name stands for.
#[derive(Clone, Debug)]
enum Slot {
    Cpu,
    Memory,
    EphemeralStorage,
    Scalar(Text),
}

/// A resource that a score looks at.
#[derive(Clone, Debug)]
pub(super) struct ScoredResource {
    slot: Slot,
    /// How much it counts against the others.
    pub(super) weight: i128,
}

/// How full a node is of one resource.
#[derive(Clone, Copy, Debug)]
pub(super) struct Usage {
    /// What the pods on the node take.
    pub(super) before: i128,
    /// The same and the incoming pod.
    pub(super) after: i128,
    /// What the node offers; never 0.
    pub(super) capacity: i128,
    /// The resource's weight.
    pub(super) weight: i128,
}

impl ScoredResource {
    /// The resources of a list of arguments, in its order.
    pub(super) fn list(specs: &[ResourceSpec]) -> Vec<Self> {
        let one = |spec: &ResourceSpec| Self {
            slot: match &*spec.name {
                CPU => Slot::Cpu,
                MEMORY => Slot::Memory,
                EPHEMERAL_STORAGE => Slot::EphemeralStorage,
                other => Slot::Scalar(other.into()),
            },
            weight: spec.weight.into(),
        };
        specs.iter().map(one).collect()
    }

    /// The amount of this resource in `amounts`.
    pub(super) fn amount(&self, amounts: &Resource) -> i128 {
        match &self.slot {
            Slot::Cpu => amounts.milli_cpu,
            Slot::Memory => amounts.memory,
            Slot::EphemeralStorage => amounts.ephemeral_storage,
            Slot::Scalar(name) => amounts.scalar(name),
        }
    }

    /// How full `node` is with `requested` more. `None` where the resource does not count: the node
    /// has none of it, or it is a scalar resource that the pod does not ask for.
    ///
    /// With `non_zero`, pods that ask for no processor or memory count as if they asked for a
    /// little.
    pub(super) fn usage(&self, node: &NodeInfo, requested: i128, non_zero: bool) -> Option<Usage> {
        let capacity = self.amount(node.allocatable());
        let unasked = requested == 0 && matches!(self.slot, Slot::Scalar(_));
        if capacity == 0 || unasked {
            return None;
        }
        let before = match self.slot {
            Slot::Cpu | Slot::Memory if non_zero => self.amount(node.non_zero_requested()),
            _ => self.amount(node.requested()),
        };
        Some(Usage { before, after: before + requested, capacity, weight: self.weight })
    }
}
