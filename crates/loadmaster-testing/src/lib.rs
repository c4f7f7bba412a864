//! What tests of plugins and of the scheduler are made of.
//!
//! - [`builders`] make pods, nodes and other objects in a line each.
//! - The [`Harness`] runs plugins over a cluster in memory and tells the placement, each node's
//!   verdict and each plugin's points.
//! - [`gate`] checks the course's plugins, and shows that it would notice if they were broken.
//! - [`golden`] compares decisions with those recorded from kube-scheduler.
//!
//! ```
//! use loadmaster_testing::builders::{node, pod};
//! use loadmaster_framework::api::Effect;
//!
//! let node = node("n1")
//!     .capacity([("cpu", "4"), ("memory", "8Gi"), ("pods", "110")])
//!     .taint("dedicated", "db", Effect::NoSchedule)
//!     .build();
//! let pod = pod("a").label("app", "web").request("cpu", "100m").node("n1").build();
//! assert_eq!(pod.node_name(), Some(node.name()));
//! ```

pub mod builders;
#[cfg(feature = "suite")]
pub mod gate;
#[cfg(feature = "suite")]
pub mod golden;

mod cluster;
mod desk;
mod harness;
mod profiles;
pub mod trial;

pub use cluster::Cluster;
pub use harness::{Harness, Placement};
