//! The objects of one collection and their history.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

use super::changes::{Change, ChangeKind, Gone, Log};
use super::{Object, text};

/// Objects by namespace, then by name.
type ByName = BTreeMap<String, BTreeMap<String, Object>>;

#[derive(Debug)]
pub(super) struct Objects {
    by_name: ByName,
    log: Arc<Log>,
}

impl Objects {
    pub(super) fn new(history: usize) -> Self {
        Self { by_name: BTreeMap::new(), log: Arc::new(Log::new(history)) }
    }

    pub(super) fn log(&self) -> Arc<Log> {
        Arc::clone(&self.log)
    }

    pub(super) fn get(&self, namespace: &str, name: &str) -> Option<&Object> {
        self.by_name.get(namespace)?.get(name)
    }

    pub(super) fn list(&self, namespace: Option<&str>) -> Vec<Object> {
        collect(&self.by_name, namespace)
    }

    pub(super) fn list_prefixed(&self, namespace: &str, prefix: &str) -> Vec<Object> {
        let Some(names) = self.by_name.get(namespace) else { return Vec::new() };
        let from = names.range::<str, _>((Bound::Included(prefix), Bound::Unbounded));
        from.take_while(|(name, _)| name.starts_with(prefix)).map(|(_, it)| it.clone()).collect()
    }

    pub(super) fn put(&mut self, namespace: &str, name: &str, object: Object, version: u64) {
        let previous = insert(&mut self.by_name, namespace, name, Arc::clone(&object));
        let kind = if previous.is_some() { ChangeKind::Modified } else { ChangeKind::Added };
        self.log.push(Change { version, kind, object, previous });
    }

    /// Takes an object away; `last` is its last state under the version of the removal.
    pub(super) fn remove(&mut self, namespace: &str, name: &str, last: Object, version: u64) {
        let previous = take(&mut self.by_name, namespace, name);
        self.log.push(Change { version, kind: ChangeKind::Deleted, object: last, previous });
    }

    /// The objects at an earlier version: the present with the changes since then undone.
    pub(super) fn list_at(
        &self,
        namespace: Option<&str>,
        version: u64,
    ) -> Result<Vec<Object>, Gone> {
        let changes = self.log.after(version)?;
        if changes.is_empty() {
            return Ok(self.list(namespace));
        }
        let mut past = self.by_name.clone();
        for change in changes.iter().rev() {
            let (space, name) = (text(&change.object, "namespace"), text(&change.object, "name"));
            match &change.previous {
                Some(previous) => insert(&mut past, space, name, Arc::clone(previous)),
                None => take(&mut past, space, name),
            };
        }
        Ok(collect(&past, namespace))
    }
}

fn insert(objects: &mut ByName, namespace: &str, name: &str, object: Object) -> Option<Object> {
    if !objects.contains_key(namespace) {
        objects.insert(namespace.to_owned(), BTreeMap::new());
    }
    let names = objects.get_mut(namespace)?;
    if let Some(slot) = names.get_mut(name) {
        return Some(std::mem::replace(slot, object));
    }
    names.insert(name.to_owned(), object)
}

fn take(objects: &mut ByName, namespace: &str, name: &str) -> Option<Object> {
    let names = objects.get_mut(namespace)?;
    let taken = names.remove(name);
    if names.is_empty() {
        objects.remove(namespace);
    }
    taken
}

fn collect(objects: &ByName, namespace: Option<&str>) -> Vec<Object> {
    match namespace {
        Some(namespace) => {
            objects.get(namespace).map(|it| it.values().cloned().collect()).unwrap_or_default()
        }
        None => objects.values().flat_map(BTreeMap::values).cloned().collect(),
    }
}
