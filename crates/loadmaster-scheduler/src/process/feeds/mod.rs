//! Feeds: facts from elsewhere, brought to the core with their age.
//!
//! One task a feed. A source that is slow, broken, away or talks nonsense costs nobody else anything:
//! no cycle waits for it, what it said last grows old, and the plugins that read it do what they have
//! declared for that.

mod facts;
mod poller;
mod source;
#[cfg(test)]
mod tests;

use std::{collections::BTreeMap, time::Duration};

use anyhow::bail;
use loadmaster_core::profile::Profile;
use loadmaster_framework::{Feed, FeedSource, api::Text};
use loadmaster_k8s::{
    feed::{self, Fetcher},
    rest::Rest,
    watch::{Told, WatchedFeed, Watches},
};
use tokio::{sync::mpsc, task::JoinHandle};

use super::clock::Clock;
use poller::Poller;
use source::Source;
pub(crate) use source::{FeedSources, Poll};

/// Every feed that is fetched.
pub(super) struct Feeds {
    rest: Rest,
    sources: FeedSources,
    clock: Clock,
    tell: mpsc::Sender<Told>,
    tasks: BTreeMap<Text, (Feed, JoinHandle<()>)>,
}

/// What the plugins of `profiles` declare, each feed once.
///
/// # Errors
/// Two plugins mean different things by one name, or there is no such source.
pub(crate) fn declared(profiles: &[Profile], sources: &FeedSources) -> anyhow::Result<Vec<Feed>> {
    let mut feeds: BTreeMap<Text, Feed> = BTreeMap::new();
    for feed in profiles.iter().flat_map(Profile::feeds) {
        let name = &feed.name;
        match &feed.source {
            FeedSource::Http { url, .. } => feed::check(url)?,
            FeedSource::Registered { .. } if !sources.has(name) => bail!(
                "this scheduler has no source for the feed {name}. Register one where it is built, \
                 with SchedulerCommand::with_feed({name:?}, …), or disable the plugin that reads it"
            ),
            _ => {}
        }
        match feeds.get_mut(name) {
            Some(known) if known.source != feed.source => bail!(
                "two plugins declare the feed {name} with different sources. Give one of them \
                 another name"
            ),
            Some(known) => known.max_age = known.max_age.min(feed.max_age),
            None => _ = feeds.insert(name.clone(), feed.clone()),
        }
    }
    Ok(feeds.into_values().collect())
}

impl Feeds {
    pub(super) fn new(
        rest: Rest,
        sources: FeedSources,
        clock: Clock,
        tell: mpsc::Sender<Told>,
    ) -> Self {
        Self { rest, sources, clock, tell, tasks: BTreeMap::new() }
    }

    /// Begins to fetch those of `feeds` whose names are new.
    pub(super) fn start(&mut self, feeds: &[Feed], watches: &Watches) {
        for feed in feeds {
            if !self.tasks.contains_key(&feed.name)
                && let Some(task) = self.spawn(feed, watches)
            {
                self.tasks.insert(feed.name.clone(), (feed.clone(), task));
            }
        }
    }

    /// Fetches `feeds` as they are declared now.
    pub(super) async fn replace(&mut self, feeds: &[Feed], watches: &Watches) {
        let changed = |(known, _): &&(Feed, JoinHandle<()>)| {
            feeds.iter().any(|it| it.name == known.name && it != known)
        };
        let names: Vec<_> =
            self.tasks.values().filter(changed).map(|(it, _)| it.name.clone()).collect();
        for name in names {
            self.end(&name).await;
        }
        self.start(feeds, watches);
    }

    /// Ends every feed that is none of `feeds`, and has its facts forgotten.
    pub(super) async fn keep(&mut self, feeds: &[Feed]) {
        let unneeded: Vec<_> = self
            .tasks
            .keys()
            .filter(|name| feeds.iter().all(|it| it.name != **name))
            .cloned()
            .collect();
        for name in unneeded {
            tracing::info!(feed = %name, "no plugin reads this feed any more");
            self.end(&name).await;
        }
    }

    async fn end(&mut self, name: &Text) {
        let Some((_, task)) = self.tasks.remove(name) else { return };
        task.abort();
        // However it ended, it says nothing any more.
        let _ = task.await;
        let _ = self.tell.send(Told::FeedEnded(name.clone())).await;
    }

    fn spawn(&self, feed: &Feed, watches: &Watches) -> Option<JoinHandle<()>> {
        let (source, polling) = match &feed.source {
            FeedSource::Watched { group, version, resource } => {
                let api_version = if group.is_empty() {
                    version.to_string()
                } else {
                    format!("{group}/{version}")
                };
                let watched = WatchedFeed {
                    name: feed.name.clone(),
                    api_version,
                    plural: resource.to_string(),
                    epoch: self.clock.at(Duration::ZERO),
                };
                return Some(tokio::spawn(watches.feed(watched)));
            }
            FeedSource::Http { url, polling } => {
                match Fetcher::new(&self.rest, url, polling.max_bytes) {
                    Ok(fetcher) => (Source::Http(fetcher), *polling),
                    Err(error) => {
                        tracing::error!(feed = %feed.name, %error, "the feed cannot be fetched");
                        return None;
                    }
                }
            }
            FeedSource::Registered { polling } => {
                (Source::registered(self.sources.get(&feed.name)?), *polling)
            }
            other => {
                tracing::error!(feed = %feed.name, source = ?other, "there is no way to fetch this");
                return None;
            }
        };
        let poller = Poller::new(feed.clone(), polling, source, self.clock, self.tell.clone());
        Some(tokio::spawn(poller.run()))
    }
}

impl Drop for Feeds {
    fn drop(&mut self) {
        for (_, task) in self.tasks.values() {
            task.abort();
        }
    }
}
