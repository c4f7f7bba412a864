//! Facts from elsewhere: how a plugin scores by what only its platform knows.

use std::time::Duration;

use serde_json::Value;

use super::{Cycle, Outcome, Status};
use crate::api::Text;

/// A source of facts that a plugin declares. The process fetches it; the core receives facts as
/// events with their age, and plugins [read](Feed::read) them: no call is made inside a cycle.
///
/// A source that is slow, broken or away is an ordinary day: what it has said grows old, and from
/// [`Feed::max_age`] on the plugin's declared answer to that holds, [`Feed::on_stale`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Feed {
    /// Its name, by which facts are read; one source has it in the whole scheduler.
    pub name: Text,
    /// Where it comes from.
    pub source: FeedSource,
    /// Facts older than this are stale.
    pub max_age: Duration,
    /// What a fact means that is stale, or not there.
    pub on_stale: OnStale,
}

/// Where a feed comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FeedSource {
    /// Objects of an extra kind, watched: each is a fact under `namespace/name`, or its name where
    /// the kind has no namespaces. They grow old from the moment on at which the watch breaks.
    /// The API server gives a sign of life once a minute; a shorter `max_age` is of no use.
    Watched {
        /// Its group; empty for the core group.
        group: Text,
        /// Its version.
        version: Text,
        /// Its plural name.
        resource: Text,
    },
    /// JSON that is fetched by HTTP again and again. Of a list of the API (an object with `items`)
    /// each object is a fact under `namespace/name` or its name, of any other object each member.
    Http {
        /// `http://…` or `https://…`, or a path below the API server, as
        /// `/apis/metrics.k8s.io/v1beta1/nodes`, which is asked as the scheduler itself.
        url: Text,
        /// How often, and with how much patience.
        polling: Polling,
    },
    /// A source that the embedding process knows by the feed's name, asked again and again.
    Registered {
        /// How often, and with how much patience.
        polling: Polling,
    },
}

/// How a source is asked again and again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Polling {
    /// From one question to the next. After failures in a row it doubles, up to five minutes.
    pub interval: Duration,
    /// How long an answer may take.
    pub timeout: Duration,
    /// How long an answer may be, in bytes.
    pub max_bytes: usize,
}

impl Default for Polling {
    /// 15 s, 10 s, 4 MiB.
    fn default() -> Self {
        Self {
            interval: Duration::from_secs(15),
            timeout: Duration::from_secs(10),
            max_bytes: 4 << 20,
        }
    }
}

/// What a fact means that is stale, or not there.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize,
)]
pub enum OnStale {
    /// As if nobody knew: the plugin has no opinion.
    #[default]
    Neutral,
    /// The last that was said holds, however old it is.
    KeepLast,
    /// It is refused: in Filter the node, in PreFilter the pod, which waits for a fresh fact.
    Refuse,
}

/// One fact of a feed.
#[derive(Clone, Debug, PartialEq)]
pub struct FeedFact {
    /// What was said.
    pub value: Value,
    /// When, on the scheduler's clock.
    pub at: Duration,
}

impl Feed {
    /// Whether `fact` counts at `now` for what it is.
    pub fn is_fresh(&self, fact: &FeedFact, now: Duration) -> bool {
        now.saturating_sub(fact.at) <= self.max_age
    }

    /// The fact about `key`, as the declared answer to staleness has it; `None` where nobody knows.
    ///
    /// # Errors
    /// With [`OnStale::Refuse`] the fact is stale or not there.
    pub fn read<'a>(&self, cx: Cycle<'a>, key: &str) -> Outcome<Option<&'a Value>> {
        let fact = cx.snapshot.listers().feed(&self.name, key);
        match (self.on_stale, fact) {
            (_, Some(fact)) if self.is_fresh(fact, cx.now) => Ok(Some(&fact.value)),
            (OnStale::KeepLast, Some(fact)) => Ok(Some(&fact.value)),
            (OnStale::Refuse, Some(_)) => {
                Err(Status::unschedulable(format!("facts of feed {} are stale", self.name)))
            }
            (OnStale::Refuse, None) => {
                Err(Status::unschedulable(format!("feed {} has no fact", self.name)))
            }
            (OnStale::Neutral | OnStale::KeepLast, _) => Ok(None),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeMap, sync::Arc};

    use super::*;
    use crate::{Code, Listers, PodInfo, Snapshot, api::Pod};

    /// What a plugin reads about `key` at second 100 of a feed whose facts are stale after 10 s.
    fn read(on_stale: OnStale, key: &str) -> Outcome<Option<i64>> {
        let fact = |key: &str, value: i64, at| {
            let fact = FeedFact { value: value.into(), at: Duration::from_secs(at) };
            ((Text::from("load"), Text::from(key)), fact)
        };
        let facts: BTreeMap<_, _> = [fact("new", 1, 90), fact("old", 2, 89)].into();
        let mut listers = Listers::default();
        listers.feeds = Arc::new(facts);
        let snapshot = Snapshot::new(Vec::new(), listers);
        let pod = PodInfo::new(Arc::new(Pod::default()));
        let now = Duration::from_secs(100);
        let cx = Cycle { pod: &pod, snapshot: &snapshot, profile: "p", now };
        let source = FeedSource::Registered { polling: Polling::default() };
        let max_age = Duration::from_secs(10);
        let feed = Feed { name: "load".into(), source, max_age, on_stale };
        feed.read(cx, key).map(|it| it.and_then(Value::as_i64))
    }

    #[test]
    fn a_stale_or_missing_fact_means_what_was_declared() {
        for on_stale in [OnStale::Neutral, OnStale::KeepLast, OnStale::Refuse] {
            assert_eq!(read(on_stale, "new"), Ok(Some(1)), "{on_stale:?}");
        }
        assert_eq!(read(OnStale::Neutral, "old"), Ok(None));
        assert_eq!(read(OnStale::KeepLast, "old"), Ok(Some(2)));
        assert_eq!(read(OnStale::KeepLast, "none"), Ok(None));
        for key in ["old", "none"] {
            assert_eq!(read(OnStale::Refuse, key).unwrap_err().code(), Code::Unschedulable);
        }
    }
}
