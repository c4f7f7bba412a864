//! From what a source says to facts.

use std::{collections::BTreeMap, time::Duration};

use jiff::Timestamp;
use serde_json::Value;

/// Facts by what they are about, each with the age that it says it has.
pub(super) type Facts = BTreeMap<String, (Value, Duration)>;

/// Takes a document apart: of a list of the API each item is a fact, of any other object each
/// member. A fact with a `timestamp`, as those of `metrics.k8s.io`, is as old as that says at `now`.
///
/// # Errors
/// The document is neither.
pub(super) fn facts_of(document: Value, now: Timestamp) -> Result<Facts, String> {
    let Value::Object(mut members) = document else {
        return Err("it is no JSON object".to_owned());
    };
    match members.remove("items") {
        Some(Value::Array(items)) => items.into_iter().map(|it| item(it, now)).collect(),
        Some(_) => Err("its `items` are no list".to_owned()),
        None => Ok(aged(members.into_iter().collect(), now)),
    }
}

/// Facts with the age that each says it has.
pub(super) fn aged(facts: BTreeMap<String, Value>, now: Timestamp) -> Facts {
    let aged = |(key, value): (String, Value)| {
        let age = age(&value, now);
        (key, (value, age))
    };
    facts.into_iter().map(aged).collect()
}

fn item(item: Value, now: Timestamp) -> Result<(String, (Value, Duration)), String> {
    let text = |field: &str| item["metadata"][field].as_str().unwrap_or_default();
    let key = match (text("namespace"), text("name")) {
        (_, "") => return Err("an item has no name".to_owned()),
        ("", name) => name.to_owned(),
        (namespace, name) => format!("{namespace}/{name}"),
    };
    let age = age(&item, now);
    Ok((key, (item, age)))
}

fn age(value: &Value, now: Timestamp) -> Duration {
    let said = value.get("timestamp").and_then(Value::as_str);
    let at = said.and_then(|it| it.parse::<Timestamp>().ok());
    // One that is ahead of this machine's clock is of now.
    at.and_then(|it| Duration::try_from(now.duration_since(it)).ok()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn facts(document: Value) -> Result<Vec<String>, String> {
        let now = "2026-01-01T00:01:00Z".parse().unwrap();
        let show = |(key, (value, age)): (String, (Value, Duration))| {
            format!("{key} {} {}s", value["v"], age.as_secs())
        };
        Ok(facts_of(document, now)?.into_iter().map(show).collect())
    }

    #[test]
    fn a_list_of_the_api_gives_a_fact_an_item_with_the_age_that_it_says() {
        let document = json!({"kind": "NodeMetricsList", "items": [
            {"metadata": {"name": "n1"}, "timestamp": "2026-01-01T00:00:50Z", "v": 1},
            {"metadata": {"name": "p", "namespace": "web"}, "v": 2},
            {"metadata": {"name": "ahead"}, "timestamp": "2026-01-01T00:09:00Z", "v": 3},
        ]});
        assert_eq!(facts(document).unwrap(), ["ahead 3 0s", "n1 1 10s", "web/p 2 0s"]);
    }

    #[test]
    fn another_object_gives_a_fact_a_member_and_anything_else_is_an_error() {
        assert_eq!(facts(json!({"n1": {"v": 1}})).unwrap(), ["n1 1 0s"]);
        for nonsense in [json!([1]), json!("x"), json!({"items": 7}), json!({"items": [{}]})] {
            assert!(facts(nonsense.clone()).is_err(), "{nonsense}");
        }
    }
}
