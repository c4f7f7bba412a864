//! Loadmaster: `loadmaster-plugins`.

pub mod in_tree;
