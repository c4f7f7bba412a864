//! From the scheduler's source to an image: what the machine has room for, the build for each
//! platform, and the OCI layout that is pushed.
//!
//! The parts meet in one place, the [`layout`]: a folder `target/images/NAME` that holds the finished
//! image as the OCI image specification has it. Building writes it, pushing and verifying read it.

pub mod assemble;
pub mod build;
pub mod credentials;
pub mod cross;
pub mod digest;
pub mod doctor;
pub mod elf;
pub mod forge;
pub mod layout;
pub mod measure;
pub mod oci;
pub mod open;
pub mod plan;
pub mod provenance;
pub mod push;
pub mod recipe;
pub mod reference;
pub mod signals;
pub mod site;
pub mod topology;
pub mod transport;
pub mod unpack;
pub mod verify;

/// One heavy step at a time, and sizes: shared with what looks before cargo runs.
pub use xtask_heavy::{lock, size};

#[cfg(test)]
mod fixture;
#[cfg(test)]
mod scripted;
