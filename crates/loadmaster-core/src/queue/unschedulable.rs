//! Pods that were found unschedulable, and pods that are held back.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use loadmaster_framework::QueuedPodInfo;
use loadmaster_framework::api::ObjectKey;

/// Pods that wait for a change of the cluster, gated ones among them.
#[derive(Clone, Debug, Default)]
pub(super) struct UnschedulablePods {
    pods: BTreeMap<ObjectKey, Entry>,
    by_sweep: BTreeSet<(Duration, ObjectKey)>,
    gated: usize,
}

#[derive(Clone, Debug)]
struct Entry {
    info: Box<QueuedPodInfo>,
    sweep_after: Duration,
}

impl UnschedulablePods {
    /// How many are here, gated ones included.
    pub(super) fn len(&self) -> usize {
        self.pods.len()
    }

    /// How many of them are gated.
    pub(super) fn gated_len(&self) -> usize {
        self.gated
    }

    /// Every pod, in key order.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&ObjectKey, &QueuedPodInfo)> {
        self.pods.iter().map(|(key, entry)| (key, &*entry.info))
    }

    pub(super) fn get(&self, key: &ObjectKey) -> Option<&QueuedPodInfo> {
        self.pods.get(key).map(|it| &*it.info)
    }

    /// Adds a pod, or replaces the one of the same key. It is due to be swept out at any time
    /// after `sweep_after`.
    pub(super) fn insert(&mut self, info: QueuedPodInfo, sweep_after: Duration) {
        let key = info.pod.key();
        self.remove(&key);
        self.gated += usize::from(info.is_gated());
        self.by_sweep.insert((sweep_after, key.clone()));
        self.pods.insert(key, Entry { info: Box::new(info), sweep_after });
    }

    /// Takes a pod out, with the time after which it was due to be swept out.
    pub(super) fn remove(&mut self, key: &ObjectKey) -> Option<(QueuedPodInfo, Duration)> {
        let entry = self.pods.remove(key)?;
        self.gated -= usize::from(entry.info.is_gated());
        self.by_sweep.remove(&(entry.sweep_after, key.clone()));
        Some((*entry.info, entry.sweep_after))
    }

    /// Takes out every pod, in key order.
    pub(super) fn drain(&mut self) -> Vec<QueuedPodInfo> {
        let all = std::mem::take(self);
        all.pods.into_values().map(|it| *it.info).collect()
    }

    /// The pods that are due at `now`, longest due first.
    pub(super) fn due(&self, now: Duration) -> Vec<ObjectKey> {
        let due = self.by_sweep.iter().take_while(|(after, _)| *after < now);
        due.map(|(_, key)| key.clone()).collect()
    }

    /// When the next pod is due.
    pub(super) fn next_due(&self) -> Option<Duration> {
        self.by_sweep.first().map(|(after, _)| *after + Duration::from_nanos(1))
    }
}
