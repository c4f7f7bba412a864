//! Loadmaster: `loadmaster-core`.
