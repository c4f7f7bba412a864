//! A pod in the scheduling queue.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use super::PodInfo;

/// A pod in the scheduling queue, with its history there. Times are on the scheduler's clock.
#[derive(Clone, Debug)]
pub struct QueuedPodInfo {
    /// The pod.
    pub pod: Arc<PodInfo>,
    /// When it was last put into the queue.
    pub timestamp: Duration,
    /// How often it has been tried.
    pub attempts: u32,
    /// How often it was found unschedulable since it last was not; backoff grows with it.
    pub unschedulable_count: u32,
    /// How often in a row a try ended in an error; backoff of errors grows with it, apart from the
    /// other (k/k#128744).
    pub consecutive_errors_count: u32,
    /// When it was first tried.
    pub initial_attempt_timestamp: Option<Duration>,
    /// When its backoff ends, while it backs off.
    pub backoff_expiration: Option<Duration>,
    /// Plugins that rejected it in its last try.
    pub unschedulable_plugins: BTreeSet<&'static str>,
    /// Plugins that answered Pending in its last try.
    pub pending_plugins: BTreeSet<&'static str>,
    /// The plugin that holds it back from being tried, if one does.
    pub gating_plugin: Option<&'static str>,
    /// Pods were pushed off a node for it more than once, since others took the room that was made.
    /// It then waits out its backoff, so that it does not go on as fast as they do (k/k#130429).
    pub preempts_again: bool,
    /// It is tried because it had waited for too long, and not because something may have helped.
    pub was_flushed_from_unschedulable: bool,
}

impl QueuedPodInfo {
    /// A pod that enters the queue now.
    pub fn new(pod: Arc<PodInfo>, now: Duration) -> Self {
        Self {
            pod,
            timestamp: now,
            attempts: 0,
            unschedulable_count: 0,
            consecutive_errors_count: 0,
            initial_attempt_timestamp: None,
            backoff_expiration: None,
            unschedulable_plugins: BTreeSet::new(),
            pending_plugins: BTreeSet::new(),
            gating_plugin: None,
            preempts_again: false,
            was_flushed_from_unschedulable: false,
        }
    }

    /// Whether a plugin holds it back from being tried.
    pub fn is_gated(&self) -> bool {
        self.gating_plugin.is_some()
    }
}
