//! Loadmaster: `loadmaster-config`.
