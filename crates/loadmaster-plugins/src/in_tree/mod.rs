//! The plugins of kube-scheduler 1.36, a module each, and their arguments.

pub mod args;
pub mod pod_topology_spread;

#[cfg(test)]
mod trial;
