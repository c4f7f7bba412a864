//! From watches to calls: which objects a controller must look at, and when again.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;
use std::panic::{AssertUnwindSafe, catch_unwind};

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use crate::api::Api;
use crate::resources::Collection;
use crate::status::Status;
use crate::store::{Watch, text};

/// What a controller looks at: an object by its place.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    /// The namespace, empty for cluster-scoped objects.
    pub namespace: String,
    /// The name.
    pub name: String,
}

impl Key {
    /// The place of an object.
    pub fn of(object: &Value) -> Self {
        Self { namespace: text(object, "namespace").into(), name: text(object, "name").into() }
    }

    /// The place with this namespace and name.
    pub fn new(namespace: &str, name: &str) -> Self {
        Self { namespace: namespace.to_owned(), name: name.to_owned() }
    }
}

/// One loop over one kind of object.
pub trait Controller: Debug + Send + 'static {
    /// The collections whose changes matter to it.
    fn watches(&self) -> Vec<Collection>;

    /// The objects to look at after `object` of `collection` has come, changed or gone.
    fn keys(&self, api: &Api, collection: Collection, object: &Value) -> Vec<Key>;

    /// Brings the cluster closer to what the object asks for, and says when to look again even if
    /// nothing changes.
    ///
    /// # Errors
    /// A refused write; the object is looked at again after a pause.
    fn reconcile(
        &mut self,
        api: &Api,
        key: &Key,
        now: Timestamp,
    ) -> Result<Option<Timestamp>, Status>;
}

/// Something that makes progress when the store has changed or a time has come.
pub trait Work: Debug + Send + 'static {
    /// Does what is to be done now; returns whether there was anything.
    fn step(&mut self, api: &Api, now: Timestamp) -> bool;

    /// When there is something to do even if the store does not change.
    fn next_time(&self) -> Option<Timestamp>;
}

/// Retries after a refusal start with this pause and double up to [`RETRY_MAX`].
const RETRY_MIN: SignedDuration = SignedDuration::from_millis(100);
/// The longest pause between retries.
const RETRY_MAX: SignedDuration = SignedDuration::from_secs(30);

/// When which object is to be looked at again.
#[derive(Debug, Default)]
struct Appointments {
    by_key: BTreeMap<Key, Timestamp>,
    by_time: BTreeSet<(Timestamp, Key)>,
}

impl Appointments {
    fn make(&mut self, key: Key, at: Timestamp) {
        self.cancel(&key);
        self.by_key.insert(key.clone(), at);
        self.by_time.insert((at, key));
    }

    fn cancel(&mut self, key: &Key) {
        if let Some(at) = self.by_key.remove(key) {
            self.by_time.remove(&(at, key.clone()));
        }
    }

    fn first(&self) -> Option<Timestamp> {
        self.by_time.first().map(|(at, _)| *at)
    }

    /// Takes out the keys whose time has come.
    fn ripe(&mut self, now: Timestamp) -> Vec<Key> {
        let mut ripe = Vec::new();
        while self.first().is_some_and(|at| at <= now) {
            let Some((_, key)) = self.by_time.pop_first() else { break };
            self.by_key.remove(&key);
            ripe.push(key);
        }
        ripe
    }
}

/// Runs one [`Controller`].
#[derive(Debug)]
pub struct Runner<C> {
    controller: C,
    watches: Vec<(Collection, Option<Watch>)>,
    due: BTreeSet<Key>,
    later: Appointments,
    pauses: BTreeMap<Key, SignedDuration>,
}

impl<C: Controller> Runner<C> {
    /// A runner that begins by looking at everything there is.
    pub fn new(controller: C) -> Self {
        let watches = controller.watches().into_iter().map(|it| (it, None)).collect();
        Self {
            controller,
            watches,
            due: BTreeSet::new(),
            later: Appointments::default(),
            pauses: BTreeMap::new(),
        }
    }

    /// Collects the keys that changes name. A watch that is new or fell behind starts from a list.
    fn collect(&mut self, api: &Api) {
        for (collection, watch) in &mut self.watches {
            let changes = watch.as_mut().and_then(|watch| watch.ready().ok());
            let Some(changes) = changes else {
                let (objects, fresh) = api.store().list_and_watch(*collection, None);
                for object in objects {
                    self.due.extend(self.controller.keys(api, *collection, &object));
                }
                *watch = Some(fresh);
                continue;
            };
            for change in changes {
                self.due.extend(self.controller.keys(api, *collection, &change.object));
                if let Some(previous) = change.previous {
                    self.due.extend(self.controller.keys(api, *collection, &previous));
                }
            }
        }
    }

    fn look_at(&mut self, api: &Api, key: Key, now: Timestamp) {
        self.later.cancel(&key);
        match self.guarded(api, &key, now) {
            Ok(next) => {
                self.pauses.remove(&key);
                if let Some(next) = next {
                    self.later.make(key, next);
                }
            }
            Err(status) => {
                tracing::debug!(controller = ?self.controller, ?key, error = %status.message,
                    "a write was refused, trying again later");
                let pause = self.pauses.entry(key.clone()).or_insert(RETRY_MIN);
                self.later.make(key, now + *pause);
                *pause = (*pause * 2).min(RETRY_MAX);
            }
        }
    }
}

impl<C: Controller> Runner<C> {
    /// One call of the controller. A panic concerns that one object: it is reported and tried
    /// again later, and the cluster goes on.
    fn guarded(
        &mut self,
        api: &Api,
        key: &Key,
        now: Timestamp,
    ) -> Result<Option<Timestamp>, Status> {
        let call = AssertUnwindSafe(|| self.controller.reconcile(api, key, now));
        catch_unwind(call).unwrap_or_else(|_| {
            tracing::error!(controller = ?self.controller, ?key, "a controller panicked");
            Err(Status::internal("the controller panicked"))
        })
    }
}

impl<C: Controller> Work for Runner<C> {
    fn step(&mut self, api: &Api, now: Timestamp) -> bool {
        self.collect(api);
        self.due.extend(self.later.ripe(now));
        let due = std::mem::take(&mut self.due);
        let any = !due.is_empty();
        for key in due {
            self.look_at(api, key, now);
        }
        any
    }

    fn next_time(&self) -> Option<Timestamp> {
        self.later.first()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::controllers::testing::World;

    /// Marks every config map but the one that it cannot bear.
    #[derive(Debug)]
    struct Touchy;

    impl Controller for Touchy {
        fn watches(&self) -> Vec<Collection> {
            vec![Collection::CONFIG_MAPS]
        }

        fn keys(&self, _: &Api, _: Collection, object: &Value) -> Vec<Key> {
            vec![Key::of(object)]
        }

        fn reconcile(
            &mut self,
            api: &Api,
            key: &Key,
            _: Timestamp,
        ) -> Result<Option<Timestamp>, Status> {
            assert_ne!(key.name, "bad", "on purpose");
            let marked =
                api.store().edit(Collection::CONFIG_MAPS, &key.namespace, &key.name, |it| {
                    it["data"] = json!({"seen": "yes"});
                });
            marked.map(|_| None).map_err(|_| Status::internal("gone"))
        }
    }

    #[test]
    fn a_panic_concerns_one_object_and_is_tried_again_later() {
        let world = World::new(0);
        for name in ["bad", "good"] {
            world.make(Collection::CONFIG_MAPS, json!({"metadata": {"name": name}}));
        }
        let mut runner = Runner::new(Touchy);
        let now = world.now();
        while runner.step(&world.api, now) {}
        let seen = |name| world.get(Collection::CONFIG_MAPS, name).unwrap()["data"]["seen"].clone();
        assert_eq!((seen("good"), seen("bad")), (json!("yes"), json!(null)));
        assert_eq!(runner.next_time(), Some(now + RETRY_MIN));
    }
}
