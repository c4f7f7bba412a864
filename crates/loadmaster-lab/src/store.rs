//! The single owner of the cluster's state.
//!
//! Objects are complete JSON values (with `kind` and `apiVersion`) behind an [`Object`]
//! (`Arc<Value>`), kept per [`Collection`] by namespace and name; cluster-scoped objects live in the
//! namespace `""`. One counter numbers all writes; an object's `metadata.resourceVersion` is the
//! number of its last write. Every method takes the lock briefly and none waits while holding it,
//! so the store may be shared freely between request handlers and controllers.
//!
//! # Shape
//!
//! ```
//! # use loadmaster_lab::store::{Store, Write, StoreError};
//! # use loadmaster_lab::resources::Collection;
//! # use serde_json::json;
//! # fn main() -> Result<(), StoreError> {
//! let store = Store::new();
//! store.create(
//!     Collection::NODES,
//!     json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}}),
//! )?;
//! // A read-modify-write that is retried when another writer was faster.
//! store.edit(Collection::NODES, "", "n1", |node| {
//!     node["spec"]["unschedulable"] = json!(true);
//! })?;
//! // A list and everything that happens after it.
//! let (nodes, mut watch) = store.list_and_watch(Collection::NODES, None);
//! assert_eq!(nodes.len(), 1);
//! store.remove(Collection::NODES, "", "n1", |_| Ok(()))?;
//! assert_eq!(watch.ready().map(|changes| changes.len()), Ok(1));
//! # Ok(())
//! # }
//! ```
//!
//! - [`Store::get`], [`Store::list`]: what is stored now.
//! - [`Store::create`]: fills `uid`, `creationTimestamp`, `generation` and a generated name.
//! - [`Store::update`]: the general write; the closure sees the current object and answers with a
//!   [`Write`], or refuses. It runs outside the lock and may run again, so it must be pure.
//! - [`Store::edit`]: [`Store::update`] for a closure that changes a copy in place.
//! - [`Store::remove`]: takes an object away at once, without grace or finalizers.
//! - [`Store::watch`], [`Store::list_and_watch`]: changes in order, from a kept history.
//!
//! Rules that hold for every writer: a write that changes nothing keeps the version and is not
//! seen by watchers; `metadata.generation` goes up by one when `spec` changes (for the kinds that
//! count it); an object that is being deleted goes when its last finalizer is taken off.

mod changes;
mod clock;
mod collection;
mod identity;

pub use changes::{Change, ChangeKind, Gone, Watch};
pub use clock::{Clock, rfc3339};
pub use identity::{generate_name, prepare_create};

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;
use serde_json::{Value, json};
use tokio::sync::watch;

use crate::resources::Collection;
use crate::status::Status;
use collection::Objects;

/// A stored object, shared and immutable.
pub type Object = Arc<Value>;

/// How many changes per collection are kept for watches that resume.
pub const DEFAULT_HISTORY: usize = 4096;

/// A refused write.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// There is no such object.
    #[error("{collection} \"{name}\" not found")]
    NotFound {
        /// Where it was looked for.
        collection: Collection,
        /// Its name.
        name: String,
    },
    /// An object of that name exists.
    #[error("{collection} \"{name}\" already exists")]
    AlreadyExists {
        /// Where it is.
        collection: Collection,
        /// Its name.
        name: String,
        /// Whether it is still being deleted.
        being_deleted: bool,
    },
    /// The caller's closure refused.
    #[error(transparent)]
    Refused(Box<Status>),
}

impl From<Status> for StoreError {
    fn from(status: Status) -> Self {
        Self::Refused(Box::new(status))
    }
}

/// What an update wants done with the object that it looked at.
#[derive(Clone, Debug, PartialEq)]
pub enum Write {
    /// Nothing.
    Keep,
    /// Store this instead; a changed `spec` raises the generation.
    Put(Value),
    /// Store this instead, with the generation that it carries: a binding keeps it, a deletion
    /// raises it.
    PutAsIs(Value),
    /// Take the object away.
    Remove,
    /// Store this, then take it away: watchers see both (the deletion of a pod without grace).
    PutAndRemove(Value),
}

/// See the [module](self).
#[derive(Debug)]
pub struct Store {
    inner: Mutex<Inner>,
    history: usize,
    clock: Clock,
    version: watch::Sender<u64>,
}

#[derive(Debug)]
struct Inner {
    version: u64,
    collections: BTreeMap<Collection, Objects>,
}

impl Default for Store {
    fn default() -> Self {
        Self::new()
    }
}

impl Store {
    /// An empty store that keeps [`DEFAULT_HISTORY`] changes per collection.
    pub fn new() -> Self {
        Self::with_history(DEFAULT_HISTORY)
    }

    /// An empty store that keeps the given number of changes per collection.
    pub fn with_history(history: usize) -> Self {
        // The first write gets 2, so that no list ever carries the special versions 0 or "".
        let inner = Inner { version: 1, collections: BTreeMap::new() };
        let (inner, clock) = (Mutex::new(inner), Clock::default());
        Self { inner, history, clock, version: watch::Sender::new(1) }
    }

    /// The same store with another idea of what time it is.
    #[must_use]
    pub fn with_clock(mut self, clock: Clock) -> Self {
        self.clock = clock;
        self
    }

    /// What time it is for everything that the cluster stamps.
    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// The number of the last write.
    pub fn version(&self) -> u64 {
        self.lock().version
    }

    /// Wakes whenever anything at all was written: for loops that look at several collections.
    pub fn any_change(&self) -> watch::Receiver<u64> {
        self.version.subscribe()
    }

    /// The object as it is now.
    pub fn get(&self, collection: Collection, namespace: &str, name: &str) -> Option<Object> {
        let inner = self.lock();
        inner.collections.get(&collection)?.get(namespace, name).cloned()
    }

    /// All objects of a collection, or of one namespace of it, ordered by namespace and name, and
    /// the version of which that is the state.
    pub fn list(&self, collection: Collection, namespace: Option<&str>) -> (Vec<Object>, u64) {
        let inner = self.lock();
        let objects =
            inner.collections.get(&collection).map(|it| it.list(namespace)).unwrap_or_default();
        (objects, inner.version)
    }

    /// The objects of a namespace whose names begin with `prefix`, ordered by name.
    pub fn list_prefixed(
        &self,
        collection: Collection,
        namespace: &str,
        prefix: &str,
    ) -> Vec<Object> {
        let inner = self.lock();
        let objects = inner.collections.get(&collection);
        objects.map(|it| it.list_prefixed(namespace, prefix)).unwrap_or_default()
    }

    /// Stores a new object and answers it as stored.
    ///
    /// The namespace and name are those of its metadata; what identifies it is filled in by
    /// [`prepare_create`] unless that was done before.
    ///
    /// # Errors
    /// [`StoreError::AlreadyExists`].
    pub fn create(&self, collection: Collection, mut object: Value) -> Result<Object, StoreError> {
        let fresh = object["metadata"]["uid"].as_str().is_none_or(str::is_empty);
        if fresh {
            prepare_create(collection.resource(), &mut object, self.now());
        }
        let namespace = text(&object, "namespace").to_owned();
        let name = text(&object, "name").to_owned();
        let mut inner = self.lock();
        let version = inner.version + 1;
        let objects = inner.objects(collection, self.history);
        if let Some(existing) = objects.get(&namespace, &name) {
            let being_deleted = is_being_deleted(existing);
            return Err(StoreError::AlreadyExists { collection, name, being_deleted });
        }
        set_version(&mut object, version);
        let object = Arc::new(object);
        objects.put(&namespace, &name, Arc::clone(&object), version);
        self.publish(&mut inner, version);
        Ok(object)
    }

    /// Changes, keeps or removes an object; answers it as it is afterwards (as it was last, when it
    /// is gone).
    ///
    /// `decide` may be called several times, each time with a newer object, when other writers
    /// interfere; it is not called under the lock and may read the store.
    ///
    /// # Errors
    /// [`StoreError::NotFound`], and whatever `decide` refuses with.
    pub fn update(
        &self,
        collection: Collection,
        namespace: &str,
        name: &str,
        mut decide: impl FnMut(&Object) -> Result<Write, StoreError>,
    ) -> Result<Object, StoreError> {
        loop {
            let Some(current) = self.get(collection, namespace, name) else {
                return Err(StoreError::NotFound { collection, name: name.to_owned() });
            };
            let write = decide(&current)?;
            if let Some(written) = self.commit(collection, &current, write) {
                return Ok(written);
            }
        }
    }

    /// Changes an object in place; answers it as stored.
    ///
    /// # Errors
    /// [`StoreError::NotFound`].
    pub fn edit(
        &self,
        collection: Collection,
        namespace: &str,
        name: &str,
        mut change: impl FnMut(&mut Value),
    ) -> Result<Object, StoreError> {
        self.update(collection, namespace, name, |current| {
            let mut next = Value::clone(current);
            change(&mut next);
            Ok(Write::Put(next))
        })
    }

    /// Takes an object away at once if `allow` agrees; answers it with the version of its removal.
    ///
    /// # Errors
    /// [`StoreError::NotFound`], and whatever `allow` refuses with.
    pub fn remove(
        &self,
        collection: Collection,
        namespace: &str,
        name: &str,
        mut allow: impl FnMut(&Object) -> Result<(), StoreError>,
    ) -> Result<Object, StoreError> {
        self.update(collection, namespace, name, |current| {
            allow(current)?;
            Ok(Write::Remove)
        })
    }

    /// The changes of a collection (or of one namespace of it) after `version`.
    pub fn watch(&self, collection: Collection, namespace: Option<&str>, version: u64) -> Watch {
        let mut inner = self.lock();
        let log = inner.objects(collection, self.history).log();
        Watch::new(log, namespace, version)
    }

    /// [`Store::list`] and a watch that begins exactly after it.
    pub fn list_and_watch(
        &self,
        collection: Collection,
        namespace: Option<&str>,
    ) -> (Vec<Object>, Watch) {
        let (objects, version) = self.list(collection, namespace);
        (objects, self.watch(collection, namespace, version))
    }

    /// The objects as they were at `version`, if the history reaches back that far.
    ///
    /// # Errors
    /// [`Gone`] when it does not.
    pub fn list_at(
        &self,
        collection: Collection,
        namespace: Option<&str>,
        version: u64,
    ) -> Result<Vec<Object>, Gone> {
        let mut inner = self.lock();
        let objects = inner.objects(collection, self.history);
        objects.list_at(namespace, version)
    }

    /// What [`Write::Put`] of `next` over `current` would store, but for the version.
    pub fn preview(&self, collection: Collection, current: &Value, next: Value) -> Value {
        with_identity_of(current, count_generation(collection, current, next))
    }

    /// Tries to apply `write` to what must still be `current`; `None` asks for another try.
    fn commit(&self, collection: Collection, current: &Object, write: Write) -> Option<Object> {
        let (next, remove) = match write {
            Write::Keep => (None, false),
            Write::Put(next) => (Some(count_generation(collection, current, next)), false),
            Write::PutAsIs(next) => (Some(next), false),
            Write::PutAndRemove(next) => (Some(next), true),
            Write::Remove => (None, true),
        };
        let next = next.map(|it| with_identity_of(current, it)).filter(|it| it != &**current);
        let (namespace, name) = (text(current, "namespace"), text(current, "name"));
        let mut inner = self.lock();
        let mut version = inner.version;
        let objects = inner.objects(collection, self.history);
        if !objects.get(namespace, name).is_some_and(|it| Arc::ptr_eq(it, current)) {
            return None;
        }
        let mut written = Arc::clone(current);
        let mut remove = remove;
        if let Some(mut next) = next {
            // The write that takes the last finalizer off a dying object is its last one.
            if !remove && may_go(&next) {
                remove = true;
                written = Arc::new(next);
            } else {
                version += 1;
                set_version(&mut next, version);
                written = Arc::new(next);
                objects.put(namespace, name, Arc::clone(&written), version);
            }
        }
        if remove {
            version += 1;
            let mut last = Value::clone(&written);
            set_version(&mut last, version);
            written = Arc::new(last);
            objects.remove(namespace, name, Arc::clone(&written), version);
        }
        self.publish(&mut inner, version);
        Some(written)
    }

    fn publish(&self, inner: &mut Inner, version: u64) {
        if inner.version != version {
            inner.version = version;
            self.version.send_replace(version);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        // Nothing that runs under the lock leaves a half-done write behind when it panics.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    fn objects(&mut self, collection: Collection, history: usize) -> &mut Objects {
        self.collections.entry(collection).or_insert_with(|| Objects::new(history))
    }
}

/// Whether `metadata.deletionTimestamp` is set.
pub fn is_being_deleted(object: &Value) -> bool {
    !object["metadata"]["deletionTimestamp"].is_null()
}

/// The version in an object's metadata; 0 when it has none.
pub fn version_of(object: &Value) -> u64 {
    text(object, "resourceVersion").parse().unwrap_or(0)
}

/// A text of an object's metadata, empty when absent.
pub fn text<'a>(object: &'a Value, field: &str) -> &'a str {
    object["metadata"][field].as_str().unwrap_or_default()
}

fn set_version(object: &mut Value, version: u64) {
    object["metadata"]["resourceVersion"] = json!(version.to_string());
}

/// A dying object without finalizers goes, except while its grace period runs (pods) or while the
/// namespace controller still holds its own finalizer.
fn may_go(object: &Value) -> bool {
    let metadata = &object["metadata"];
    let items = |list: &Value| list.as_array().is_some_and(|it| !it.is_empty());
    let finalizers = items(&metadata["finalizers"]) || items(&object["spec"]["finalizers"]);
    let grace = metadata["deletionGracePeriodSeconds"].as_i64().unwrap_or(0);
    is_being_deleted(object) && !finalizers && grace == 0
}

/// The next object with everything that a writer may not change taken from the current one.
fn with_identity_of(current: &Value, mut next: Value) -> Value {
    for field in ["name", "namespace", "uid", "creationTimestamp", "resourceVersion"] {
        let metadata = &mut next["metadata"];
        match current["metadata"].get(field) {
            Some(value) => metadata[field] = value.clone(),
            None => {
                if let Some(map) = metadata.as_object_mut() {
                    map.remove(field);
                }
            }
        }
    }
    next
}

fn count_generation(collection: Collection, current: &Value, mut next: Value) -> Value {
    if !collection.resource().counts_generation {
        return next;
    }
    let generation = current["metadata"]["generation"].as_i64().unwrap_or(1);
    let changed = current.get("spec") != next.get("spec");
    next["metadata"]["generation"] = json!(generation + i64::from(changed));
    next
}

#[cfg(test)]
mod tests;
