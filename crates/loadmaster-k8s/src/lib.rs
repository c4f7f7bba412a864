//! The scheduler's way to a cluster: the one crate that knows a Kubernetes client.
//!
//! [`client`] finds the cluster, [`watch`] turns its objects into changes for the core, [`act`] does
//! what the core asks for, [`events`] records what happened where users look for it,
//! [`leader`] lets one of several schedulers work, and [`extender`] calls HTTP extenders.
//! [`needs`] says what a scheduler needs of a cluster, [`checks`] what of it is missing,
//! and [`survey`] which pods wait there. Objects are
//! decoded straight into the framework's types, which skip what no scheduler reads.

pub mod act;
pub mod checks;
pub mod client;
pub mod events;
pub mod extender;
pub mod feed;
pub mod kind;
pub mod leader;
pub mod needs;
mod reported;
pub mod rest;
pub mod survey;
pub mod watch;

#[cfg(test)]
mod test_server;
