//! Events as they are read: what somebody said about an object.

use jiff::Timestamp;
use serde::{Deserialize, de::DeserializeOwned};

use crate::{
    kind::resource_path,
    rest::{CallError, Rest, encoded},
};

/// An event.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(from = "Wire")]
pub(crate) struct Reported {
    /// When; the last time, where it was said again.
    pub(crate) at: Option<Timestamp>,
    /// One word of why.
    pub(crate) reason: String,
    /// A sentence.
    pub(crate) message: String,
    /// Who said it.
    pub(crate) instance: String,
    /// Namespace and name of what it is about.
    pub(crate) about: (String, String),
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Wire {
    #[serde(rename = "eventTime")]
    at: Option<Timestamp>,
    last_timestamp: Option<Timestamp>,
    series: Option<Series>,
    reason: String,
    message: String,
    reporting_instance: String,
    involved_object: Involved,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Series {
    last_observed_time: Option<Timestamp>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Involved {
    namespace: String,
    name: String,
}

impl From<Wire> for Reported {
    fn from(it: Wire) -> Self {
        let repeated = it.series.and_then(|it| it.last_observed_time);
        Self {
            at: repeated.max(it.at).max(it.last_timestamp),
            reason: it.reason,
            message: it.message,
            instance: it.reporting_instance,
            about: (it.involved_object.namespace, it.involved_object.name),
        }
    }
}

/// How many objects are asked for at once.
const PAGE: usize = 500;
/// Events of a scheduler that binds a hundred pods a second fill so many pages in under two minutes.
const EVENT_PAGES: usize = 20;

/// The events of a namespace, or of all, that a field selector finds; the first ten thousand of them.
///
/// # Errors
/// [`CallError`] where they may not be listed or the server does not answer.
pub(crate) async fn reported(
    rest: &Rest,
    namespace: &str,
    selector: &str,
) -> Result<Vec<Reported>, CallError> {
    let all = resource_path("v1", "events", namespace);
    items(rest, &all, &encoded(selector), EVENT_PAGES).await
}

/// What a field selector finds in the collection at `path`, page by page and so many pages at most.
///
/// # Errors
/// [`CallError`] where it may not be listed or the server does not answer.
pub(crate) async fn items<T: DeserializeOwned>(
    rest: &Rest,
    path: &str,
    selector: &str,
    pages: usize,
) -> Result<Vec<T>, CallError> {
    #[derive(Deserialize)]
    struct List<T> {
        #[serde(default)]
        metadata: ListMeta,
        items: Vec<T>,
    }
    #[derive(Default, Deserialize)]
    struct ListMeta {
        #[serde(default, rename = "continue")]
        more: Option<String>,
    }
    let mut found = Vec::new();
    let mut from = String::new();
    for _ in 0..pages {
        let page = format!("{path}?limit={PAGE}&fieldSelector={selector}{from}");
        let List { metadata, items } = rest.get(&page).await?;
        found.extend::<Vec<T>>(items);
        match metadata.more.filter(|it| !it.is_empty()) {
            Some(token) => from = format!("&continue={}", encoded(&token)),
            None => break,
        }
    }
    Ok(found)
}
