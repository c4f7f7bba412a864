//! Whether the server can be reached, so that all watches together say it once.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::rest::CallError;

/// Shared by all watches of a server.
#[derive(Debug, Default)]
pub(super) struct Link {
    lost: AtomicBool,
}

impl Link {
    /// The server cannot be reached; said when that is new.
    pub(super) fn lost(&self, error: &CallError) {
        if !self.lost.swap(true, Ordering::Relaxed) {
            tracing::warn!(%error, "the API server cannot be reached; trying again until it can");
        }
    }

    /// The server answers; said when it did not.
    pub(super) fn back(&self) {
        if self.lost.swap(false, Ordering::Relaxed) {
            tracing::info!("the API server answers again");
        }
    }
}
