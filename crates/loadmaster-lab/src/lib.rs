//! An embedded lab cluster: an API server on loopback that kubectl, `kube` and an unmodified
//! kube-scheduler can talk to, the controllers that make deployments run, and hollow nodes.
//!
//! It keeps everything in memory. Over plain HTTP who gives no credentials is the administrator;
//! over HTTPS service accounts do what their roles allow. It is for labs and tests on one machine,
//! and links none of the workspace's other crates.
//!
//! The way of a request through the crate: [`resources`] says what is served, `server` routes and
//! answers, `patch` and `defaults` work on bodies, [`store`] owns the state, `controllers` and
//! `kubelet` react to it, and `runtime` runs containers for the nodes.

pub mod api;
pub mod auth;
pub mod cli;
pub mod cluster;
pub mod controllers;
pub mod decode;
pub mod defaults;
pub mod kubelet;
pub mod patch;
pub mod protobuf;
mod quota;
pub mod resources;
pub mod runtime;
pub mod schema;
pub mod selectors;
pub mod server;
pub mod status;
pub mod store;
pub mod tables;
pub mod validation;
mod values;
