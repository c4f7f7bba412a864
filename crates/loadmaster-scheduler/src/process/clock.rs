//! The scheduler's clock.

use std::time::Duration;

use tokio::time::Instant;

/// Time since the process began; every part that tells the core of times reads this one clock.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clock(Instant);

impl Clock {
    /// Has begun at `started`.
    pub(super) fn since(started: std::time::Instant) -> Self {
        Self(Instant::from_std(started))
    }

    /// Begins now.
    #[cfg(test)]
    pub(super) fn start() -> Self {
        Self(Instant::now())
    }

    pub(super) fn now(self) -> Duration {
        self.0.elapsed()
    }

    /// That time, as timers take it.
    pub(super) fn at(self, time: Duration) -> Instant {
        self.0 + time
    }
}
