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
mod task;

#[cfg(test)]
mod tests;

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use loadmaster_core::scheduler::ClusterChange;
use tokio::{sync::mpsc, task::JoinSet};

use crate::{kind::Kind, rest::Rest};
use link::Link;

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

/// Starts to watch `kinds`; each tells `tell`, and waits while its reader is behind. The tasks end
/// when the set is dropped, or when nobody reads any more.
pub fn start(
    rest: &Rest,
    kinds: &BTreeSet<Kind>,
    options: &WatchOptions,
    tell: &mpsc::Sender<Told>,
) -> JoinSet<()> {
    let mut tasks = JoinSet::new();
    let link = Arc::new(Link::default());
    for &kind in kinds {
        let (rest, options, tell) = (rest.clone(), options.clone(), tell.clone());
        tasks.spawn(task::Watch::new(rest, kind, options, tell, Arc::clone(&link)).run());
    }
    tasks
}
