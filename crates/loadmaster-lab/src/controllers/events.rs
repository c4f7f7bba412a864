//! Events, as controllers write them.

use jiff::Timestamp;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::api::Api;
use crate::resources::Collection;
use crate::store::{StoreError, text};

/// How serious an event is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// Nothing to worry about.
    Normal,
    /// Something did not work.
    Warning,
}

/// Writes events under one component's name.
#[derive(Clone, Copy, Debug)]
pub struct Recorder(
    /// The component, as in `source.component`.
    pub &'static str,
);

impl Recorder {
    /// Records an event about `object`. The same event again counts up instead of adding another.
    ///
    /// An event that cannot be stored (its namespace is going) is dropped, as upstream drops it.
    pub fn record(
        self,
        api: &Api,
        object: &Value,
        severity: Severity,
        reason: &str,
        message: &str,
        now: Timestamp,
    ) {
        let severity = match severity {
            Severity::Normal => "Normal",
            Severity::Warning => "Warning",
        };
        let namespace = namespace_for(object);
        let name = self.name_for(object, reason, message);
        let seen = now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
        let again = api.store().edit(Collection::EVENTS, namespace, &name, |event| {
            event["count"] = json!(event["count"].as_i64().unwrap_or(1) + 1);
            event["lastTimestamp"] = json!(seen);
        });
        if !matches!(again, Err(StoreError::NotFound { .. })) {
            return;
        }
        let event = json!({
            "metadata": {"name": name, "namespace": namespace},
            "involvedObject": {"kind": object["kind"], "apiVersion": object["apiVersion"],
                "namespace": object["metadata"]["namespace"], "name": object["metadata"]["name"],
                "uid": object["metadata"]["uid"],
                "resourceVersion": object["metadata"]["resourceVersion"]},
            "reason": reason, "message": message, "source": {"component": self.0},
            "firstTimestamp": seen, "lastTimestamp": seen, "count": 1, "type": severity,
            "eventTime": null, "reportingComponent": self.0, "reportingInstance": "",
        });
        let created = api.create(Collection::EVENTS.resource(), namespace, event, false);
        if let Err(status) = created {
            tracing::debug!(reason, error = %status.message, "an event was dropped");
        }
    }

    /// Records an event unless the very same was recorded before.
    pub fn record_once(
        self,
        api: &Api,
        object: &Value,
        severity: Severity,
        reason: &str,
        message: &str,
        now: Timestamp,
    ) {
        let namespace = namespace_for(object);
        let name = self.name_for(object, reason, message);
        if api.store().get(Collection::EVENTS, namespace, &name).is_none() {
            self.record(api, object, severity, reason, message, now);
        }
    }

    /// The object's name and sixteen digits that tell this event from others about it.
    fn name_for(self, object: &Value, reason: &str, message: &str) -> String {
        let mut hash = Sha256::new();
        for part in [self.0, text(object, "uid"), reason, message] {
            hash.update(part);
            hash.update([0]);
        }
        let digest = hash.finalize();
        let digits = digest.iter().take(8).fold(0_u64, |sum, byte| sum << 8 | u64::from(*byte));
        format!("{}.{digits:016x}", text(object, "name"))
    }
}

/// Events about cluster-scoped objects live in the default namespace.
fn namespace_for(object: &Value) -> &str {
    match text(object, "namespace") {
        "" => "default",
        namespace => namespace,
    }
}
