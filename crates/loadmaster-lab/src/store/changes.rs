//! The kept history of a collection and the watches that read it.
//!
//! A watch is a position in the history and not a queue of its own: a slow reader costs nothing,
//! and one that falls behind what is kept is told so ([`Gone`]) and must list again.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;

use super::{Object, text};

/// What happened to an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeKind {
    /// It is new.
    Added,
    /// It was changed.
    Modified,
    /// It is gone.
    Deleted,
}

/// One change of one object.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// The number of the write.
    pub version: u64,
    /// What happened.
    pub kind: ChangeKind,
    /// The object afterwards; of a deleted one its last state under the deletion's version.
    pub object: Object,
    /// The object before, unless it is new.
    pub previous: Option<Object>,
}

/// The history asked for is not kept any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("too old resource version: {asked} ({oldest})")]
pub struct Gone {
    /// The version after which changes were asked for.
    pub asked: u64,
    /// The oldest version from which they are kept.
    pub oldest: u64,
}

/// The changes of one collection, the newest `capacity` of them.
#[derive(Debug)]
pub(super) struct Log {
    kept: Mutex<Kept>,
    capacity: usize,
    newest: watch::Sender<u64>,
}

#[derive(Debug, Default)]
struct Kept {
    changes: VecDeque<Change>,
    /// The version of the last change that was dropped.
    floor: u64,
}

impl Log {
    pub(super) fn new(capacity: usize) -> Self {
        Self { kept: Mutex::default(), capacity, newest: watch::Sender::new(0) }
    }

    pub(super) fn push(&self, change: Change) {
        let version = change.version;
        let mut kept = self.lock();
        kept.changes.push_back(change);
        while kept.changes.len() > self.capacity {
            if let Some(dropped) = kept.changes.pop_front() {
                kept.floor = dropped.version;
            }
        }
        drop(kept);
        self.newest.send_replace(version);
    }

    pub(super) fn after(&self, version: u64) -> Result<Vec<Change>, Gone> {
        let kept = self.lock();
        if version < kept.floor {
            return Err(Gone { asked: version, oldest: kept.floor });
        }
        let start = kept.changes.partition_point(|it| it.version <= version);
        Ok(kept.changes.range(start..).cloned().collect())
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The changes of a collection after a version, in order.
#[derive(Debug)]
pub struct Watch {
    log: Arc<Log>,
    namespace: Option<String>,
    after: u64,
    newest: watch::Receiver<u64>,
}

impl Watch {
    pub(super) fn new(log: Arc<Log>, namespace: Option<&str>, after: u64) -> Self {
        let newest = log.newest.subscribe();
        Self { log, namespace: namespace.map(str::to_owned), after, newest }
    }

    /// The changes since the last call, possibly none; does not wait.
    ///
    /// # Errors
    /// [`Gone`] when some of them are not kept any more.
    pub fn ready(&mut self) -> Result<Vec<Change>, Gone> {
        let mut changes = self.log.after(self.after)?;
        if let Some(last) = changes.last() {
            self.after = last.version;
        }
        if let Some(namespace) = &self.namespace {
            changes.retain(|it| text(&it.object, "namespace") == namespace);
        }
        Ok(changes)
    }

    /// Waits until there are changes, and answers at least one. Safe to cancel.
    ///
    /// # Errors
    /// [`Gone`] when some of them are not kept any more.
    pub async fn next(&mut self) -> Result<Vec<Change>, Gone> {
        loop {
            self.newest.mark_unchanged();
            let changes = self.ready()?;
            if !changes.is_empty() {
                return Ok(changes);
            }
            // The log, and with it the sender, lives as long as this watch.
            if self.newest.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    }
}
