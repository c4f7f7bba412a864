//! Loadmaster: `loadmaster-framework`.
