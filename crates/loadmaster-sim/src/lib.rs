//! Loadmaster: `loadmaster-sim`.
