//! Loadmaster: `loadmaster-plugins`.
