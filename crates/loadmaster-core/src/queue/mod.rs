//! Who waits to be scheduled, why, and what would help.
//!
//! A pod that waits is in exactly one part: *active* (to be tried next), *backoff* (to be tried
//! once its backoff is over, or sooner where nobody else is active) or *unschedulable* (until a
//! change of the cluster may help, or for five minutes). A pod that a PreEnqueue plugin holds back
//! is among the unschedulable ones and is called *gated*. A pod that is being tried is in none of
//! them but *in flight*, and what happens meanwhile is kept for it.
//!
//! Source: `pkg/scheduler/backend/queue`, v1.36.

mod backoff;
mod heap;
mod hints;
mod host;
mod in_flight;
mod moves;
mod nominator;
mod pending;
mod reasons;
mod replace;
mod scheduling_queue;
#[cfg(test)]
mod tests;
mod unschedulable;

pub use hints::{EXTENDER_NAME, QueueingHintMap, QueueingHintMaps, Registration};
pub use host::{Change, QueueHost};
pub use pending::{PendingCounts, QueuePart};
pub use scheduling_queue::{AlreadyQueued, QueueOptions, SchedulingQueue};
