//! What repeats becomes a series: the first time an event is written, the second time it becomes a
//! series, from then on it is only counted, and the count is written now and then.
//!
//! Source: `staging/src/k8s.io/client-go/tools/events/event_broadcaster.go`, v1.36.

use std::collections::{BTreeMap, VecDeque};

use jiff::{SignedDuration, Timestamp};
use loadmaster_core::scheduler::EventRecord;
use loadmaster_framework::api::Text;

/// An event with its name and how often it was seen.
#[derive(Clone, Debug)]
pub(super) struct Event {
    pub(super) record: EventRecord,
    pub(super) name: String,
    pub(super) instance: String,
    pub(super) first_seen: Timestamp,
    pub(super) last_seen: Timestamp,
    /// 1 is no series.
    pub(super) count: u32,
}

impl Event {
    pub(super) fn namespace(&self) -> &str {
        match &**self.record.regarding.namespace() {
            "" => "default",
            namespace => namespace,
        }
    }
}

/// What is to be written.
#[derive(Clone, Debug)]
pub(super) struct Write {
    pub(super) event: Event,
    /// Whether it is written already, so that its count alone is new.
    pub(super) known: bool,
}

/// Events with the same key are one event that repeats. The note is no part of it, and the version
/// of the pod is: a changed note comes with a changed condition.
type Key = (&'static str, &'static str, &'static str, Text, Text, Text, Option<Text>);

/// What has been seen lately.
#[derive(Debug, Default)]
pub(super) struct Series {
    seen: BTreeMap<Key, Event>,
    /// Their keys, the oldest first.
    order: VecDeque<Key>,
    refreshed: Option<Timestamp>,
}

/// A series ends when nothing is added to it for so long.
pub(super) const FINISH_AFTER: std::time::Duration = std::time::Duration::from_mins(6);
/// So many are remembered: of what is older a repetition is another event. Upstream sets no bound,
/// and a scheduler of many pods would remember them all for minutes.
const SEEN_MAX: usize = 4096;
/// The count of a series that goes on is written after so long.
const REFRESH_AFTER: SignedDuration = SignedDuration::from_mins(30);

impl Series {
    /// Takes in an event; what is to be written of it, and of one that is forgotten for it.
    pub(super) fn note(&mut self, record: EventRecord, host: &str, now: Timestamp) -> Vec<Write> {
        let pod = &record.regarding;
        let key = (
            record.kind.as_str(),
            record.action,
            record.reason,
            record.reporter.clone(),
            pod.uid().clone(),
            pod.metadata.resource_version.clone(),
            record.related.as_ref().map(|it| it.uid().clone()),
        );
        if let Some(event) = self.seen.get_mut(&key) {
            event.count = event.count.saturating_add(1);
            event.last_seen = now;
            let again = (event.count == 2).then(|| Write { event: event.clone(), known: true });
            return again.into_iter().collect();
        }
        let event = Event {
            name: format!("{}.{:x}", pod.name(), now.as_nanosecond()),
            instance: format!("{}-{host}", record.reporter),
            record,
            first_seen: now,
            last_seen: now,
            count: 1,
        };
        self.order.push_back(key.clone());
        self.seen.insert(key, event.clone());
        let mut writes = vec![Write { event, known: false }];
        if self.order.len() > SEEN_MAX {
            let oldest = self.order.pop_front().and_then(|it| self.seen.remove(&it));
            let series = oldest.filter(|it| it.count > 1);
            writes.extend(series.map(|event| Write { event, known: true }));
        }
        writes
    }

    /// Ends what has not been seen for long; what is to be written of the rest.
    pub(super) fn sweep(&mut self, now: Timestamp) -> Vec<Write> {
        let refresh = self.refreshed.is_some_and(|it| now.duration_since(it) >= REFRESH_AFTER);
        if refresh || self.refreshed.is_none() {
            self.refreshed = Some(now);
        }
        let mut writes = Vec::new();
        self.seen.retain(|_, event| {
            let finished = now.duration_since(event.last_seen).unsigned_abs() >= FINISH_AFTER;
            if event.count > 1 && (finished || refresh) {
                writes.push(Write { event: event.clone(), known: true });
            }
            !finished
        });
        self.order.retain(|it| self.seen.contains_key(it));
        writes
    }
}

#[cfg(test)]
mod tests;
