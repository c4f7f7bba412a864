//! Loadmaster: `loadmaster-lab`.
