//! The order of a merged list's items.

use serde_json::Value;

/// What identifies an item: the value of its merge key, or the item itself in a set.
pub(super) fn identity<'a>(item: &'a Value, key: Option<&str>) -> Option<&'a Value> {
    match key {
        Some(key) => item.get(key),
        None => Some(item),
    }
}

/// Where an item with the same identity stands in `list`.
pub(super) fn position(list: &[Value], item: &Value, key: Option<&str>) -> Option<usize> {
    let wanted = identity(item, key)?;
    list.iter().position(|it| identity(it, key) == Some(wanted))
}

/// Puts merged items into their final order: those that `wanted` names in its order, the others as
/// the server had them, and the two runs woven together by where both stand in `server`.
///
/// An item that the server did not have comes before the server's own, as upstream does: adding
/// `c` to `a, b` gives `c, a, b`.
pub(super) fn arrange(
    merged: Vec<Value>,
    wanted: &[Value],
    server: &[Value],
    key: Option<&str>,
) -> Vec<Value> {
    let (mut named, mut others): (Vec<Value>, Vec<Value>) =
        merged.into_iter().partition(|item| position(wanted, item, key).is_some());
    named.sort_by_key(|item| position(wanted, item, key));
    others.sort_by_key(|item| position(server, item, key));

    let mut woven = Vec::with_capacity(named.len() + others.len());
    let (mut named, mut others) = (named.into_iter().peekable(), others.into_iter().peekable());
    while let (Some(left), Some(right)) = (others.peek(), named.peek()) {
        let places = (position(server, left, key), position(server, right, key));
        let other_first = matches!(places, (Some(left), Some(right)) if left < right);
        woven.extend(if other_first { others.next() } else { named.next() });
    }
    woven.extend(named);
    woven.extend(others);
    woven
}
