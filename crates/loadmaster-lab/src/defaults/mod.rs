//! What an API server adds to an object before it stores it.
//!
//! On every write [`default_object`] fills in defaults and rewrites quantities. On creation
//! [`prepare_create`] sets what only the server decides (a pod's first status, finalizers, the
//! not-ready taint). [`admit_pod`] does what the admission plugins do to pods.

mod admission;
mod create;
mod fill;
mod matching_labels;
mod object;
mod pod;
mod qos;
mod quantity;
mod requests;
mod workloads;

pub use admission::{AdmissionWorld, Denied, admit_pod};
pub use create::prepare_create;
pub use object::default_object;
pub use qos::qos_class;
pub use quantity::{canonical_quantity, quantity_nanos};
pub use requests::{Amounts, add, amounts, pod_requests};
