//! The server side of `kubectl get`: column definitions and cells per kind.
//!
//! Column names, order, types and priorities are those of kube-apiserver 1.36; a kind that has no
//! printer of its own gets Name and Age, as a custom resource does. The time is an argument.

mod age;
mod columns;
mod event;
mod node;
mod pod;
mod row;
mod storage;
mod text;
mod workloads;

pub use age::human_duration;
pub use columns::columns;
pub use row::{IncludeObject, cells, row};
