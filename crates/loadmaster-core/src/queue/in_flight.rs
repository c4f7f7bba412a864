//! Pods that are being tried, and what happens meanwhile.

use std::{collections::BTreeMap, sync::Arc};

use loadmaster_framework::api::{ObjectKey, Text};
use loadmaster_framework::{ClusterEvent, Object, PodInfo};

use super::Change;

/// Beyond so many events the older half is replaced by a single one that says that anything may
/// have happened: a pod that stays in flight for long must not make memory grow without end
/// (k/k#120622).
const MAX_EVENTS: usize = 16_384;

/// Pods in flight and the events since each one's try began, in one order, so that a pod that
/// comes back is woken by what it cannot have seen (k/k#72122).
#[derive(Clone, Debug, Default)]
pub(super) struct InFlight {
    /// The number of each pod, by uid: it sees the events after it.
    pods: BTreeMap<Text, (u64, Arc<PodInfo>)>,
    starts: BTreeMap<u64, Text>,
    events: BTreeMap<u64, Event>,
    /// How many events there are of each kind, with zeros where there were any before.
    counts: BTreeMap<ClusterEvent, usize>,
    last: u64,
}

/// Something that happened while pods were in flight.
#[derive(Clone, Debug)]
struct Event {
    kind: ClusterEvent,
    old: Option<Object>,
    new: Option<Object>,
}

impl InFlight {
    pub(super) fn len(&self) -> usize {
        self.pods.len()
    }

    pub(super) fn event_count(&self) -> usize {
        self.events.len()
    }

    /// How many events there are of each kind.
    pub(super) fn counts(&self) -> impl Iterator<Item = (ClusterEvent, usize)> {
        self.counts.iter().map(|(event, count)| (*event, *count))
    }

    /// Every pod in flight, in the order of the uids.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Arc<PodInfo>> {
        self.pods.values().map(|(_, pod)| pod)
    }

    pub(super) fn contains(&self, uid: &str) -> bool {
        self.pods.contains_key(uid)
    }

    pub(super) fn by_key(&self, key: &ObjectKey) -> Option<&Arc<PodInfo>> {
        self.iter().find(|it| it.key() == *key)
    }

    /// A try begins. Returns false where the pod is in flight already.
    pub(super) fn start(&mut self, pod: Arc<PodInfo>) -> bool {
        let uid = pod.uid().clone();
        if self.pods.contains_key(&uid) {
            return false;
        }
        self.last += 1;
        self.starts.insert(self.last, uid.clone());
        self.pods.insert(uid, (self.last, pod));
        true
    }

    /// A try is over. Events that no other pod in flight has yet to see are dropped.
    pub(super) fn done(&mut self, uid: &str) {
        let Some((start, _)) = self.pods.remove(uid) else { return };
        self.starts.remove(&start);
        let oldest = self.starts.first_key_value().map_or(u64::MAX, |(start, _)| *start);
        while let Some(first) = self.events.first_entry().filter(|it| *it.key() < oldest) {
            let Event { kind, .. } = first.remove();
            if let Some(count) = self.counts.get_mut(&kind) {
                *count -= 1;
            }
        }
    }

    /// Keeps a change for the pods in flight, if there are any.
    pub(super) fn record(&mut self, change: Change<'_>) {
        if self.pods.is_empty() {
            return;
        }
        self.last += 1;
        let Change { event, old, new } = change;
        self.events.insert(self.last, Event { kind: event, old: old.cloned(), new: new.cloned() });
        *self.counts.entry(event).or_default() += 1;
        if self.events.len() > MAX_EVENTS {
            self.merge_older_half();
        }
    }

    fn merge_older_half(&mut self) {
        if let Some(middle) = self.events.keys().nth(MAX_EVENTS / 2).copied() {
            self.events = self.events.split_off(&middle);
            let anything = Event { kind: ClusterEvent::WILD_CARD, old: None, new: None };
            self.events.insert(middle, anything);
            self.counts.values_mut().for_each(|it| *it = 0);
            for event in self.events.values() {
                *self.counts.entry(event.kind).or_default() += 1;
            }
        }
    }

    /// What happened since the try of this pod began; `None` where it is not in flight.
    pub(super) fn events_for(&self, uid: &str) -> Option<impl Iterator<Item = Change<'_>>> {
        let (start, _) = self.pods.get(uid)?;
        let since = self.events.range(start..);
        Some(since.map(|(_, it)| Change {
            event: it.kind,
            old: it.old.as_ref(),
            new: it.new.as_ref(),
        }))
    }
}
