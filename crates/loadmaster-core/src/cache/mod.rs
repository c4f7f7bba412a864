//! What the cluster looks like: nodes, the pods on them, and everything else that is known.

mod node_tree;
mod store;

pub use store::{AssumeError, Cache, CachedPod};
