//! Strategic merge patch: maps merge, lists merge by the key that their type declares, and
//! directives (`$patch`, `$setElementOrder/…`, `$deleteFromPrimitiveList/…`, `$retainKeys`) say the
//! rest.
//!
//! Source: apimachinery `util/strategicpatch` 1.36.

use serde_json::{Map, Value};

use super::PatchError;
use super::keys::{Rule, Shape};
use super::order::{arrange, identity, position};

const PATCH: &str = "$patch";
const RETAIN_KEYS: &str = "$retainKeys";
const ORDER_PREFIX: &str = "$setElementOrder/";
const DELETE_PREFIX: &str = "$deleteFromPrimitiveList/";

type Object = Map<String, Value>;

/// Merges `patch` into `current` by the rules of the kind; `current` may be `null`.
///
/// # Errors
/// [`PatchError::Directive`] for a malformed directive, [`PatchError::Unmergeable`] for a list item
/// without its merge key.
pub fn strategic_merge(
    api_version: &str,
    kind: &str,
    current: &Value,
    patch: Map<String, Value>,
) -> Result<Value, PatchError> {
    let current = current.as_object().cloned().unwrap_or_default();
    merge_map(current, patch, &Shape::of(api_version, kind)).map(Value::Object)
}

fn merge_map(mut original: Object, mut patch: Object, shape: &Shape) -> Result<Object, PatchError> {
    if let Some(directive) = patch.remove(PATCH) {
        return match directive.as_str() {
            Some("replace") => Ok(patch),
            Some("delete") => Ok(Object::new()),
            _ => Err(bad_patch_type(&directive, &Value::Object(patch))),
        };
    }
    if let Some(retained) = patch.remove(RETAIN_KEYS) {
        retain_keys(&mut original, &patch, &retained)?;
    }
    order_lists(&mut original, &mut patch, shape)?;
    for (name, value) in patch {
        if let Some(list) = name.strip_prefix(DELETE_PREFIX) {
            delete_from_list(&mut original, list, value)?;
            continue;
        }
        if value.is_null() {
            original.remove(&name);
            continue;
        }
        let merged = match (original.remove(&name), value) {
            (Some(Value::Object(_)), Value::Object(new)) if shape.rule(&name) == Rule::Replace => {
                Some(Value::Object(new))
            }
            (Some(Value::Object(old)), Value::Object(new)) => {
                Some(Value::Object(merge_map(old, new, &shape.member(&name))?))
            }
            (Some(Value::Array(old)), Value::Array(new)) => {
                Some(Value::Array(merge_member_list(old, new, shape, &name)?))
            }
            (_, new) => without_directives(without_nulls(new)),
        };
        if let Some(merged) = merged {
            original.insert(name, merged);
        }
    }
    Ok(original)
}

/// `$retainKeys`: of the map only the listed members stay.
fn retain_keys(original: &mut Object, patch: &Object, retained: &Value) -> Result<(), PatchError> {
    let bad = || PatchError::Directive("invalid patch format of retainKeys".to_owned());
    let retained = retained.as_array().ok_or_else(bad)?;
    let listed = |name: &str| retained.iter().any(|it| it.as_str() == Some(name));
    let unlisted = patch.iter().any(|(name, value)| {
        let directive = name.starts_with(ORDER_PREFIX) || name.starts_with(DELETE_PREFIX);
        !value.is_null() && !directive && !listed(name)
    });
    if unlisted {
        return Err(bad());
    }
    original.retain(|name, _| listed(name));
    Ok(())
}

/// `$setElementOrder/LIST`: merges the list and puts it into the given order.
fn order_lists(original: &mut Object, patch: &mut Object, shape: &Shape) -> Result<(), PatchError> {
    let directives: Vec<String> =
        patch.keys().filter(|name| name.starts_with(ORDER_PREFIX)).cloned().collect();
    for directive in directives {
        let Some(name) = directive.strip_prefix(ORDER_PREFIX) else { continue };
        let bad =
            || PatchError::Directive("invalid patch format of setElementOrder list".to_owned());
        let Some(Value::Array(wanted)) = patch.remove(&directive) else { return Err(bad()) };
        let server = match original.get(name) {
            None => None,
            Some(Value::Array(list)) => Some(list.clone()),
            Some(_) => return Err(bad()),
        };
        let key = match shape.rule(name) {
            Rule::Key(key) => Some(key),
            _ => None,
        };
        let changed = match patch.get(name) {
            Some(Value::Array(_)) => patch.remove(name),
            Some(_) => continue,
            None => None,
        };
        if let Some(Value::Array(items)) = &changed {
            check_order(items, &wanted, key)?;
        }
        let merged = match (server.clone(), changed) {
            (Some(server), Some(Value::Array(items))) => {
                merge_member_list(server, items, shape, name)?
            }
            (Some(server), _) => server,
            (None, Some(items)) => match without_directives(without_nulls(items)) {
                Some(Value::Array(items)) => items,
                _ => continue,
            },
            (None, None) => continue,
        };
        check_keys(&merged, key)?;
        let ordered = arrange(merged, &wanted, &server.unwrap_or_default(), key);
        original.insert(name.to_owned(), Value::Array(ordered));
    }
    Ok(())
}

/// The patch's items must come in the order that `$setElementOrder` gives.
fn check_order(items: &[Value], wanted: &[Value], key: Option<&str>) -> Result<(), PatchError> {
    let mut wanted_left = wanted.iter();
    for item in items.iter().filter(|item| item.get(PATCH).is_none()) {
        let id = identity(item, key);
        if !wanted.is_empty() && !wanted_left.any(|it| identity(it, key) == id) {
            return Err(PatchError::Unmergeable(format!(
                "The order in patch list:\n{}\n doesn't match $setElementOrder list:\n{}\n",
                go_text(&Value::Array(items.to_vec())),
                go_text(&Value::Array(wanted.to_vec()))
            )));
        }
    }
    Ok(())
}

/// `$deleteFromPrimitiveList/LIST`: removes values from a list of plain values.
fn delete_from_list(original: &mut Object, name: &str, gone: Value) -> Result<(), PatchError> {
    let Value::Array(gone) = gone else {
        return Err(PatchError::Directive("invalid patch format of primitive list".to_owned()));
    };
    if let Some(Value::Array(list)) = original.get_mut(name) {
        list.retain(|item| !gone.contains(item));
    }
    Ok(())
}

/// Merges the list `name` of an object with this shape.
fn merge_member_list(
    original: Vec<Value>,
    patch: Vec<Value>,
    shape: &Shape,
    name: &str,
) -> Result<Vec<Value>, PatchError> {
    match shape.rule(name) {
        Rule::Key(key) => merge_by_key(original, patch, key, &shape.member(name)),
        Rule::Set => {
            let mut merged = original.clone();
            for item in &patch {
                if !merged.contains(item) {
                    merged.push(item.clone());
                }
            }
            Ok(arrange(merged, &patch, &original, None))
        }
        Rule::Default | Rule::Replace => Ok(patch),
    }
}

fn merge_by_key(
    mut original: Vec<Value>,
    patch: Vec<Value>,
    key: &str,
    item_shape: &Shape,
) -> Result<Vec<Value>, PatchError> {
    let mut changes: Vec<Value> = Vec::new();
    let mut replace = false;
    for item in patch {
        match item.get(PATCH).map(|it| it.as_str().unwrap_or_default()) {
            None => changes.push(item),
            Some("delete") => {
                let gone = item.get(key).ok_or_else(|| no_merge_key(&item, key))?;
                original.retain(|it| it.get(key) != Some(gone));
            }
            Some("replace") => replace = true,
            Some("merge") => {
                return Err(PatchError::Unmergeable(
                    "merging lists cannot yet be specified in the patch".to_owned(),
                ));
            }
            Some(_) => {
                return Err(bad_patch_type(&item[PATCH], &item));
            }
        }
    }
    if replace {
        return Ok(changes);
    }
    let mut merged = original.clone();
    for item in &changes {
        if item.get(key).is_none() {
            return Err(no_merge_key(item, key));
        }
        match (position(&merged, item, Some(key)), item) {
            (Some(index), Value::Object(new)) => {
                let old = merged[index].as_object().cloned().unwrap_or_default();
                merged[index] = Value::Object(merge_map(old, new.clone(), item_shape)?);
            }
            _ => merged.extend(without_directives(without_nulls(item.clone()))),
        }
    }
    check_keys(&merged, Some(key))?;
    Ok(arrange(merged, &changes, &original, Some(key)))
}

fn check_keys(items: &[Value], key: Option<&str>) -> Result<(), PatchError> {
    let Some(key) = key else { return Ok(()) };
    items
        .iter()
        .find(|item| item.get(key).is_none())
        .map_or(Ok(()), |item| Err(no_merge_key(item, key)))
}

/// A value that goes in as it is, without directives meant for a merge that did not happen.
fn without_directives(value: Value) -> Option<Value> {
    match value {
        Value::Object(object) if object.contains_key(PATCH) => None,
        Value::Object(object) => Some(Value::Object(
            object
                .into_iter()
                .filter(|(name, _)| !is_directive(name))
                .filter_map(|(name, value)| Some((name, without_directives(value)?)))
                .collect(),
        )),
        Value::Array(items) => {
            Some(Value::Array(items.into_iter().filter_map(without_directives).collect()))
        }
        value => Some(value),
    }
}

fn is_directive(name: &str) -> bool {
    name == RETAIN_KEYS || name.starts_with(ORDER_PREFIX) || name.starts_with(DELETE_PREFIX)
}

/// A new value, without the nulls that stand for "delete" where there is nothing to delete.
fn without_nulls(value: Value) -> Value {
    match value {
        Value::Object(object) => Value::Object(
            object
                .into_iter()
                .filter(|(_, value)| !value.is_null())
                .map(|(name, value)| (name, without_nulls(value)))
                .collect(),
        ),
        Value::Array(items) => Value::Array(items.into_iter().map(without_nulls).collect()),
        value => value,
    }
}

fn no_merge_key(item: &Value, key: &str) -> PatchError {
    PatchError::Unmergeable(format!(
        "map: {} does not contain declared merge key: {key}",
        go_text(item)
    ))
}

fn bad_patch_type(directive: &Value, patch: &Value) -> PatchError {
    PatchError::Unmergeable(format!(
        "unknown patch type: {} in map: {}",
        go_text(directive),
        go_text(patch)
    ))
}

/// A value as Go's `%v` prints it, which upstream's messages contain.
fn go_text(value: &Value) -> String {
    match value {
        Value::Null => "<nil>".to_owned(),
        Value::String(text) => text.clone(),
        Value::Array(items) => {
            format!("[{}]", items.iter().map(go_text).collect::<Vec<_>>().join(" "))
        }
        Value::Object(object) => {
            let members: Vec<String> =
                object.iter().map(|(name, value)| format!("{name}:{}", go_text(value))).collect();
            format!("map[{}]", members.join(" "))
        }
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests;
