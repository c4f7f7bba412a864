//! Facts from elsewhere: how a plugin scores by what only its platform knows.

use std::time::Duration;

use crate::api::Text;

/// A source of facts that a plugin declares. The process fetches it; the core receives facts as
/// events with their age, and plugins read them through [`Listers::feed`](super::Listers::feed):
/// no call is made inside a cycle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Feed {
    /// Its name, by which facts are read; unique in the scheduler.
    pub name: Text,
    /// Where it comes from.
    pub source: FeedSource,
    /// Facts older than this are stale; what that means is the plugin's to say.
    pub max_age: Duration,
}

/// Where a feed comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FeedSource {
    /// Objects of an extra kind, watched.
    Watched {
        /// Its group; empty for the core group.
        group: Text,
        /// Its version.
        version: Text,
        /// Its plural name.
        resource: Text,
    },
    /// A source that the embedding process knows by the feed's name, asked again and again.
    Polled {
        /// How often.
        interval: Duration,
    },
}

/// One fact of a feed.
#[derive(Clone, Debug, PartialEq)]
pub struct FeedFact {
    /// What was said.
    pub value: serde_json::Value,
    /// When, on the scheduler's clock.
    pub at: Duration,
}
