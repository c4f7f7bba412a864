//! Loadmaster: `loadmaster-scheduler`.
