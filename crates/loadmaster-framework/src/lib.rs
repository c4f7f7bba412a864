//! Loadmaster: `loadmaster-framework`.

pub mod duration;
pub mod field;
