//! How the election stands, for metrics and health checks.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use tokio::time::Instant;

use super::Fence;

/// How the election stands. Cheap to clone and to ask.
#[derive(Clone, Debug)]
pub struct LeaderStatus {
    fence: Fence,
    lease_duration: Duration,
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    begun: Instant,
    /// Milliseconds from the beginning to the start of the last successful renewal, and one; 0 is
    /// none.
    renewed: AtomicU64,
    slow_paths: AtomicU64,
}

/// The label `name` of the metrics and the name in health checks. Upstream's word, whatever the
/// lease is called.
pub const ELECTION_NAME: &str = "kube-scheduler";
/// A leader may be overdue by this much before a health check fails (upstream's number).
const TOLERANCE: Duration = Duration::from_secs(20);

impl LeaderStatus {
    pub(super) fn new(fence: Fence, lease_duration: Duration) -> Self {
        let begun = Instant::now();
        let (renewed, slow_paths) = Default::default();
        Self { fence, lease_duration, shared: Arc::new(Shared { begun, renewed, slow_paths }) }
    }

    /// Whether this scheduler leads (`leader_election_master_status`).
    pub fn is_leader(&self) -> bool {
        self.fence.is_open()
    }

    /// How often a renewal had to read the lease first (`leader_election_slowpath_total`).
    pub fn slow_paths(&self) -> u64 {
        self.shared.slow_paths.load(Ordering::Relaxed)
    }

    /// When the last successful renewal began, if this scheduler ever led.
    pub fn last_renewal(&self) -> Option<Instant> {
        let millis = self.shared.renewed.load(Ordering::Relaxed).checked_sub(1)?;
        Some(self.shared.begun + Duration::from_millis(millis))
    }

    /// The health check `leaderElection`: fails where a leader should have renewed or ended long
    /// ago (upstream: `HealthzAdaptor`).
    ///
    /// # Errors
    /// Upstream's words for it.
    pub fn check(&self, now: Instant) -> Result<(), String> {
        let overdue = self
            .last_renewal()
            .is_some_and(|it| now.saturating_duration_since(it) > self.lease_duration + TOLERANCE);
        if overdue {
            return Err(format!("failed election to renew leadership on lease {ELECTION_NAME}"));
        }
        Ok(())
    }

    pub(super) fn note_renewal(&self, at: Instant) {
        let since = at.saturating_duration_since(self.shared.begun).as_millis();
        let since = u64::try_from(since).unwrap_or(u64::MAX - 1);
        self.shared.renewed.store(since + 1, Ordering::Relaxed);
    }

    pub(super) fn note_slow_path(&self) {
        self.shared.slow_paths.fetch_add(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_leader_that_neither_renews_nor_ends_is_unwell() {
        let (_election, fence) = Fence::new();
        let status = LeaderStatus::new(fence, Duration::from_secs(15));
        let start = Instant::now();
        let later = |seconds| start + Duration::from_secs(seconds);
        assert_eq!(status.check(later(1000)), Ok(()), "it never led");
        status.note_renewal(later(10));
        assert_eq!(status.last_renewal(), Some(later(10)));
        assert_eq!(status.check(later(45)), Ok(()));
        assert_eq!(
            status.check(later(46)),
            Err("failed election to renew leadership on lease kube-scheduler".to_owned())
        );
    }
}
