//! Loadmaster: `loadmaster-lab`.

pub mod patch;
pub mod protobuf;
pub mod schema;
