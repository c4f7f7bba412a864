//! The garbage collector: objects whose owners are gone go too.
//!
//! Source: `pkg/controller/garbagecollector` 1.36. Owners of kinds that the lab does not serve count
//! as existing, so nothing is lost to a reference that cannot be checked.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use serde_json::{Value, json};

use super::runner::{Key, Work};
use crate::api::{Api, DeleteOptions, Propagation};
use crate::resources::{self, Collection, RESOURCES};
use crate::store::{ChangeKind, Object, Watch, is_being_deleted, text};
use crate::values::list;

/// The place of an object of any kind.
type Place = (Collection, Key);

const FOREGROUND: &str = "foregroundDeletion";
const ORPHAN: &str = "orphan";

/// The collector, with its graph of who owns whom.
#[derive(Debug, Default)]
pub struct GarbageCollector {
    watches: BTreeMap<Collection, Watch>,
    /// The uids of all objects there are.
    alive: BTreeMap<String, Place>,
    /// The objects that name a uid as their owner.
    dependents: BTreeMap<String, BTreeSet<Place>>,
    /// The uids that an object names, to forget them when it changes.
    owners: BTreeMap<Place, BTreeSet<String>>,
    due: BTreeSet<Place>,
}

impl Work for GarbageCollector {
    fn step(&mut self, api: &Api, _: Timestamp) -> bool {
        self.follow(api);
        let due = std::mem::take(&mut self.due);
        let any = !due.is_empty();
        for (collection, key) in due {
            if let Some(object) = api.store().get(collection, &key.namespace, &key.name) {
                self.look_at(api, collection, &object);
            }
        }
        any
    }

    fn next_time(&self) -> Option<Timestamp> {
        None
    }
}

impl GarbageCollector {
    /// Brings the graph up to date and notes what must be looked at.
    fn follow(&mut self, api: &Api) {
        for collection in RESOURCES.iter().map(|it| it.collection).collect::<BTreeSet<_>>() {
            let changes = self.watches.get_mut(&collection).and_then(|it| it.ready().ok());
            let Some(changes) = changes else {
                let (objects, watch) = api.store().list_and_watch(collection, None);
                self.forget(collection);
                for object in objects {
                    self.put(collection, &object);
                }
                self.watches.insert(collection, watch);
                continue;
            };
            for change in changes {
                if change.kind == ChangeKind::Deleted {
                    self.remove(collection, &change.object);
                } else {
                    self.put(collection, &change.object);
                }
            }
        }
    }

    /// Drops what is known of a collection, before it is listed again.
    fn forget(&mut self, collection: Collection) {
        self.alive.retain(|_, (it, _)| *it != collection);
        let places: Vec<Place> =
            self.owners.keys().filter(|(it, _)| *it == collection).cloned().collect();
        for place in places {
            self.unlink(&place);
        }
    }

    fn put(&mut self, collection: Collection, object: &Value) {
        let place = (collection, Key::of(object));
        self.alive.insert(text(object, "uid").to_owned(), place.clone());
        self.unlink(&place);
        let owners: BTreeSet<String> = list(object, "/metadata/ownerReferences")
            .iter()
            .filter_map(|it| it["uid"].as_str().map(str::to_owned))
            .collect();
        for owner in &owners {
            self.dependents.entry(owner.clone()).or_default().insert(place.clone());
        }
        if !owners.is_empty() || (is_being_deleted(object) && has_own_finalizer(object)) {
            self.due.insert(place.clone());
        }
        // An owner that waits for its dependents is looked at when one of them changes.
        for owner in &owners {
            self.due.extend(self.alive.get(owner).cloned());
        }
        if !owners.is_empty() {
            self.owners.insert(place, owners);
        }
    }

    fn remove(&mut self, collection: Collection, object: &Value) {
        let place = (collection, Key::of(object));
        let uid = text(object, "uid");
        for owner in self.owners.get(&place).into_iter().flatten() {
            self.due.extend(self.alive.get(owner).cloned());
        }
        self.unlink(&place);
        self.alive.remove(uid);
        self.due.extend(self.dependents.get(uid).into_iter().flatten().cloned());
    }

    fn unlink(&mut self, place: &Place) {
        for owner in self.owners.remove(place).unwrap_or_default() {
            if let Some(dependents) = self.dependents.get_mut(&owner) {
                dependents.remove(place);
                if dependents.is_empty() {
                    self.dependents.remove(&owner);
                }
            }
        }
    }

    fn look_at(&self, api: &Api, collection: Collection, object: &Object) {
        if is_being_deleted(object) {
            if has_finalizer(object, ORPHAN) {
                self.orphan_dependents(api, collection, object);
            } else if has_finalizer(object, FOREGROUND) {
                self.delete_dependents_first(api, collection, object);
            }
            return;
        }
        let owners = list(object, "/metadata/ownerReferences");
        if owners.is_empty() {
            return;
        }
        let (gone, kept): (Vec<&Value>, Vec<&Value>) =
            owners.iter().partition(|it| self.is_gone(it));
        let waited_for = |it: &&&Value| self.waits_for_dependents(api, it);
        let solid = kept.iter().filter(|it| !waited_for(it)).count();
        let waiting = kept.len() - solid;
        if solid > 0 {
            if !gone.is_empty() {
                drop_owners(api, collection, object, |it| self.is_gone(it));
            }
        } else if waiting > 0 && self.dependents.contains_key(text(object, "uid")) {
            delete(api, collection, object, Propagation::Foreground);
        } else {
            delete(api, collection, object, Propagation::Background);
        }
    }

    /// Whether the owner of a reference does not exist.
    fn is_gone(&self, reference: &Value) -> bool {
        let text = |name: &str| reference[name].as_str().unwrap_or_default();
        resources::by_kind(text("apiVersion"), text("kind")).is_some()
            && !self.alive.contains_key(text("uid"))
    }

    /// Whether the owner of a blocking reference is being deleted in the foreground.
    fn waits_for_dependents(&self, api: &Api, reference: &Value) -> bool {
        let uid = reference["uid"].as_str().unwrap_or_default();
        let Some((collection, key)) = self.alive.get(uid) else { return false };
        let owner = api.store().get(*collection, &key.namespace, &key.name);
        reference["blockOwnerDeletion"] == true
            && owner.is_some_and(|it| is_being_deleted(&it) && has_finalizer(&it, FOREGROUND))
    }

    fn dependents_of(&self, api: &Api, owner: &Value) -> Vec<(Collection, Object)> {
        let uid = text(owner, "uid");
        let places = self.dependents.get(uid).into_iter().flatten();
        places
            .filter_map(|(collection, key)| {
                let object = api.store().get(*collection, &key.namespace, &key.name)?;
                Some((*collection, object))
            })
            .filter(|(_, object)| {
                list(object, "/metadata/ownerReferences").iter().any(|it| it["uid"] == uid)
            })
            .collect()
    }

    /// `Orphan`: the dependents lose their reference, then the owner goes.
    fn orphan_dependents(&self, api: &Api, collection: Collection, owner: &Object) {
        let uid = text(owner, "uid");
        for (collection, dependent) in self.dependents_of(api, owner) {
            drop_owners(api, collection, &dependent, |it| it["uid"] == uid);
        }
        remove_finalizer(api, collection, owner, ORPHAN);
    }

    /// `Foreground`: the dependents are deleted, and the owner goes after those that block it.
    fn delete_dependents_first(&self, api: &Api, collection: Collection, owner: &Object) {
        let uid = text(owner, "uid");
        let mut blocked = false;
        for (collection, dependent) in self.dependents_of(api, owner) {
            let references = list(&dependent, "/metadata/ownerReferences");
            blocked |=
                references.iter().any(|it| it["uid"] == uid && it["blockOwnerDeletion"] == true);
            if !is_being_deleted(&dependent) {
                self.look_at(api, collection, &dependent);
            }
        }
        if !blocked {
            remove_finalizer(api, collection, owner, FOREGROUND);
        }
    }
}

fn has_finalizer(object: &Value, finalizer: &str) -> bool {
    list(object, "/metadata/finalizers").iter().any(|it| it == finalizer)
}

fn has_own_finalizer(object: &Value) -> bool {
    has_finalizer(object, FOREGROUND) || has_finalizer(object, ORPHAN)
}

fn delete(api: &Api, collection: Collection, object: &Object, propagation: Propagation) {
    let options = DeleteOptions {
        uid: Some(text(object, "uid").to_owned()),
        propagation: Some(propagation),
        ..DeleteOptions::default()
    };
    let (namespace, name) = (text(object, "namespace"), text(object, "name"));
    if let Err(status) = api.delete(collection.resource(), namespace, name, &options) {
        tracing::debug!(%collection, name, error = %status.message, "garbage was not deleted");
    }
}

fn drop_owners(
    api: &Api,
    collection: Collection,
    object: &Object,
    dropped: impl Fn(&Value) -> bool,
) {
    change_list(api, collection, object, "ownerReferences", dropped);
}

fn remove_finalizer(api: &Api, collection: Collection, object: &Object, finalizer: &str) {
    change_list(api, collection, object, "finalizers", |it| it == finalizer);
}

/// Removes items from a list in the metadata, and the list with its last item.
fn change_list(
    api: &Api,
    collection: Collection,
    object: &Object,
    name: &str,
    dropped: impl Fn(&Value) -> bool,
) {
    let key = Key::of(object);
    let changed = api.store().edit(collection, &key.namespace, &key.name, |object| {
        let metadata = &mut object["metadata"];
        let kept: Vec<Value> =
            list(metadata, &format!("/{name}")).iter().filter(|it| !dropped(it)).cloned().collect();
        if kept.is_empty() {
            if let Some(metadata) = metadata.as_object_mut() {
                metadata.remove(name);
            }
        } else {
            metadata[name] = json!(kept);
        }
    });
    if let Err(error) = changed {
        tracing::debug!(%collection, %error, "an object went while it was changed");
    }
}

#[cfg(test)]
mod tests;
