//! Loadmaster: `loadmaster-k8s`.
