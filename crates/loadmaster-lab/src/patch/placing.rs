//! Where the new items of an applied configuration go: behind those that are there.
//!
//! A strategic merge patch puts them in front. So before an apply is merged like one, each new item
//! gets a place that holds nothing but its merge key.

use serde_json::{Map, Value, json};

use super::keys::{Rule, Shape};

/// Adds the places of items that `configuration` has and `current` has not.
pub(super) fn place_new_items(
    api_version: &str,
    kind: &str,
    current: &mut Value,
    configuration: &Map<String, Value>,
) {
    if let Some(current) = current.as_object_mut() {
        place_in(current, configuration, &Shape::of(api_version, kind));
    }
}

fn place_in(current: &mut Map<String, Value>, wanted: &Map<String, Value>, shape: &Shape) {
    for (name, wanted) in wanted {
        match (current.get_mut(name), wanted) {
            (Some(Value::Object(current)), Value::Object(wanted)) => {
                place_in(current, wanted, &shape.member(name));
            }
            (Some(Value::Array(current)), Value::Array(wanted)) => match shape.rule(name) {
                Rule::Key(key) => place_items(current, wanted, key, &shape.member(name)),
                Rule::Set => {
                    for item in wanted {
                        if !current.contains(item) {
                            current.push(item.clone());
                        }
                    }
                }
                Rule::Default | Rule::Replace => {}
            },
            _ => {}
        }
    }
}

fn place_items(current: &mut Vec<Value>, wanted: &[Value], key: &str, shape: &Shape) {
    for item in wanted {
        // An item without its key is refused by the merge.
        let (Some(id), Some(item)) = (item.get(key), item.as_object()) else { continue };
        match current.iter_mut().find(|it| it.get(key) == Some(id)) {
            Some(Value::Object(existing)) => place_in(existing, item, shape),
            Some(_) => {}
            None => current.push(json!({key: id})),
        }
    }
}
