//! Reading members of JSON objects by pointer.

use serde_json::Value;

/// A text member, empty where it is absent.
pub(crate) fn text<'a>(object: &'a Value, pointer: &str) -> &'a str {
    object.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

/// A number member, 0 where it is absent.
pub(crate) fn number(object: &Value, pointer: &str) -> i64 {
    object.pointer(pointer).and_then(Value::as_i64).unwrap_or_default()
}

/// The items of a list member.
pub(crate) fn list<'a>(object: &'a Value, pointer: &str) -> &'a [Value] {
    object.pointer(pointer).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

/// Whether an object's condition of this type has status `True`.
pub(crate) fn condition_is_true(object: &Value, kind: &str) -> bool {
    condition(object, kind).is_some_and(|it| it["status"] == "True")
}

/// An object's condition of this type.
pub(crate) fn condition<'a>(object: &'a Value, kind: &str) -> Option<&'a Value> {
    list(object, "/status/conditions").iter().find(|it| it["type"] == kind)
}

/// The owner reference of the object's controller.
pub(crate) fn controller_of(object: &Value) -> Option<&Value> {
    list(object, "/metadata/ownerReferences").iter().find(|it| it["controller"] == true)
}

/// Whether this uid is that of the object's controller.
pub(crate) fn is_controlled_by(object: &Value, uid: &str) -> bool {
    controller_of(object).is_some_and(|it| it["uid"] == uid)
}
