//! What tests of plugins and of the scheduler are made of.
//!
//! [`builders`] make pods, nodes and other objects in a line each:
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
