//! Events, as controllers write them.

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::runner::{Controller, Key};
use crate::api::Api;
use crate::resources::Collection;
use crate::status::Status;
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

/// Removes events that nobody has added to for an hour, as kube-apiserver does.
#[derive(Clone, Copy, Debug)]
pub struct EventExpiry;

const EVENT_AGE_MAX: SignedDuration = SignedDuration::from_hours(1);

impl Controller for EventExpiry {
    fn watches(&self) -> Vec<Collection> {
        vec![Collection::EVENTS]
    }

    fn keys(&self, _: &Api, _: Collection, object: &Value) -> Vec<Key> {
        vec![Key::of(object)]
    }

    fn reconcile(
        &mut self,
        api: &Api,
        key: &Key,
        now: Timestamp,
    ) -> Result<Option<Timestamp>, Status> {
        let Some(event) = api.store().get(Collection::EVENTS, &key.namespace, &key.name) else {
            return Ok(None);
        };
        let time = |it: &Value| it.as_str().and_then(|it| it.parse::<Timestamp>().ok());
        let written = [
            &event["metadata"]["creationTimestamp"],
            &event["lastTimestamp"],
            &event["series"]["lastObservedTime"],
        ];
        let last = written.into_iter().filter_map(time).max().unwrap_or(now);
        let end = last + EVENT_AGE_MAX;
        if end > now {
            return Ok(Some(end));
        }
        let removed = api.store().remove(Collection::EVENTS, &key.namespace, &key.name, |_| Ok(()));
        if let Err(error) = removed {
            tracing::debug!(%error, "an event went before its time");
        }
        Ok(None)
    }
}

/// Events about cluster-scoped objects live in the default namespace.
fn namespace_for(object: &Value) -> &str {
    match text(object, "namespace") {
        "" => "default",
        namespace => namespace,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::controllers::testing::World;

    const RECORDER: Recorder = Recorder("tester");

    #[test]
    fn the_same_event_counts_up_and_goes_an_hour_after_its_last_time() {
        let mut world = World::new(0);
        let object = world.make(Collection::CONFIG_MAPS, json!({"metadata": {"name": "x"}}));
        for _ in 0..2 {
            let now = world.now();
            RECORDER.record(&world.api, &object, Severity::Warning, "Odd", "again", now);
            world.pass(1800);
        }
        let odd = |world: &World| -> Vec<_> {
            let events = world.list(Collection::EVENTS);
            events.into_iter().filter(|it| it["reason"] == "Odd").collect()
        };
        let event = odd(&world).remove(0);
        assert_eq!((&event["count"], &event["type"]), (&json!(2), &json!("Warning")));
        assert_eq!(event["source"], json!({"component": "tester"}));
        assert_eq!(event["involvedObject"]["uid"], object["metadata"]["uid"]);
        world.pass(1801);
        assert!(odd(&world).is_empty());
    }
}
