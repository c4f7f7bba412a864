//! Amounts of resources: by name as written in the API, and in fixed slots for arithmetic.

mod list;

#[cfg(test)]
mod tests;

pub use list::ResourceList;

use super::Text;
use super::selector::label_key_errors;

/// Cores, counted in thousandths.
pub const CPU: &str = "cpu";
/// Bytes of memory.
pub const MEMORY: &str = "memory";
/// Bytes of the node's own disk.
pub const EPHEMERAL_STORAGE: &str = "ephemeral-storage";
/// How many pods a node takes.
pub const PODS: &str = "pods";

const HUGE_PAGES_PREFIX: &str = "hugepages-";
const ATTACHABLE_VOLUMES_PREFIX: &str = "attachable-volumes-";
const NATIVE_NAMESPACE: &str = "kubernetes.io/";
const QUOTA_REQUESTS_PREFIX: &str = "requests.";
const DEVICE_CLASS_PREFIX: &str = "deviceclass.resource.kubernetes.io/";

/// Amounts in fixed slots, as NodeInfo sums them.
///
/// Every slot is wide enough that no sum of 64-bit amounts overflows, so adding pods and taking
/// them away again gives the exact sum (upstream wraps, kubernetes#141328). Slots may be negative.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Resource {
    /// Thousandths of a core.
    pub milli_cpu: i128,
    /// Bytes.
    pub memory: i128,
    /// Bytes.
    pub ephemeral_storage: i128,
    /// How many pods a node takes.
    pub allowed_pod_number: i128,
    /// Huge pages, extended resources and the like, in name order.
    scalars: Vec<(Text, i128)>,
}

impl Resource {
    /// The amounts of `list`; see [`add_list`](Self::add_list).
    pub fn from_resource_list(list: &ResourceList) -> Self {
        let mut slots = Self::default();
        slots.add_list(list);
        slots
    }

    /// Adds the amounts of `list`, each cut to 64 bits and rounded up. Names that are neither one
    /// of the four slots nor a [scalar resource](is_scalar_resource_name) are left out.
    pub fn add_list(&mut self, list: &ResourceList) {
        for (name, amount) in list {
            match &**name {
                CPU => self.milli_cpu += i128::from(amount.milli_value()),
                MEMORY => self.memory += i128::from(amount.value()),
                EPHEMERAL_STORAGE => self.ephemeral_storage += i128::from(amount.value()),
                PODS => self.allowed_pod_number += i128::from(amount.value()),
                scalar if is_scalar_resource_name(scalar) => {
                    *self.scalar_mut(name) += i128::from(amount.value());
                }
                _ => {}
            }
        }
    }

    /// Raises each slot to the amount of `list` where that is larger (upstream: `SetMaxResource`,
    /// which has no slot for `pods`). The amounts are read as in [`add_list`](Self::add_list).
    pub fn set_max_list(&mut self, list: &ResourceList) {
        let raise = |slot: &mut i128, amount: i64| *slot = (*slot).max(i128::from(amount));
        for (name, amount) in list {
            match &**name {
                CPU => raise(&mut self.milli_cpu, amount.milli_value()),
                MEMORY => raise(&mut self.memory, amount.value()),
                EPHEMERAL_STORAGE => raise(&mut self.ephemeral_storage, amount.value()),
                scalar if is_scalar_resource_name(scalar) => {
                    raise(self.scalar_mut(name), amount.value());
                }
                _ => {}
            }
        }
    }

    /// Adds `other` slot by slot.
    pub fn add(&mut self, other: &Self) {
        self.combine(other, 1);
    }

    /// Takes `other` away slot by slot. A scalar resource of which nothing is left is forgotten, so
    /// that taking away what was added gives an equal value.
    pub fn sub(&mut self, other: &Self) {
        self.combine(other, -1);
        self.scalars.retain(|(_, amount)| *amount != 0);
    }

    /// Raises each slot to that of `other` where that is larger.
    pub fn set_max(&mut self, other: &Self) {
        self.milli_cpu = self.milli_cpu.max(other.milli_cpu);
        self.memory = self.memory.max(other.memory);
        self.ephemeral_storage = self.ephemeral_storage.max(other.ephemeral_storage);
        self.allowed_pod_number = self.allowed_pod_number.max(other.allowed_pod_number);
        for (name, amount) in &other.scalars {
            let slot = self.scalar_mut(name);
            *slot = (*slot).max(*amount);
        }
    }

    /// The amount of the resource `name` in its slot's unit; 0 where there is none.
    pub fn get(&self, name: &str) -> i128 {
        match name {
            CPU => self.milli_cpu,
            MEMORY => self.memory,
            EPHEMERAL_STORAGE => self.ephemeral_storage,
            PODS => self.allowed_pod_number,
            scalar => self.scalar(scalar),
        }
    }

    /// The amount of a scalar resource; 0 where there is none.
    pub fn scalar(&self, name: &str) -> i128 {
        self.scalars
            .binary_search_by(|(known, _)| (**known).cmp(name))
            .map_or(0, |at| self.scalars[at].1)
    }

    /// The scalar resources in name order. Some may be 0.
    pub fn scalars(&self) -> &[(Text, i128)] {
        &self.scalars
    }

    /// Sets the amount of a scalar resource.
    pub fn set_scalar(&mut self, name: &Text, amount: i128) {
        *self.scalar_mut(name) = amount;
    }

    fn scalar_mut(&mut self, name: &Text) -> &mut i128 {
        let at = self.scalars.binary_search_by(|(known, _)| known.cmp(name)).unwrap_or_else(|at| {
            self.scalars.insert(at, (name.clone(), 0));
            at
        });
        &mut self.scalars[at].1
    }

    fn combine(&mut self, other: &Self, sign: i128) {
        self.milli_cpu += sign * other.milli_cpu;
        self.memory += sign * other.memory;
        self.ephemeral_storage += sign * other.ephemeral_storage;
        self.allowed_pod_number += sign * other.allowed_pod_number;
        for (name, amount) in other.scalars.iter().filter(|(_, amount)| *amount != 0) {
            *self.scalar_mut(name) += sign * amount;
        }
    }
}

/// Whether the name is in a `*kubernetes.io/` namespace, explicitly or by having no namespace.
pub fn is_native_resource(name: &str) -> bool {
    !name.contains('/') || is_prefixed_native_resource(name)
}

/// Whether the name is explicitly in a `*kubernetes.io/` namespace.
pub fn is_prefixed_native_resource(name: &str) -> bool {
    name.contains(NATIVE_NAMESPACE)
}

/// Whether the name is one that a cluster's owner may add, such as `example.com/gpu`.
pub fn is_extended_resource_name(name: &str) -> bool {
    !is_native_resource(name)
        && !name.starts_with(QUOTA_REQUESTS_PREFIX)
        && label_key_errors(&format!("{QUOTA_REQUESTS_PREFIX}{name}")).is_empty()
}

/// Whether the name is that of huge pages of some size, such as `hugepages-2Mi`.
pub fn is_huge_page_resource_name(name: &str) -> bool {
    name.starts_with(HUGE_PAGES_PREFIX)
}

/// Whether the name counts volumes that can be attached, such as `attachable-volumes-aws-ebs`.
pub fn is_attachable_volume_resource_name(name: &str) -> bool {
    name.starts_with(ATTACHABLE_VOLUMES_PREFIX)
}

/// Whether the resource is counted in [`Resource::scalars`] (upstream: `IsScalarResourceName`).
pub fn is_scalar_resource_name(name: &str) -> bool {
    is_huge_page_resource_name(name)
        || is_prefixed_native_resource(name)
        || is_attachable_volume_resource_name(name)
        || is_extended_resource_name(name)
}

/// Whether devices may stand behind the name: it is an extended resource or names a device class
/// (KEP-5004).
pub fn is_dra_extended_resource_name(name: &str) -> bool {
    name.starts_with(DEVICE_CLASS_PREFIX) || is_extended_resource_name(name)
}
