//! Loadmaster: `loadmaster-framework`.

pub mod api;
pub mod duration;
pub mod field;
