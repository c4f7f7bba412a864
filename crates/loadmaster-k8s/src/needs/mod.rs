//! What a scheduler needs of a cluster, worked out from its profiles: which kinds of object it
//! watches, and which permissions it must be granted, each with who needs it.

mod kinds;
mod permissions;

pub use kinds::{kinds_of, readers_of};
pub use permissions::{Need, Scope, Wants, permissions};

#[cfg(test)]
mod tests;
