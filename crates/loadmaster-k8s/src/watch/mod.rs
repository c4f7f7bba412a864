//! Watches: what there is, then every change, without end and without gaps.
//!
//! One task a kind. It lists (streamed where the server can, in pages where not), watches from
//! there, and goes on after every fault: a dropped or silent connection is taken up where it broke
//! off; where the server has forgotten that place (410) everything is listed again and what vanished
//! meanwhile is told as deleted. An object that cannot be read is a warning and no outage.

mod backoff;
mod line;
mod link;
mod mirror;
mod subject;
mod task;

#[cfg(test)]
mod tests;

use std::{
    collections::{BTreeMap, BTreeSet},
    panic::AssertUnwindSafe,
    sync::Arc,
    time::Duration,
};

use futures::FutureExt;
use loadmaster_core::scheduler::ClusterChange;
use loadmaster_framework::api::Text;
use tokio::{sync::mpsc, task::JoinHandle};

use crate::{kind::Kind, rest::Rest};
use link::Link;
pub use mirror::Known;
use subject::Subject;
pub use subject::WatchedFeed;

/// What watches tell.
#[derive(Clone, Debug)]
pub enum Told {
    /// Something changed.
    Change(ClusterChange),
    /// Everything of the kind has been told; from here on changes follow.
    Synced(Kind),
    /// The watch of nodes or pods is interrupted: what was told may be out of date until
    /// [`Told::Synced`] is said again. Of other kinds nothing is said.
    Stale(Kind),
    /// The kind is not watched any more: what was told of it is of no use, and nothing follows
    /// before it is watched anew.
    Ended(Kind),
    /// The watch of the kind panicked, which is a fault of the program: nothing follows.
    Broken(Kind),
    /// The feed of this name is not fetched any more.
    FeedEnded(Text),
}

/// How watches behave; the defaults suit every cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WatchOptions {
    /// A connection on which nothing is heard for so long is taken for dead and opened anew.
    pub silence_limit: Duration,
    /// The server is asked to end each watch after so long.
    pub lifetime: Duration,
    /// How many objects a page of a list has at most.
    pub page_size: u32,
    /// Whether lists are asked for as streams first.
    pub streaming_lists: bool,
    /// The first pause after a fault; it doubles.
    pub first_pause: Duration,
    /// The longest pause.
    pub longest_pause: Duration,
}

impl Default for WatchOptions {
    fn default() -> Self {
        Self {
            silence_limit: Duration::from_secs(90),
            lifetime: Duration::from_secs(330),
            page_size: 500,
            streaming_lists: true,
            first_pause: Duration::from_millis(250),
            longest_pause: Duration::from_secs(10),
        }
    }
}

/// Watches under way, one task a kind; each tells, and waits while its reader is behind. They end
/// when this is dropped, or when nobody reads any more.
#[derive(Debug)]
pub struct Watches {
    rest: Rest,
    options: WatchOptions,
    tell: mpsc::Sender<Told>,
    link: Arc<Link>,
    tasks: BTreeMap<Kind, JoinHandle<()>>,
    pods: Known,
}

impl Watches {
    /// Starts to watch `kinds`, and tells `tell`.
    pub fn start(
        rest: &Rest,
        kinds: &BTreeSet<Kind>,
        options: &WatchOptions,
        tell: &mpsc::Sender<Told>,
    ) -> Self {
        let mut watches = Self {
            rest: rest.clone(),
            options: options.clone(),
            tell: tell.clone(),
            link: Arc::default(),
            tasks: BTreeMap::new(),
            pods: Known::default(),
        };
        for kind in kinds {
            watches.add(*kind);
        }
        watches
    }

    /// Which kinds are watched.
    pub fn kinds(&self) -> impl Iterator<Item = Kind> {
        self.tasks.keys().copied()
    }

    /// The pods as they were last told.
    pub fn pods(&self) -> Known {
        self.pods.clone()
    }

    /// Watches one more kind, unless it is watched already.
    pub fn add(&mut self, kind: Kind) {
        let Self { rest, options, tell, link, tasks, pods } = self;
        tasks.entry(kind).or_insert_with(|| {
            let (rest, options, tell) = (rest.clone(), options.clone(), tell.clone());
            let (subject, link) = (Subject::Kind(kind), Arc::clone(link));
            let known = if kind == Kind::Pod { pods.clone() } else { Known::default() };
            let watch = task::Watch::new(rest, subject, options, tell.clone(), link, known);
            tokio::spawn(told_of(kind, watch.run(), tell))
        });
    }

    /// Watches the objects of an extra kind and tells them as facts, until the future is dropped.
    pub fn feed(&self, feed: WatchedFeed) -> impl Future<Output = ()> + Send + use<> {
        let Self { rest, options, tell, link, .. } = self;
        let (rest, options, tell) = (rest.clone(), options.clone(), tell.clone());
        let (subject, link) = (Subject::Feed(feed), Arc::clone(link));
        task::Watch::new(rest, subject, options, tell, link, Known::default()).run()
    }

    /// Ends the watch of a kind, and tells that as the last thing about it.
    pub async fn end(&mut self, kind: Kind) {
        let Some(task) = self.tasks.remove(&kind) else { return };
        task.abort();
        // However it ended, it has: it says nothing any more.
        let _ = task.await;
        let _ = self.tell.send(Told::Ended(kind)).await;
    }
}

/// Runs a watch, and tells of it if it panics.
async fn told_of(kind: Kind, watch: impl Future<Output = ()>, tell: mpsc::Sender<Told>) {
    if AssertUnwindSafe(watch).catch_unwind().await.is_err() {
        let _ = tell.send(Told::Broken(kind)).await;
    }
}

impl Drop for Watches {
    fn drop(&mut self) {
        for task in self.tasks.values() {
            task.abort();
        }
    }
}
