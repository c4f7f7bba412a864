//! The plugins of the course, written to be read and changed.

pub mod cache_locality;
pub mod concentrate;
pub mod custom_metric;
