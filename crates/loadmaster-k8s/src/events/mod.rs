//! Records what happened to pods where users look for it: `events.k8s.io/v1`, or `v1` where the
//! server has no other.
//!
//! What repeats becomes a series instead of many events, as the convention has it. Recording never
//! holds scheduling up: where the server cannot keep up, events are dropped and the log says so.

pub mod announce;
mod series;
mod wire;

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use http::Method;
use jiff::Timestamp;
use loadmaster_core::scheduler::EventRecord;
use serde_json::Value;
use tokio::{sync::mpsc, task::JoinSet};

use crate::{
    kind::resource_path,
    rest::{CallError, JSON, Rest, STRATEGIC},
};
use series::{Series, Write};
use wire::Version;

/// Takes events to record. Clones write to the same place.
#[derive(Clone, Debug)]
pub struct Recorder {
    queue: mpsc::Sender<EventRecord>,
    overflow: Arc<AtomicBool>,
}

/// The other end of a [`Recorder`].
#[derive(Debug)]
pub struct Writer {
    rest: Rest,
    instance: String,
    queue: mpsc::Receiver<EventRecord>,
    overflow: Arc<AtomicBool>,
}

/// Ten times upstream's number (`maxQueuedEvents`): a deployment of a few thousand pods loses none.
const QUEUE_MAX: usize = 10_000;
/// How many events are written at once.
const WRITES_MAX: usize = 16;
/// Upstream's number (`maxTriesPerEvent`).
const TRIES_MAX: u32 = 12;
/// Upstream's number (`defaultSleepDuration`).
const PAUSE: Duration = Duration::from_secs(10);

/// A recorder, and the writer to be [run](Writer::run) for it. `host` names the machine or pod that
/// the process runs on.
pub fn recorder(rest: Rest, host: &str) -> (Recorder, Writer) {
    let (queue, taken) = mpsc::channel(QUEUE_MAX);
    let overflow = Arc::new(AtomicBool::new(false));
    let writer =
        Writer { rest, instance: host.to_owned(), queue: taken, overflow: Arc::clone(&overflow) };
    (Recorder { queue, overflow }, writer)
}

impl Recorder {
    /// Takes an event to be written as soon as possible; drops it when too many wait already.
    pub fn record(&self, record: EventRecord) {
        if self.queue.try_send(record).is_err() && !self.overflow.swap(true, Ordering::Relaxed) {
            tracing::warn!("events are dropped: the server does not take them fast enough");
        }
    }
}

impl Writer {
    /// Writes events until every [`Recorder`] is gone and all is written.
    pub async fn run(mut self) {
        let version = self.version().await;
        let mut series = Series::default();
        let mut writes = JoinSet::new();
        let mut sweep = tokio::time::interval(series::FINISH_AFTER);
        sweep.tick().await;
        loop {
            tokio::select! {
                record = self.queue.recv() => {
                    let Some(record) = record else { break };
                    if self.queue.is_empty() {
                        self.overflow.store(false, Ordering::Relaxed);
                    }
                    let told = series.note(record, &self.instance, Timestamp::now());
                    self.store_all(&mut writes, version, told).await;
                }
                Some(_) = writes.join_next(), if !writes.is_empty() => {}
                _ = sweep.tick() => {
                    let ended = series.sweep(Timestamp::now());
                    self.store_all(&mut writes, version, ended).await;
                }
            }
        }
        while writes.join_next().await.is_some() {}
    }

    /// Begins to write events, never more than [`WRITES_MAX`] at a time.
    async fn store_all(
        &self,
        writes: &mut JoinSet<()>,
        version: Version,
        events: impl IntoIterator<Item = Write>,
    ) {
        for write in events {
            while writes.len() >= WRITES_MAX {
                writes.join_next().await;
            }
            writes.spawn(store(self.rest.clone(), version, write));
        }
    }

    /// Which version the server has; the newer one where it does not say.
    async fn version(&self) -> Version {
        match self.rest.get::<Value>("/apis/events.k8s.io/v1").await {
            Err(CallError::Answer { code: 404, .. }) => {
                tracing::info!("the server has no events.k8s.io/v1; events are written as v1");
                Version::Core
            }
            _ => Version::Events,
        }
    }
}

/// Writes one event, and tries again where the server could not be reached.
async fn store(rest: Rest, version: Version, write: Write) {
    for _ in 0..TRIES_MAX {
        match try_to_store(&rest, version, &write).await {
            Ok(()) => return,
            Err(error @ (CallError::Answer { .. } | CallError::NotLeading(_))) => {
                // Something about it displeases the server, and will do so again; or others lead.
                let note = &write.event.record.note;
                tracing::debug!(%error, note, "the server refuses an event");
                return;
            }
            Err(error) => {
                tracing::debug!(%error, "an event cannot be written yet");
                tokio::time::sleep(PAUSE).await;
            }
        }
    }
    tracing::warn!(note = write.event.record.note, "an event could not be written");
}

async fn try_to_store(rest: &Rest, version: Version, write: &Write) -> Result<(), CallError> {
    let event = &write.event;
    let path = resource_path(version.api_version(), "events", event.namespace());
    if write.known {
        let body = Version::series_patch(event);
        let one = format!("{path}/{}", event.name);
        match rest.call(Method::PATCH, &one, STRATEGIC, Some(&body)).await {
            // It has expired, or is not written yet: then it is written whole.
            Err(CallError::Answer { code: 404, .. }) => {}
            result => return result.map(drop),
        }
    }
    rest.call(Method::POST, &path, JSON, Some(&version.whole(event))).await.map(drop)
}
