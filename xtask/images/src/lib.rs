//! From the scheduler's source to an image: what the machine has room for, the build for each
//! platform, and the OCI layout that is pushed.
//!
//! The parts meet in one place, the [`layout`]: a folder `target/images/NAME` that holds the finished
//! image as the OCI image specification has it. Building writes it, pushing and verifying read it.

pub mod credentials;
pub mod digest;
pub mod forge;
pub mod layout;
pub mod oci;
pub mod open;
pub mod push;
pub mod reference;
pub mod size;
pub mod topology;
pub mod transport;
pub mod verify;

#[cfg(test)]
mod fixture;
#[cfg(test)]
mod scripted;
