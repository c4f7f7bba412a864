//! Events, in the shape of either API group.

use jiff::Timestamp;
use serde_json::Value;

use super::age::since;
use super::text::text;

/// Last Seen, Type, Reason, Object, Subobject, Source, Message, First Seen, Count, Name.
pub(super) fn cells(event: &Value, now: Timestamp) -> Vec<Value> {
    let first = first_of(event, &["firstTimestamp", "deprecatedFirstTimestamp", "eventTime"]);
    let last = match &event["series"]["lastObservedTime"] {
        Value::Null => first_of(event, &["lastTimestamp", "deprecatedLastTimestamp"]),
        seen => seen,
    };
    let last = if last.is_null() { first } else { last };
    let count = [&event["series"]["count"], &event["count"], &event["deprecatedCount"]]
        .into_iter()
        .filter_map(Value::as_i64)
        .find(|count| *count > 0)
        .unwrap_or(1);
    let object = first_of(event, &["involvedObject", "regarding"]);
    let (kind, name) = (text(object, "/kind").to_lowercase(), text(object, "/name"));
    let object_text = if name.is_empty() { kind } else { format!("{kind}/{name}") };
    vec![
        since(last, now).into(),
        text(event, "/type").into(),
        text(event, "/reason").into(),
        object_text.into(),
        text(object, "/fieldPath").into(),
        source(event).into(),
        text(first_of(event, &["message", "note"]), "").trim().into(),
        since(first, now).into(),
        count.into(),
        text(event, "/metadata/name").into(),
    ]
}

/// The first of these members that is present.
fn first_of<'a>(event: &'a Value, names: &[&str]) -> &'a Value {
    static NONE: Value = Value::Null;
    names.iter().map(|name| &event[*name]).find(|it| !it.is_null()).unwrap_or(&NONE)
}

/// `component, host`, from the old members or the new ones.
fn source(event: &Value) -> String {
    let old = first_of(event, &["source", "deprecatedSource"]);
    let mut component = text(old, "/component");
    let mut host = text(old, "/host");
    if component.is_empty() {
        component = text(first_of(event, &["reportingComponent", "reportingController"]), "");
    }
    if host.is_empty() {
        host = text(event, "/reportingInstance");
    }
    if host.is_empty() { component.to_owned() } else { format!("{component}, {host}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn now() -> Timestamp {
        "2026-11-29T16:29:07Z".parse().unwrap()
    }

    #[test]
    fn a_scheduler_s_event_shows_its_reporter_and_counts_one() {
        let event = json!({"metadata": {"name": "solo.18ec90fb5d96fcaf"}, "type": "Normal",
            "reason": "Scheduled", "eventTime": "2026-11-29T16:28:55.123456Z",
            "involvedObject": {"kind": "Pod", "name": "solo"}, "firstTimestamp": null,
            "lastTimestamp": null, "source": {}, "reportingComponent": "default-scheduler",
            "reportingInstance": "default-scheduler-host",
            "message": "Successfully assigned wire-k136/solo to wire-n3"});
        assert_eq!(
            cells(&event, now()),
            [
                json!("11s"),
                json!("Normal"),
                json!("Scheduled"),
                json!("pod/solo"),
                json!(""),
                json!("default-scheduler, default-scheduler-host"),
                json!("Successfully assigned wire-k136/solo to wire-n3"),
                json!("11s"),
                json!(1),
                json!("solo.18ec90fb5d96fcaf")
            ]
        );
    }

    #[test]
    fn a_series_tells_when_it_was_seen_last_and_how_often() {
        let event = json!({"regarding": {"kind": "Pod", "name": "x"}, "note": "n",
            "eventTime": "2026-11-29T16:28:07.000000Z",
            "series": {"count": 4, "lastObservedTime": "2026-11-29T16:29:02.000000Z"}});
        let cells = cells(&event, now());
        assert_eq!((&cells[0], &cells[7], &cells[8]), (&json!("5s"), &json!("60s"), &json!(4)));
        assert_eq!((&cells[3], &cells[6]), (&json!("pod/x"), &json!("n")));
    }
}
