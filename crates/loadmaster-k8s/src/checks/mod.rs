//! What may be wrong with a cluster before anything is scheduled: permissions that are missing,
//! kinds that this server does not serve, another scheduler that claims the same pods, a lease that
//! somebody else holds.

mod access;
mod lease;
mod rivals;
mod versions;

pub use access::{Subject, missing};
pub use lease::{LeaseState, lease};
pub use rivals::{Rival, Team, rivals};
pub use versions::{Lacking, SUPPORTED_MINORS, lacking, minor};

#[cfg(test)]
mod tests;
