//! The loops of kube-controller-manager that a lab needs.
//!
//! Each [`Controller`] looks at one object at a time and brings the cluster one step closer to what
//! that object asks for; it reads the store afresh every time, so it may run at any moment and
//! again after any interruption. [`Manager`] feeds them with the keys that watches name, in one
//! thread and in a fixed order: the same history gives the same writes.

mod cluster_roles;
mod deployment;
mod disruption;
mod events;
mod garbage;
mod manager;
mod namespace;
mod node_taints;
mod pod_gc;
mod quota;
mod replica_set;
mod runner;
mod taint_eviction;
pub(crate) mod volumes;

pub use cluster_roles::ClusterRoles;
pub use deployment::Deployments;
pub use disruption::Disruption;
pub use events::{EventExpiry, Recorder, Severity};
pub use garbage::GarbageCollector;
pub use manager::Manager;
pub use namespace::Namespaces;
pub use node_taints::NodeTaints;
pub use pod_gc::PodGc;
pub use quota::Quotas;
pub use replica_set::ReplicaSets;
pub use runner::{Controller, Key, Runner, Work};
pub use taint_eviction::TaintEviction;
pub use volumes::{Claims, EphemeralVolumes, PersistentVolumes};

#[cfg(test)]
pub(crate) mod testing;
