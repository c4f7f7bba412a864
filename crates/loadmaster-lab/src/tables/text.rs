//! Texts that many printers share.

use serde_json::{Map, Value};

pub(super) use crate::values::{list, number, text};

/// The text, or `<none>` where it is empty.
pub(super) fn or_none(text: &str) -> &str {
    if text.is_empty() { "<none>" } else { text }
}

/// A number or text as shown, for members that may be either.
pub(super) fn shown(value: &Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        other => Some(other.to_string()),
    }
}

/// The names and the images of a template's containers, each joined by commas.
pub(super) fn containers(object: &Value, pointer: &str) -> (String, String) {
    let joined = |member| {
        let texts = list(object, pointer).iter().map(|it| text(it, member));
        texts.collect::<Vec<_>>().join(",")
    };
    (joined("/name"), joined("/image"))
}

/// A map of labels as `a=b,c=d`.
pub(super) fn labels(labels: Option<&Map<String, Value>>) -> String {
    let pairs = labels.into_iter().flatten();
    let pairs: Vec<String> =
        pairs.map(|(key, value)| format!("{key}={}", value.as_str().unwrap_or_default())).collect();
    or_none(&pairs.join(",")).to_owned()
}

/// A label selector as kubectl writes one: `app=x,tier in (a,b),!old`.
pub(super) fn selector(selector: &Value) -> String {
    let mut terms: Vec<(String, String)> = Vec::new();
    for (key, value) in selector["matchLabels"].as_object().into_iter().flatten() {
        terms.push((key.clone(), format!("{key}={}", value.as_str().unwrap_or_default())));
    }
    for term in list(selector, "/matchExpressions") {
        let key = text(term, "/key");
        let mut values: Vec<&str> =
            list(term, "/values").iter().filter_map(Value::as_str).collect();
        values.sort_unstable();
        let values = values.join(",");
        let shown = match text(term, "/operator") {
            "In" => format!("{key} in ({values})"),
            "NotIn" => format!("{key} notin ({values})"),
            "DoesNotExist" => format!("!{key}"),
            _ => key.to_owned(),
        };
        terms.push((key.to_owned(), shown));
    }
    terms.sort();
    let terms: Vec<String> = terms.into_iter().map(|(_, shown)| shown).collect();
    or_none(&terms.join(",")).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn selectors_are_written_as_kubectl_writes_them() {
        let given = json!({"matchLabels": {"tier": "web", "app": "x"}, "matchExpressions": [
            {"key": "zone", "operator": "In", "values": ["b", "a"]},
            {"key": "old", "operator": "DoesNotExist"}]});
        assert_eq!(selector(&given), "app=x,!old,tier=web,zone in (a,b)");
        assert_eq!(selector(&json!({})), "<none>");
    }
}
