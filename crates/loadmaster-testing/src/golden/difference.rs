//! The smallest places in which two recordings differ.

use std::fmt;

use serde::Serialize;
use serde_json::Value;

/// One place in which what was recorded and what we came to differ.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Difference {
    /// Where: `filter[n2].reasons[0]`. Elements of a list that have a name are called by it.
    pub path: String,
    /// What was recorded; `null` where there is nothing.
    pub expected: Value,
    /// What we came to; `null` where there is nothing.
    pub actual: Value,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: expected {}, got {}", self.path, self.expected, self.actual)
    }
}

/// Every smallest place in which `expected` and `actual` differ, in order.
///
/// An absent field is the same as one that is `null`, empty, zero or `false`.
pub fn differences(expected: &impl Serialize, actual: &impl Serialize) -> Vec<Difference> {
    let value = |it: serde_json::Result<Value>| it.expect("recordings are plain data");
    let (expected, actual) =
        (value(serde_json::to_value(expected)), value(serde_json::to_value(actual)));
    let mut found = Vec::new();
    compare(String::new(), &expected, &actual, &mut found);
    found
}

fn compare(path: String, expected: &Value, actual: &Value, found: &mut Vec<Difference>) {
    match (expected, actual) {
        (a, b) if a == b || is_nothing(a) && is_nothing(b) => {}
        (Value::Object(a), Value::Object(b)) => {
            let new = b.keys().filter(|key| !a.contains_key(*key));
            for key in a.keys().chain(new) {
                let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
                let of = |it: &serde_json::Map<String, Value>| it.get(key).cloned();
                compare(path, &of(a).unwrap_or_default(), &of(b).unwrap_or_default(), found);
            }
        }
        (Value::Array(a), Value::Array(b)) if name(a.first()).is_some() || a.len() == b.len() => {
            compare_lists(&path, a, b, found);
        }
        (expected, actual) => {
            found.push(Difference { path, expected: expected.clone(), actual: actual.clone() });
        }
    }
}

/// Elements that have a name are compared with those of the same name, and then the order is.
fn compare_lists(path: &str, expected: &[Value], actual: &[Value], found: &mut Vec<Difference>) {
    let before = found.len();
    for (at, element) in expected.iter().enumerate() {
        let key = name(Some(element));
        let partner = match key {
            Some(key) => actual.iter().find(|it| name(Some(it)) == Some(key)),
            None => actual.get(at),
        };
        let place = format!("{path}[{}]", key.map_or_else(|| at.to_string(), str::to_owned));
        match partner {
            // As a whole, since a missing element is not one whose fields are all empty.
            None => found.push(Difference {
                path: place,
                expected: element.clone(),
                actual: Value::Null,
            }),
            Some(partner) => compare(place, element, partner, found),
        }
    }
    for (at, element) in actual.iter().enumerate() {
        let key = name(Some(element));
        let known = match key {
            Some(key) => expected.iter().any(|it| name(Some(it)) == Some(key)),
            None => at < expected.len(),
        };
        if !known {
            found.push(Difference {
                path: format!("{path}[{}]", key.map_or_else(|| at.to_string(), str::to_owned)),
                expected: Value::Null,
                actual: element.clone(),
            });
        }
    }
    if found.len() == before {
        let names = |list: &[Value]| -> Value {
            list.iter().map(|it| name(Some(it)).map_or_else(|| it.clone(), Value::from)).collect()
        };
        found.push(Difference {
            path: format!("{path} (order)"),
            expected: names(expected),
            actual: names(actual),
        });
    }
}

fn name(element: Option<&Value>) -> Option<&str> {
    let fields = element?.as_object()?;
    fields.get("node").or_else(|| fields.get("name"))?.as_str()
}

fn is_nothing(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(it) => !it,
        Value::Number(it) => it.as_i64() == Some(0),
        Value::String(it) => it.is_empty(),
        Value::Array(it) => it.is_empty(),
        Value::Object(it) => it.values().all(is_nothing),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn shown(expected: &Value, actual: &Value) -> Vec<String> {
        differences(expected, actual).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn what_is_absent_is_the_same_as_what_is_empty() {
        let full = json!({"a": 0, "b": [], "c": "", "d": null, "e": false, "f": {"g": 0}});
        assert_eq!(shown(&full, &json!({})), [""; 0]);
        assert_eq!(shown(&json!({}), &full), [""; 0]);
        assert_eq!(shown(&json!([0]), &json!([])), [": expected [0], got []"]);
    }

    #[test]
    fn only_the_innermost_difference_is_told() {
        let expected = json!({"filter": [{"node": "n1", "code": "Success"}, {"node": "n2"}]});
        let actual = json!({"filter": [{"node": "n1", "code": "Error"}, {"node": "n2"}]});
        assert_eq!(
            shown(&expected, &actual),
            [r#"filter[n1].code: expected "Success", got "Error""#]
        );
    }

    #[test]
    fn a_missing_element_an_extra_one_and_another_order_are_told_apart() {
        let list = |names: &[&str]| -> Value {
            names.iter().map(|it| json!({"node": it, "total": 0})).collect()
        };
        assert_eq!(
            shown(&list(&["n1", "n2"]), &list(&["n2", "n3"])),
            [
                r#"[n1]: expected {"node":"n1","total":0}, got null"#,
                r#"[n3]: expected null, got {"node":"n3","total":0}"#
            ]
        );
        assert_eq!(
            shown(&list(&["n1", "n2"]), &list(&["n2", "n1"])),
            [r#" (order): expected ["n1","n2"], got ["n2","n1"]"#]
        );
        assert_eq!(
            shown(&json!(["a", "b"]), &json!(["b"])),
            [r#": expected ["a","b"], got ["b"]"#]
        );
    }
}
