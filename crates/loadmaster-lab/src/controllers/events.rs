//! Events, as controllers write them.

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::runner::{Controller, Key};
use crate::api::Api;
use crate::resources::Collection;
use crate::status::Status;
use crate::store::{Object, StoreError, text};

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
        let seen = now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
        let known = about(api, object);
        if let Some(known) = self.find(&known, object, reason, message) {
            let again =
                api.store().edit(Collection::EVENTS, namespace, text(known, "name"), |it| {
                    it["count"] = json!(it["count"].as_i64().unwrap_or(1) + 1);
                    it["lastTimestamp"] = json!(seen);
                });
            if !matches!(again, Err(StoreError::NotFound { .. })) {
                return;
            }
        }
        let name = name_for(&known, object, now);
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
        if self.find(&about(api, object), object, reason, message).is_none() {
            self.record(api, object, severity, reason, message, now);
        }
    }

    /// The event of the same words about the same object, if it is among those that are `known`.
    fn find<'a>(
        self,
        known: &'a [Object],
        object: &Value,
        reason: &str,
        message: &str,
    ) -> Option<&'a Object> {
        known.iter().find(|it| {
            it["source"]["component"] == self.0
                && it["involvedObject"]["uid"] == object["metadata"]["uid"]
                && it["reason"] == reason
                && it["message"] == message
        })
    }
}

/// The events about an object of this name, in the order in which they were first recorded.
fn about(api: &Api, object: &Value) -> Vec<Object> {
    let prefix = format!("{}.", text(object, "name"));
    api.store().list_prefixed(Collection::EVENTS, namespace_for(object), &prefix)
}

/// The object's name and the nanoseconds since 1970 in hexadecimal, as client-go names events: those
/// of one second, which is all that their time fields tell apart, are listed in the order in which they
/// happened.
fn name_for(known: &[Object], object: &Value, now: Timestamp) -> String {
    let object_name = text(object, "name");
    let latest = known
        .iter()
        .filter_map(|it| {
            text(it, "name").strip_prefix(object_name)?.strip_prefix('.').and_then(nanos)
        })
        .max();
    let now = u64::try_from(now.as_nanosecond()).unwrap_or_default();
    let unique = latest.map_or(now, |it| now.max(it.saturating_add(1)));
    format!("{object_name}.{unique:016x}")
}

/// The time in the name of an event, if it has one.
fn nanos(digits: &str) -> Option<u64> {
    u64::from_str_radix(digits, 16).ok()
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

    #[test]
    fn events_of_one_moment_are_listed_in_the_order_in_which_they_were_recorded() {
        let world = World::new(0);
        let object = world.make(Collection::CONFIG_MAPS, json!({"metadata": {"name": "x"}}));
        let now = world.now();
        for reason in ["Pulling", "Pulled", "Created", "Started"] {
            RECORDER.record(&world.api, &object, Severity::Normal, reason, "so", now);
        }
        let reasons: Vec<_> =
            world.list(Collection::EVENTS).iter().map(|it| it["reason"].clone()).collect();
        assert_eq!(reasons, ["Pulling", "Pulled", "Created", "Started"]);
    }
}
