//! Events about the scheduler itself: that its configuration was reloaded, or was not.
//!
//! Inside of a cluster they are about the pod that the process runs in, where `kubectl describe pod`
//! shows them; anywhere else about the configuration, in the namespace `default`, under the name of
//! its first profile.

use std::{env, fs};

use http::Method;
use jiff::Timestamp;
use loadmaster_core::scheduler::EventType;
use serde_json::{Value, json};
use tokio::sync::OnceCell;

use super::wire::{Version, micros};
use crate::{
    kind::resource_path,
    rest::{CallError, JSON, Rest},
};

/// Writes events about the scheduler itself.
#[derive(Debug)]
pub struct Announcer {
    rest: Rest,
    reporter: String,
    host: String,
    /// What they are about, found out when there is something to say.
    regarding: OnceCell<Value>,
}

/// Something to say.
#[derive(Clone, Debug)]
pub struct Announcement {
    /// Ordinary or not.
    pub kind: EventType,
    /// One word of what happened.
    pub reason: &'static str,
    /// One word of what was being done.
    pub action: &'static str,
    /// What the user reads; cut to what the API takes.
    pub note: String,
}

/// The API's limit for an event's note, in bytes.
const NOTE_BYTES_MAX: usize = 1024;

impl Announcer {
    /// Announces in the name of the profile `reporter`; `host` names the machine or pod.
    pub fn new(rest: Rest, reporter: String, host: String) -> Self {
        Self { rest, reporter, host, regarding: OnceCell::new() }
    }

    /// Writes an event; where that fails, the log says so and nothing else follows.
    pub async fn announce(&self, announcement: Announcement) {
        let regarding = self.regarding.get_or_init(|| self.find_regarding()).await;
        let write = |version: Version| {
            let namespace = regarding["namespace"].as_str().unwrap_or_default();
            let path = resource_path(version.api_version(), "events", namespace);
            let event = self.event(version, &announcement, regarding, Timestamp::now());
            async move { self.rest.call(Method::POST, &path, JSON, Some(&event)).await }
        };
        let result = match write(Version::Events).await {
            Err(CallError::Answer { code: 404, .. }) => write(Version::Core).await,
            result => result,
        };
        if let Err(error) = result {
            tracing::debug!(%error, note = announcement.note, "an event could not be written");
        }
    }

    fn event(
        &self,
        version: Version,
        announcement: &Announcement,
        regarding: &Value,
        now: Timestamp,
    ) -> Value {
        let Announcement { kind, reason, action, note } = announcement;
        let note = &note[..note.floor_char_boundary(NOTE_BYTES_MAX)];
        let name = regarding["name"].as_str().unwrap_or_default();
        let mut event = json!({
            "apiVersion": version.api_version(),
            "kind": "Event",
            "metadata": {
                "name": format!("{name}.{:x}", now.as_nanosecond()),
                "namespace": regarding["namespace"],
            },
            "eventTime": micros(now),
            "action": action,
            "reason": reason,
            "type": kind.as_str(),
            "reportingInstance": format!("{}-{}", self.reporter, self.host),
        });
        let more = match version {
            Version::Events => json!({
                "reportingController": self.reporter, "regarding": regarding, "note": note,
            }),
            Version::Core => json!({
                "reportingComponent": self.reporter, "source": {"component": self.reporter},
                "involvedObject": regarding, "message": note,
            }),
        };
        if let (Some(event), Value::Object(more)) = (event.as_object_mut(), more) {
            event.extend(more);
        }
        event
    }

    async fn find_regarding(&self) -> Value {
        match self.own_pod().await {
            Some(pod) => pod,
            None => json!({
                "apiVersion": "kubescheduler.config.k8s.io/v1",
                "kind": "KubeSchedulerConfiguration",
                "namespace": "default",
                "name": self.reporter,
            }),
        }
    }

    /// The pod that the process runs in, where it runs in one.
    async fn own_pod(&self) -> Option<Value> {
        env::var_os("KUBERNETES_SERVICE_HOST")?;
        let namespace = fs::read_to_string(NAMESPACE_FILE).ok()?;
        let namespace = namespace.trim();
        let path = format!("{}/{}", resource_path("v1", "pods", namespace), self.host);
        let pod: Value = self.rest.get(&path).await.ok()?;
        Some(json!({
            "apiVersion": "v1",
            "kind": "Pod",
            "namespace": namespace,
            "name": self.host,
            "uid": pod["metadata"]["uid"],
        }))
    }
}

const NAMESPACE_FILE: &str = "/var/run/secrets/kubernetes.io/serviceaccount/namespace";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_server::{Reply, TestServer, refusal};

    fn announcement() -> Announcement {
        let kind = EventType::Warning;
        Announcement { kind, reason: "R", action: "A", note: "x".repeat(2000) }
    }

    #[tokio::test]
    async fn outside_of_a_cluster_an_event_is_about_the_configuration() {
        let mut server = TestServer::start(vec![Reply::Json(201, json!({}))]).await;
        let announcer = Announcer::new(server.rest(), "mine".to_owned(), "host".to_owned());
        announcer.announce(announcement()).await;
        let asked = server.asked().await;
        assert_eq!(asked.line, "POST /apis/events.k8s.io/v1/namespaces/default/events");
        let regarding = &asked.body["regarding"];
        assert_eq!(regarding["kind"], "KubeSchedulerConfiguration");
        assert_eq!(regarding["name"], "mine");
        assert_eq!(asked.body["note"].as_str().map(str::len), Some(NOTE_BYTES_MAX));
    }

    #[tokio::test]
    async fn a_server_without_the_newer_events_gets_the_older_ones() {
        let replies = vec![refusal(404, "NotFound"), Reply::Json(201, json!({}))];
        let mut server = TestServer::start(replies).await;
        let announcer = Announcer::new(server.rest(), "mine".to_owned(), "host".to_owned());
        announcer.announce(announcement()).await;
        server.asked().await;
        let asked = server.asked().await;
        assert_eq!(asked.line, "POST /api/v1/namespaces/default/events");
        assert_eq!(asked.body["involvedObject"]["name"], "mine");
    }
}
