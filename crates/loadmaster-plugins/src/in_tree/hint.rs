//! What queueing hints look at: the object before and after a change.

use std::sync::Arc;

use loadmaster_framework::{
    Hint, Object, PluginError,
    api::{Node, Pod},
};

/// The node before, if it was there, and after.
pub(super) fn changed_node<'a>(
    hint: &Hint<'a>,
) -> Result<(Option<&'a Arc<Node>>, &'a Arc<Node>), PluginError> {
    let old = hint.old.map(|it| it.as_node().ok_or_else(|| unexpected("node"))).transpose()?;
    let new = hint.new.and_then(Object::as_node).ok_or_else(|| unexpected("node"))?;
    Ok((old, new))
}

/// The pod after a change.
pub(super) fn changed_pod<'a>(hint: &Hint<'a>) -> Result<&'a Arc<Pod>, PluginError> {
    hint.new.and_then(Object::as_pod).ok_or_else(|| unexpected("pod"))
}

/// The pod before a change or a deletion.
pub(super) fn former_pod<'a>(hint: &Hint<'a>) -> Result<&'a Arc<Pod>, PluginError> {
    hint.old.and_then(Object::as_pod).ok_or_else(|| unexpected("pod"))
}

/// What a hint says when it is handed an object of a kind that its event does not have.
pub(super) fn unexpected(wanted: &str) -> PluginError {
    PluginError::Other(format!("the event does not carry a {wanted}"))
}
