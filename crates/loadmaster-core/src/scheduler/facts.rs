//! What feeds bring.

use std::{sync::Arc, time::Duration};

use loadmaster_framework::{ActionType, ClusterEvent, EventResource, FeedFact, api::Text};

use super::{NewFact, Scheduler};
use crate::queue::Change;

impl Scheduler {
    /// A feed brought facts. Pods are woken, once, where one says something new: where it is another
    /// than before, where it is there no more, and where what was said before is stale.
    pub(super) fn facts(&mut self, now: Duration, feed: &Text, brought: Vec<NewFact>) {
        let max_age = self.max_age(feed);
        let facts = Arc::make_mut(&mut self.cache.listers_mut().feeds);
        let mut news = false;
        for NewFact { key, value, at } in brought {
            let key = (feed.clone(), key);
            news |= match (facts.get(&key), &value) {
                (Some(old), Some(new)) => {
                    old.value != *new || max_age.is_some_and(|it| at.saturating_sub(old.at) > it)
                }
                (None, None) => false,
                (None, Some(_)) | (Some(_), None) => true,
            };
            match value {
                Some(value) => facts.insert(key, FeedFact { value, at }),
                None => facts.remove(&key),
            };
        }
        if news {
            self.wake_by_feed(now);
        }
    }

    /// Everything that the feed has said is still true at `at`.
    pub(super) fn facts_confirmed(&mut self, now: Duration, feed: &Text, at: Duration) {
        let max_age = self.max_age(feed);
        let facts = Arc::make_mut(&mut self.cache.listers_mut().feeds);
        let mut was_stale = false;
        for (_, fact) in facts.iter_mut().filter(|((name, _), _)| name == feed) {
            was_stale |= max_age.is_some_and(|it| at.saturating_sub(fact.at) > it);
            fact.at = fact.at.max(at);
        }
        if was_stale {
            self.wake_by_feed(now);
        }
    }

    /// From which age on somebody takes the feed's facts for stale.
    fn max_age(&self, feed: &Text) -> Option<Duration> {
        let feeds = self.profiles.iter().flat_map(|it| it.feeds());
        feeds.filter(|it| it.name == *feed).map(|it| it.max_age).min()
    }

    fn wake_by_feed(&mut self, now: Duration) {
        let event = ClusterEvent::new(EventResource::Feed, ActionType::UPDATE);
        self.wake_for(now, Change { event, old: None, new: None });
    }
}
