//! Drives the scheduler's core over an in-memory cluster, in virtual time and from one seed.
//!
//! [`Sim`] is a cluster and a scheduler in one value: objects are [written](Sim::write) and
//! [deleted](Sim::delete) as an API server would have them, the scheduler is told, what it wants
//! done is done, and time moves only when [told to](Sim::advance). [`Faults`] make tellings late or
//! doubled and calls fail. The same seed gives the same history, to the last draw.
//!
//! ```
//! use loadmaster_config::{RegistryCatalog, load};
//! use loadmaster_core::scheduler::{AttemptOutcome, SchedulerOptions};
//! use loadmaster_framework::{Gates, api::{Node, Pod}};
//! use loadmaster_sim::Sim;
//! use serde_json::json;
//!
//! // Any registry will do, also one with plugins of your own, and any configuration.
//! let (registry, gates) = (loadmaster_plugins::registry(), Gates::default());
//! let text = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration";
//! let loaded = load(text, "example", &RegistryCatalog::new(&registry, &gates))?;
//! let options = SchedulerOptions::from_config(&loaded, &registry, &gates)?;
//!
//! let mut sim = Sim::new(options, 1)?;
//! let node = json!({
//!     "metadata": {"name": "n1"},
//!     "status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "110"}},
//! });
//! let pod = json!({
//!     "metadata": {"name": "web", "namespace": "default", "uid": "1"},
//!     "spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": "1"}}}]},
//! });
//! sim.write(serde_json::from_value::<Node>(node)?);
//! sim.write(serde_json::from_value::<Pod>(pod)?);
//! let tries = sim.run();
//! assert!(matches!(&tries[0].outcome, AttemptOutcome::Assumed { node, .. } if &**node == "n1"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! It is under the plugin harness, the recorded sequences, the benchmarks and the simulations.

mod cluster;
mod faults;
mod invariants;
mod sim;

pub use cluster::Cluster;
pub use faults::Faults;
pub use invariants::Violation;
pub use sim::Sim;
