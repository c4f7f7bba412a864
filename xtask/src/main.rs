//! Loadmaster tasks.
fn main() {}
