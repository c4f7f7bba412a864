//! Small helpers to fill in members of JSON objects.

use serde_json::{Map, Value};

/// Sets a member where it is absent or null.
pub(super) fn fill(object: &mut Map<String, Value>, name: &str, value: impl Into<Value>) {
    let member = object.entry(name.to_owned()).or_insert(Value::Null);
    if member.is_null() {
        *member = value.into();
    }
}

/// Sets a text member where it is absent, null or empty: Go cannot tell these apart.
pub(super) fn fill_text(object: &mut Map<String, Value>, name: &str, value: &str) {
    let member = object.entry(name.to_owned()).or_insert(Value::Null);
    if member.is_null() || member.as_str() == Some("") {
        *member = value.into();
    }
}

/// Sets a number where it is absent, null or zero: the field is no pointer in Go.
pub(super) fn fill_number(object: &mut Map<String, Value>, name: &str, value: i64) {
    let member = object.entry(name.to_owned()).or_insert(Value::Null);
    if member.is_null() || member.as_i64() == Some(0) {
        *member = value.into();
    }
}

/// The member as an object, made empty where it is absent or null. `None` where it is of another
/// type, which validation refuses.
pub(super) fn object_in<'a>(
    object: &'a mut Map<String, Value>,
    name: &str,
) -> Option<&'a mut Map<String, Value>> {
    fill(object, name, Map::new());
    object.get_mut(name).and_then(Value::as_object_mut)
}

/// The objects of a list member; none where there is no such list.
pub(super) fn items_in<'a>(
    object: &'a mut Map<String, Value>,
    name: &str,
) -> impl Iterator<Item = &'a mut Map<String, Value>> {
    let list = object.get_mut(name).and_then(Value::as_array_mut);
    list.into_iter().flatten().filter_map(Value::as_object_mut)
}

/// The member as an object, where it is one.
pub(super) fn existing<'a>(
    object: &'a mut Map<String, Value>,
    name: &str,
) -> Option<&'a mut Map<String, Value>> {
    object.get_mut(name).and_then(Value::as_object_mut)
}
