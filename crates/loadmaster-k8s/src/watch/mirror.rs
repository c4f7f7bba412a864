//! What has been told of a kind, so that what vanished in a gap can be told as deleted.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use loadmaster_core::scheduler::ClusterChange;
use loadmaster_framework::{Object, api::ObjectKey};

/// The objects of a kind as they were last told, for whoever wants to see them all. Clones are of the
/// same objects.
#[derive(Clone, Debug, Default)]
pub struct Known(Arc<Mutex<BTreeMap<ObjectKey, Object>>>);

impl Known {
    /// All of them, by namespace and name.
    pub fn all(&self) -> Vec<Object> {
        self.lock().values().cloned().collect()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<ObjectKey, Object>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What has been told of a kind.
#[derive(Debug, Default)]
pub(super) struct Mirror {
    known: Known,
    /// While a list runs: what it has not named yet.
    unseen: Option<BTreeSet<ObjectKey>>,
}

impl Mirror {
    /// Keeps what is told in `known`.
    pub(super) fn of(known: Known) -> Self {
        Self { known, unseen: None }
    }

    /// Whether nothing is known.
    pub(super) fn is_empty(&self) -> bool {
        self.known.lock().is_empty()
    }

    /// A list begins: whatever it does not name is gone.
    pub(super) fn begin_list(&mut self) {
        self.unseen = Some(self.known.lock().keys().cloned().collect());
    }

    /// The list is complete; tells what is gone.
    pub(super) fn end_list(&mut self) -> Vec<ClusterChange> {
        let gone = self.unseen.take().unwrap_or_default();
        let mut known = self.known.lock();
        gone.iter().filter_map(|it| known.remove(it)).map(ClusterChange::Deleted).collect()
    }

    /// An object appeared, changed or is listed; tells what is new about it. A successor under the
    /// same name is told after the end of its predecessor.
    pub(super) fn apply(&mut self, object: Object) -> Vec<ClusterChange> {
        let key = object.key();
        if let Some(unseen) = &mut self.unseen {
            unseen.remove(&key);
        }
        let old = self.known.lock().insert(key, object.clone());
        let mut changes = Vec::with_capacity(1);
        if let Some(old) = old {
            let (was, is) = (old.metadata(), object.metadata());
            if was.uid != is.uid {
                changes.push(ClusterChange::Deleted(old));
            } else if !is.resource_version.is_empty() && was.resource_version == is.resource_version
            {
                return changes;
            }
        }
        changes.push(ClusterChange::Applied(object));
        changes
    }

    /// An object is gone; tells so if it had been told of.
    pub(super) fn delete(&mut self, object: Object) -> Option<ClusterChange> {
        self.forget(&object.key()).map(|_| ClusterChange::Deleted(object))
    }

    /// An object is gone whose last state cannot be read; tells so if it had been told of.
    pub(super) fn delete_by_key(&mut self, key: &ObjectKey) -> Option<ClusterChange> {
        self.forget(key).map(ClusterChange::Deleted)
    }

    fn forget(&mut self, key: &ObjectKey) -> Option<Object> {
        if let Some(unseen) = &mut self.unseen {
            unseen.remove(key);
        }
        self.known.lock().remove(key)
    }
}

#[cfg(test)]
mod tests {
    use loadmaster_framework::api::{Node, ObjectMeta};

    use super::*;

    fn node(name: &str, uid: &str, version: &str) -> Object {
        let metadata = ObjectMeta {
            name: name.into(),
            uid: uid.into(),
            resource_version: version.into(),
            ..ObjectMeta::default()
        };
        Node { metadata, ..Node::default() }.into()
    }

    /// `+name/uid` for what was applied, `-name/uid` for what was deleted.
    fn told(changes: impl IntoIterator<Item = ClusterChange>) -> Vec<String> {
        let show = |sign, it: Object| format!("{sign}{}/{}", it.metadata().name, it.metadata().uid);
        changes
            .into_iter()
            .map(|it| match it {
                ClusterChange::Applied(it) => show('+', it),
                ClusterChange::Deleted(it) => show('-', it),
                fact => format!("{fact:?}"),
            })
            .collect()
    }

    #[test]
    fn what_a_second_list_does_not_name_is_told_as_deleted() {
        let mut mirror = Mirror::default();
        mirror.begin_list();
        mirror.apply(node("a", "1", "1"));
        mirror.apply(node("b", "2", "1"));
        assert!(told(mirror.end_list()).is_empty());
        mirror.begin_list();
        assert!(told(mirror.apply(node("a", "1", "1"))).is_empty());
        assert_eq!(told(mirror.end_list()), ["-b/2"]);
    }

    #[test]
    fn a_successor_under_the_same_name_is_told_after_the_end_of_its_predecessor() {
        let mut mirror = Mirror::default();
        mirror.apply(node("a", "1", "1"));
        assert_eq!(told(mirror.apply(node("a", "2", "2"))), ["-a/1", "+a/2"]);
    }

    #[test]
    fn an_object_deleted_while_a_list_runs_is_told_once() {
        let mut mirror = Mirror::default();
        mirror.apply(node("a", "1", "1"));
        mirror.begin_list();
        assert_eq!(told(mirror.delete(node("a", "1", "2"))), ["-a/1"]);
        assert!(told(mirror.end_list()).is_empty());
    }

    #[test]
    fn the_end_of_an_object_that_was_never_told_of_is_not_told() {
        assert!(Mirror::default().delete(node("a", "1", "1")).is_none());
    }
}
