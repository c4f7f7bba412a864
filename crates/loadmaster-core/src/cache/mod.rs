//! What the cluster looks like: nodes, the pods on them, and everything else that is known.

mod node_tree;
mod store;
#[cfg(test)]
mod tests;

pub use store::{AssumeError, Cache, CachedPod};
