//! One event store, two shapes.
//!
//! Events are stored as core/v1 has them. The `events.k8s.io` view renames fields on the way in and
//! out and changes nothing else; every other resource has one shape.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use crate::resources::Resource;
use crate::store::Object;

/// (core name, `events.k8s.io` name) of the fields that differ.
const RENAMED: [(&str, &str); 7] = [
    ("involvedObject", "regarding"),
    ("message", "note"),
    ("source", "deprecatedSource"),
    ("firstTimestamp", "deprecatedFirstTimestamp"),
    ("lastTimestamp", "deprecatedLastTimestamp"),
    ("count", "deprecatedCount"),
    ("reportingComponent", "reportingController"),
];

/// Fields that core events print although they have no value.
const ALWAYS_PRINTED: [(&str, Value); 6] = [
    ("eventTime", Value::Null),
    ("firstTimestamp", Value::Null),
    ("lastTimestamp", Value::Null),
    ("reportingComponent", Value::String(String::new())),
    ("reportingInstance", Value::String(String::new())),
    ("source", Value::Null),
];

/// The object as clients of `resource` see it.
pub fn from_stored(resource: &Resource, object: &Object) -> Object {
    if !resource.is_events_view() {
        return Arc::clone(object);
    }
    let mut viewed = Value::clone(object);
    if let Some(map) = viewed.as_object_mut() {
        rename(map, RENAMED.iter().copied());
        for field in ["reportingController", "reportingInstance"] {
            if map.get(field).is_some_and(|it| it == "") {
                map.remove(field);
            }
        }
    }
    viewed["apiVersion"] = json!("events.k8s.io/v1");
    Arc::new(viewed)
}

/// The object as it is stored, from what a client of `resource` sent.
pub fn to_stored(resource: &Resource, mut object: Value) -> Value {
    if !resource.kind.eq("Event") {
        return object;
    }
    let Some(map) = object.as_object_mut() else { return object };
    if resource.is_events_view() {
        rename(map, RENAMED.iter().map(|(core, view)| (*view, *core)));
        map.insert("apiVersion".to_owned(), json!("v1"));
    }
    for (field, empty) in ALWAYS_PRINTED {
        let value = map.entry(field).or_insert(empty);
        if field == "source" && value.is_null() {
            *value = json!({});
        }
    }
    object
}

fn rename<'a>(map: &mut Map<String, Value>, names: impl Iterator<Item = (&'a str, &'a str)>) {
    let moved: Vec<_> =
        names.filter_map(|(from, to)| Some((to.to_owned(), map.remove(from)?))).collect();
    map.extend(moved);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resources::{Collection, by_path};

    #[test]
    fn an_event_of_the_new_api_is_stored_in_the_old_shape_and_read_back_in_both() {
        let view = by_path("events.k8s.io", "v1", "events").unwrap();
        let sent = json!({"apiVersion": "events.k8s.io/v1", "kind": "Event",
            "metadata": {"name": "e"}, "note": "M", "reason": "Scheduled",
            "regarding": {"kind": "Pod", "name": "p"}, "reportingController": "rc",
            "eventTime": "2026-01-01T00:00:00.000000Z"});
        let stored = Arc::new(to_stored(view, sent.clone()));
        assert_eq!(stored["involvedObject"]["name"], "p");
        assert_eq!(stored["message"], "M");
        assert_eq!(stored["reportingComponent"], "rc");
        assert_eq!(stored["firstTimestamp"], Value::Null);
        let core = from_stored(Collection::EVENTS.resource(), &stored);
        assert_eq!(core, stored);
        let viewed = from_stored(view, &stored);
        for field in ["note", "regarding", "reportingController", "apiVersion", "reason"] {
            assert_eq!(viewed[field], sent[field], "{field}");
        }
        assert_eq!(viewed["deprecatedSource"], json!({}));
    }
}
