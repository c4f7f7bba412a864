//! Pods that were tried in vain and wait a while before they may be tried again.

use std::time::Duration;

use loadmaster_framework::QueuedPodInfo;
use loadmaster_framework::api::ObjectKey;

use super::heap::{Heap, Less};

/// Backoffs end at whole seconds of the scheduler's clock. Pods whose backoff ends in the same
/// second leave it together, and in the order of the active queue.
pub(super) const ORDERING_WINDOW: Duration = Duration::from_secs(1);

/// Pods that back off. Those whose try ended in an error are kept apart: only the others are
/// tried before their backoff is over. So are preemptors that preempt again, unlike upstream.
///
/// Source: `pkg/scheduler/backend/queue/backoff_queue.go`, v1.36.
#[derive(Clone, Debug)]
pub(super) struct BackoffQueue {
    pods: Heap,
    patient: Heap,
    initial: Duration,
    max: Duration,
}

impl BackoffQueue {
    pub(super) fn new(initial: Duration, max: Duration) -> Self {
        Self { pods: Heap::default(), patient: Heap::default(), initial, max }
    }

    /// When the backoff of a pod that came back at its timestamp ends; `None` where it has none.
    /// The count of errors in a row counts alone, if there were any (k/k#128744).
    pub(super) fn expiration(&self, info: &QueuedPodInfo) -> Option<Duration> {
        let count = match info.consecutive_errors_count {
            0 => info.unschedulable_count,
            errors => errors,
        };
        if count == 0 || self.max.is_zero() {
            return None;
        }
        Some(align(info.timestamp + self.duration(count)))
    }

    fn duration(&self, count: u32) -> Duration {
        let doubled = 1_u32.checked_shl(count - 1).and_then(|it| self.initial.checked_mul(it));
        doubled.map_or(self.max, |it| it.min(self.max))
    }

    /// Whether the pod must still wait at `now`: also in the second in which its backoff ends.
    pub(super) fn is_backing_off(info: &QueuedPodInfo, now: Duration) -> bool {
        info.backoff_expiration.is_some_and(|it| it >= align(now))
    }

    /// From now on backoffs are these; those that have begun stay as they are.
    pub(super) fn set_limits(&mut self, initial: Duration, max: Duration) {
        (self.initial, self.max) = (initial, max);
    }

    /// Takes out every pod.
    pub(super) fn drain(&mut self) -> Vec<QueuedPodInfo> {
        let mut pods = self.pods.drain();
        pods.extend(self.patient.drain());
        pods
    }

    pub(super) fn len(&self) -> usize {
        self.pods.len() + self.patient.len()
    }

    /// How many may be tried before their backoff is over.
    pub(super) fn poppable_len(&self) -> usize {
        self.pods.len()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &QueuedPodInfo> {
        self.pods.iter().chain(self.patient.iter())
    }

    pub(super) fn get(&self, key: &ObjectKey) -> Option<&QueuedPodInfo> {
        self.pods.get(key).or_else(|| self.patient.get(key))
    }

    /// A pod that no plugin rejected came back because of an error.
    pub(super) fn push(&mut self, info: QueuedPodInfo, less: Less<'_>) {
        let failed = info.unschedulable_plugins.is_empty() && info.pending_plugins.is_empty();
        if failed || info.preempts_again {
            self.patient.push(info, &ends_sooner);
        } else {
            self.pods.push(info, &ends_sooner_or(less));
        }
    }

    pub(super) fn remove(&mut self, key: &ObjectKey, less: Less<'_>) -> Option<QueuedPodInfo> {
        let found = self.pods.remove(key, &ends_sooner_or(less));
        found.or_else(|| self.patient.remove(key, &ends_sooner))
    }

    /// Changes the pod of this key. Returns whether it is here.
    pub(super) fn update(
        &mut self,
        key: &ObjectKey,
        edit: impl FnOnce(&mut QueuedPodInfo),
        less: Less<'_>,
    ) -> bool {
        if self.pods.get(key).is_some() {
            self.pods.update(key, edit, &ends_sooner_or(less))
        } else {
            self.patient.update(key, edit, &ends_sooner)
        }
    }

    /// The pod to be tried before its backoff is over.
    pub(super) fn pop(&mut self, less: Less<'_>) -> Option<QueuedPodInfo> {
        self.pods.pop(&ends_sooner_or(less))
    }

    /// Takes out a pod whose backoff is over.
    pub(super) fn pop_completed(&mut self, now: Duration, less: Less<'_>) -> Option<QueuedPodInfo> {
        let over = |heap: &Heap| heap.peek().is_some_and(|it| !Self::is_backing_off(it, now));
        if over(&self.pods) {
            self.pods.pop(&ends_sooner_or(less))
        } else if over(&self.patient) {
            self.patient.pop(&ends_sooner)
        } else {
            None
        }
    }

    /// When the next backoff is over.
    pub(super) fn next_completion(&self) -> Option<Duration> {
        let heads = [self.pods.peek(), self.patient.peek()];
        let ends = heads.into_iter().flatten();
        ends.map(|it| it.backoff_expiration.map_or(Duration::ZERO, |it| it + ORDERING_WINDOW)).min()
    }
}

fn align(time: Duration) -> Duration {
    Duration::from_secs(time.as_secs() / ORDERING_WINDOW.as_secs() * ORDERING_WINDOW.as_secs())
}

fn ends_sooner(a: &QueuedPodInfo, b: &QueuedPodInfo) -> bool {
    a.backoff_expiration < b.backoff_expiration
}

fn ends_sooner_or(less: Less<'_>) -> impl Fn(&QueuedPodInfo, &QueuedPodInfo) -> bool {
    move |a, b| match a.backoff_expiration.cmp(&b.backoff_expiration) {
        std::cmp::Ordering::Equal => less(a, b),
        order => order.is_lt(),
    }
}
