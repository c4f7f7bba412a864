//! The crate from outside.

#![expect(clippy::unwrap_used, reason = "a test stops where it is wrong")]

mod gate;
mod golden;
mod harness;
mod public_faults;
mod whole_scheduler;
