//! Drives the scheduler's core over an in-memory cluster, in virtual time and from one seed.
//!
//! [`Sim`] is a cluster and a scheduler in one value: objects are [written](Sim::write) and
//! [deleted](Sim::delete) as an API server would have them, the scheduler is told, what it wants
//! done is done, and time moves only when [told to](Sim::advance). [`Faults`] make tellings late or
//! doubled and calls fail. The same seed gives the same history, to the last draw.
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
