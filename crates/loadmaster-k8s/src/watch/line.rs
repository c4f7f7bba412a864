//! What a line of a watch and a page of a list say.

use std::borrow::Cow;

use loadmaster_framework::api::ObjectKey;
use serde::Deserialize;
use serde_json::value::RawValue;

/// One line of a watch, its object not yet read.
#[derive(Debug, Deserialize)]
pub(super) struct Line<'a> {
    #[serde(rename = "type", borrow)]
    pub(super) kind: Cow<'a, str>,
    #[serde(borrow)]
    pub(super) object: &'a RawValue,
}

/// One page of a list, its objects not yet read.
#[derive(Debug, Deserialize)]
pub(super) struct Page<'a> {
    #[serde(default)]
    pub(super) metadata: PageMeta,
    /// A server may write an empty list as `null`.
    #[serde(borrow, default)]
    pub(super) items: Option<Vec<&'a RawValue>>,
}

/// Where a list stands.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct PageMeta {
    pub(super) resource_version: String,
    #[serde(rename = "continue")]
    pub(super) more: String,
}

/// The object of a bookmark, and as much of any object as tells of a fault in it.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Mark {
    metadata: MarkMeta,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct MarkMeta {
    name: String,
    namespace: String,
    resource_version: String,
    annotations: Option<MarkAnnotations>,
}

#[derive(Debug, Default, Deserialize)]
struct MarkAnnotations {
    #[serde(rename = "k8s.io/initial-events-end", default)]
    initial_events_end: String,
}

impl Mark {
    pub(super) fn read(object: &RawValue) -> Self {
        serde_json::from_str(object.get()).unwrap_or_default()
    }

    /// Which object it is.
    pub(super) fn key(&self) -> ObjectKey {
        ObjectKey::new(&*self.metadata.namespace, &*self.metadata.name)
    }

    pub(super) fn version(self) -> String {
        self.metadata.resource_version
    }

    /// Whether a streamed list is complete.
    pub(super) fn ends_list(&self) -> bool {
        self.metadata.annotations.as_ref().is_some_and(|it| it.initial_events_end == "true")
    }
}

/// The object of an error that a watch tells of.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Refused {
    pub(super) code: u16,
    pub(super) reason: String,
    pub(super) message: String,
}
