//! Events as the server stores them.

use jiff::Timestamp;
use loadmaster_framework::PodInfo;
use serde_json::{Value, json};

use super::series::Event;

/// The versions in which events can be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Version {
    /// `events.k8s.io/v1`.
    Events,
    /// `v1`.
    Core,
}

impl Version {
    pub(super) fn api_version(self) -> &'static str {
        match self {
            Self::Events => "events.k8s.io/v1",
            Self::Core => "v1",
        }
    }

    /// The whole event.
    pub(super) fn whole(self, event: &Event) -> Value {
        let record = &event.record;
        let mut whole = json!({
            "apiVersion": self.api_version(),
            "kind": "Event",
            "metadata": {"name": event.name, "namespace": event.namespace()},
            "eventTime": micros(event.first_seen),
            "action": record.action,
            "reason": record.reason,
            "type": record.kind.as_str(),
        });
        let related = record.related.as_deref().map(reference);
        if let Some(related) = related {
            whole["related"] = related;
        }
        match self {
            Self::Events => {
                whole["reportingController"] = json!(record.reporter);
                whole["regarding"] = reference(&record.regarding);
                whole["note"] = json!(record.note);
            }
            Self::Core => {
                whole["reportingComponent"] = json!(record.reporter);
                whole["source"] = json!({"component": record.reporter});
                whole["involvedObject"] = reference(&record.regarding);
                whole["message"] = json!(record.note);
            }
        }
        whole["reportingInstance"] = json!(event.instance);
        if event.count > 1 {
            whole["series"] = series(event);
        }
        whole
    }

    /// The patch that brings the count up to date.
    pub(super) fn series_patch(event: &Event) -> Value {
        json!({"series": series(event)})
    }
}

fn series(event: &Event) -> Value {
    json!({"count": event.count, "lastObservedTime": micros(event.last_seen)})
}

fn reference(pod: &PodInfo) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "namespace": pod.namespace(),
        "name": pod.name(),
        "uid": pod.uid(),
        "resourceVersion": pod.metadata.resource_version,
    })
}

/// The API's notation of a moment: microseconds.
pub(super) fn micros(at: Timestamp) -> String {
    at.strftime("%Y-%m-%dT%H:%M:%S%.6fZ").to_string()
}
