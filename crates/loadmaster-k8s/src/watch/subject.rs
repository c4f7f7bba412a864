//! What a watch is about: a kind that the core knows, or one that a feed brings.

use std::time::Duration;

use loadmaster_core::scheduler::{ClusterChange, NewFact};
use loadmaster_framework::{
    Object, RawObject,
    api::{ObjectMeta, Text},
};
use serde_json::Value;
use tokio::time::Instant;

use super::Told;
use crate::kind::{Kind, query, resource_path};

/// Objects of an extra kind, which the core gets as facts.
#[derive(Clone, Debug)]
pub struct WatchedFeed {
    /// The feed's name.
    pub name: Text,
    /// Group and version, as `example.com/v1`.
    pub api_version: String,
    /// The plural name.
    pub plural: String,
    /// When the scheduler's clock began.
    pub epoch: Instant,
}

/// What a watch is about.
#[derive(Clone, Debug)]
pub(super) enum Subject {
    Kind(Kind),
    Feed(WatchedFeed),
}

/// How often a watch that is well says so of a feed.
const CONFIRM_EVERY: Duration = Duration::from_secs(15);

impl Subject {
    pub(super) fn plural(&self) -> &str {
        match self {
            Self::Kind(kind) => kind.plural(),
            Self::Feed(feed) => &feed.plural,
        }
    }

    pub(super) fn api_version(&self) -> &str {
        match self {
            Self::Kind(kind) => kind.api_version(),
            Self::Feed(feed) => &feed.api_version,
        }
    }

    /// The group and the plural name.
    pub(super) fn qualified(&self) -> String {
        match (self, self.api_version().split_once('/')) {
            (Self::Kind(kind), _) => kind.qualified(),
            (Self::Feed(feed), Some((group, _))) => format!("{}.{group}", feed.plural),
            (Self::Feed(feed), None) => feed.plural.clone(),
        }
    }

    pub(super) fn path(&self) -> String {
        resource_path(self.api_version(), self.plural(), "")
    }

    pub(super) fn query(&self) -> &'static str {
        match self {
            Self::Kind(kind) => query(*kind),
            Self::Feed(_) => "",
        }
    }

    /// Whether no decision is worth much while it is out of date.
    pub(super) fn is_vital(&self) -> bool {
        matches!(self, Self::Kind(Kind::Pod | Kind::Node))
    }

    pub(super) fn decode(&self, json: &str) -> Result<Object, serde_json::Error> {
        match self {
            Self::Kind(kind) => kind.decode(json),
            Self::Feed(_) => whole(json).map(Into::into),
        }
    }

    /// A change, as the core takes it.
    pub(super) fn change(&self, change: ClusterChange) -> Told {
        Told::Change(match (self, change) {
            (Self::Feed(feed), ClusterChange::Applied(Object::Raw(object))) => {
                feed.fact(&object, Some(Value::Object(object.body.clone())))
            }
            (Self::Feed(feed), ClusterChange::Deleted(Object::Raw(object))) => {
                feed.fact(&object, None)
            }
            (_, change) => change,
        })
    }

    /// Everything has been told. Nothing waits for a feed.
    pub(super) fn synced(&self) -> Option<Told> {
        if let Self::Kind(kind) = self { Some(Told::Synced(*kind)) } else { None }
    }

    /// What was told may be out of date.
    pub(super) fn stale(&self) -> Option<Told> {
        match self {
            Self::Kind(kind) if self.is_vital() => Some(Told::Stale(*kind)),
            _ => None,
        }
    }

    /// Everything that was told is true now, where that is of interest and was not said a moment ago.
    pub(super) fn confirmed(&self, last: &mut Option<Instant>) -> Option<Told> {
        let Self::Feed(feed) = self else { return None };
        if last.is_some_and(|it| it.elapsed() < CONFIRM_EVERY) {
            return None;
        }
        *last = Some(Instant::now());
        let (feed, at) = (feed.name.clone(), feed.epoch.elapsed());
        Some(Told::Change(ClusterChange::FactsConfirmed { feed, at }))
    }
}

impl WatchedFeed {
    fn fact(&self, object: &RawObject, value: Option<Value>) -> ClusterChange {
        let ObjectMeta { namespace, name, .. } = &object.metadata;
        let key = if namespace.is_empty() {
            name.clone()
        } else {
            Text::from(&*format!("{namespace}/{name}"))
        };
        let facts = vec![NewFact { key, value, at: self.epoch.elapsed() }];
        ClusterChange::Facts { feed: self.name.clone(), facts }
    }
}

/// The object with everything that it says, but for who wrote which field.
fn whole(json: &str) -> Result<RawObject, serde_json::Error> {
    let mut body: serde_json::Map<String, Value> = serde_json::from_str(json)?;
    let metadata = body.get("metadata").cloned().unwrap_or_default();
    let metadata = serde_json::from_value(metadata)?;
    if let Some(Value::Object(metadata)) = body.get_mut("metadata") {
        metadata.remove("managedFields");
    }
    Ok(RawObject { metadata, body })
}
