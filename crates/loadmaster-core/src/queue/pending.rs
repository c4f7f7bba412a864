//! What the queue tells of itself: to metrics, recordings and `explain`.

use std::sync::Arc;

use loadmaster_framework::api::ObjectKey;
use loadmaster_framework::{ClusterEvent, PodInfo, QueuedPodInfo};

use super::SchedulingQueue;

/// A part of the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum QueuePart {
    /// To be tried next.
    Active,
    /// To be tried once the backoff is over.
    Backoff,
    /// To be tried once something changed. Gated pods are here too.
    Unschedulable,
}

impl QueuePart {
    /// Upstream's word for it in metrics.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Backoff => "backoff",
            Self::Unschedulable => "unschedulable",
        }
    }
}

/// How many pods wait where (upstream: the metric `pending_pods`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PendingCounts {
    /// To be tried next.
    pub active: usize,
    /// Backing off.
    pub backoff: usize,
    /// Waiting for a change, without the gated ones.
    pub unschedulable: usize,
    /// Held back by a PreEnqueue plugin.
    pub gated: usize,
}

impl SchedulingQueue {
    /// How many pods wait in each part. Pods in flight are in none.
    pub fn pending_counts(&self) -> PendingCounts {
        let gated = self.unschedulable.gated_len();
        PendingCounts {
            active: self.active.len(),
            backoff: self.backoff.len(),
            unschedulable: self.unschedulable.len() - gated,
            gated,
        }
    }

    /// Every pod that waits, with its part: active and backing-off ones in no order that means
    /// anything, then the unschedulable ones in key order.
    pub fn pending_pods(&self) -> impl Iterator<Item = (QueuePart, &QueuedPodInfo)> {
        let active = self.active.iter().map(|it| (QueuePart::Active, it));
        let backoff = self.backoff.iter().map(|it| (QueuePart::Backoff, it));
        let rest = self.unschedulable.iter().map(|(_, it)| (QueuePart::Unschedulable, it));
        active.chain(backoff).chain(rest)
    }

    /// The pod of this key and its part; `None` where it does not wait, so also in flight.
    pub fn get(&self, key: &ObjectKey) -> Option<(QueuePart, &QueuedPodInfo)> {
        let active = self.active.get(key).map(|it| (QueuePart::Active, it));
        let backoff = || self.backoff.get(key).map(|it| (QueuePart::Backoff, it));
        let rest = || self.unschedulable.get(key).map(|it| (QueuePart::Unschedulable, it));
        active.or_else(backoff).or_else(rest)
    }

    /// Whether the pod of this uid is being tried.
    pub fn is_in_flight(&self, uid: &str) -> bool {
        self.in_flight.contains(uid)
    }

    /// The pods that are being tried, as they were when their try began.
    pub fn in_flight_pods(&self) -> impl Iterator<Item = &Arc<PodInfo>> {
        self.in_flight.iter()
    }

    /// How many pods are being tried, and how many events are kept for them.
    pub fn in_flight_len(&self) -> (usize, usize) {
        (self.in_flight.len(), self.in_flight.event_count())
    }

    /// How many of the events that are kept for pods in flight are of each kind, with the pods
    /// themselves as `None` (upstream: the metric `inflight_events`).
    pub fn in_flight_events(&self) -> impl Iterator<Item = (Option<ClusterEvent>, usize)> {
        let pods = std::iter::once((None, self.in_flight.len()));
        pods.chain(self.in_flight.counts().map(|(event, count)| (Some(event), count)))
    }

    /// How many pods that wait each plugin is a reason of, by profile and plugin, with zeros where
    /// there were any before (upstream: the metric `unschedulable_pods`).
    pub fn unschedulable_reasons(&self) -> impl Iterator<Item = (&str, &'static str, usize)> {
        self.reasons.iter()
    }

    /// Grows whenever [`SchedulingQueue::unschedulable_reasons`] may have changed.
    pub fn unschedulable_reasons_version(&self) -> u64 {
        self.reasons.version()
    }

    /// How many pods have come to each part, and through which event (upstream: the metric
    /// `queue_incoming_pods_total`).
    pub fn incoming(&self) -> impl Iterator<Item = (QueuePart, ClusterEvent, u64)> {
        self.incoming.iter().map(|((part, event), count)| (*part, *event, *count))
    }
}
