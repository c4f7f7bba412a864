//! Loadmaster: `loadmaster-testing`.
