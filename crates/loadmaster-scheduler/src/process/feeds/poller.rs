//! Asking one source again and again.

use std::{collections::BTreeSet, time::Duration};

use jiff::Timestamp;
use loadmaster_core::scheduler::{ClusterChange, NewFact};
use loadmaster_framework::{Feed, Polling, api::Text};
use loadmaster_k8s::watch::Told;
use tokio::{
    sync::mpsc,
    time::{sleep_until, timeout},
};

use super::{
    facts::{Facts, aged, facts_of},
    source::{Answer, Source},
};
use crate::process::clock::Clock;

/// Asks one source again and again, and tells what it says.
pub(super) struct Poller {
    feed: Feed,
    polling: Polling,
    source: Source,
    clock: Clock,
    tell: mpsc::Sender<Told>,
    /// What the source has facts about.
    known: BTreeSet<Text>,
    /// When it was last asked with success; the beginning counts.
    last_good: Duration,
    /// Failures in a row.
    failures: u32,
    /// Whether it has ever answered.
    answered: bool,
    /// Whether the log says that it is stale.
    said_stale: bool,
}

/// A source that fails is asked at least this often.
const LONGEST_PAUSE: Duration = Duration::from_mins(5);

/// Nobody reads any more.
struct Unread;

impl Poller {
    pub(super) fn new(
        feed: Feed,
        polling: Polling,
        source: Source,
        clock: Clock,
        tell: mpsc::Sender<Told>,
    ) -> Self {
        Self {
            feed,
            polling,
            source,
            clock,
            tell,
            known: BTreeSet::new(),
            last_good: clock.now(),
            failures: 0,
            answered: false,
            said_stale: false,
        }
    }

    pub(super) async fn run(mut self) {
        loop {
            let begun = self.clock.now();
            let pause = match self.ask(begun).await {
                Ok((asked, facts)) => {
                    self.well(asked);
                    if self.say(asked, facts).await.is_err() {
                        return;
                    }
                    self.polling.interval
                }
                Err(error) => self.failed(&error),
            };
            self.pause(begun + pause).await;
        }
    }

    async fn ask(&mut self, now: Duration) -> Result<(Duration, Facts), String> {
        let limit = self.polling.timeout;
        let answer = timeout(limit, self.source.ask(now)).await;
        let (asked, answer) = answer.map_err(|_| format!("no answer within {limit:?}"))??;
        let wall_clock = Timestamp::now();
        match answer {
            Answer::Document(it) => facts_of(it, wall_clock).map(|it| (asked, it)),
            Answer::Facts(it) => Ok((asked, aged(it, wall_clock))),
        }
    }

    async fn say(&mut self, asked: Duration, facts: Facts) -> Result<(), Unread> {
        let mut gone = std::mem::take(&mut self.known);
        let mut brought = Vec::with_capacity(facts.len());
        for (key, (value, age)) in facts {
            let key = Text::from(&*key);
            gone.remove(&key);
            self.known.insert(key.clone());
            brought.push(NewFact { key, value: Some(value), at: asked.saturating_sub(age) });
        }
        brought.extend(gone.into_iter().map(|key| NewFact { key, value: None, at: asked }));
        let change = ClusterChange::Facts { feed: self.feed.name.clone(), facts: brought };
        self.tell.send(Told::Change(change)).await.map_err(|_| Unread)
    }

    /// The source has answered; said when that is new.
    fn well(&mut self, asked: Duration) {
        let feed = &self.feed.name;
        if std::mem::take(&mut self.failures) > 0 {
            tracing::info!(%feed, "the feed is fetched again");
        } else if !self.answered {
            tracing::info!(%feed, "the feed is fetched");
        }
        self.answered = true;
        self.said_stale = false;
        self.last_good = asked;
    }

    /// The source has failed; said when that is new. How long to pause.
    fn failed(&mut self, error: &str) -> Duration {
        let feed = &self.feed.name;
        self.failures = self.failures.saturating_add(1);
        if self.failures == 1 {
            tracing::warn!(%feed, error, "the feed cannot be fetched; what it said grows old");
        } else {
            tracing::debug!(%feed, error, failures = self.failures, "the feed cannot be fetched");
        }
        let doubled = 1_u32.checked_shl(self.failures.min(16)).unwrap_or(u32::MAX);
        let pause = self.polling.interval.saturating_mul(doubled);
        pause.min(LONGEST_PAUSE.max(self.polling.interval))
    }

    /// Waits until then. Says meanwhile, once, that the feed has become stale.
    async fn pause(&mut self, until: Duration) {
        let stale = self.last_good.saturating_add(self.feed.max_age);
        if !self.said_stale && stale < until {
            sleep_until(self.clock.at(stale)).await;
            self.said_stale = true;
            let (feed, on_stale) = (&self.feed.name, self.feed.on_stale);
            tracing::warn!(
                %feed, ?on_stale, "the feed is stale; its plugins do what they declare for that"
            );
        }
        // A source that took its time is not asked at once for that.
        let least = self.clock.now() + LEAST_PAUSE.min(self.polling.interval);
        sleep_until(self.clock.at(until.max(least))).await;
    }
}

const LEAST_PAUSE: Duration = Duration::from_secs(1);
