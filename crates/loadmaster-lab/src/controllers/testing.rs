//! A cluster in memory for the controllers' tests: no HTTP, no clock.

use std::sync::{Arc, Mutex};

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::Manager;
use crate::api::{Api, DeleteOptions};
use crate::kubelet::{HollowNodes, HollowPods, NodeTemplate, node};
use crate::resources::Collection;
use crate::store::{Clock, Object, Store, text};

/// A cluster whose time stands still until a test moves it.
pub(crate) struct World {
    pub(crate) api: Api,
    manager: Manager,
    now: Arc<Mutex<Timestamp>>,
}

impl World {
    /// All controllers and hollow nodes, with namespace `ns` and nodes `n1`, `n2`, …
    pub(crate) fn new(nodes: usize) -> Self {
        let now = Arc::new(Mutex::new(Timestamp::now()));
        let time = Arc::clone(&now);
        let clock = Clock::new(move || *time.lock().unwrap());
        let api = Api::new(Arc::new(Store::new().with_clock(clock)));
        let manager = Manager::with_defaults(api.clone())
            .with(HollowNodes::default())
            .with(HollowPods::default());
        let mut world = Self { api, manager, now };
        for name in ["default", "kube-node-lease", "ns"] {
            world.make(Collection::NAMESPACES, json!({"metadata": {"name": name}}));
        }
        for index in 1..=nodes {
            world.make(
                Collection::NODES,
                node(&format!("n{index}"), None, &NodeTemplate::default()),
            );
        }
        world.settle();
        world
    }

    /// Creates an object, in namespace `ns` where it has one.
    pub(crate) fn make(&self, collection: Collection, object: Value) -> Object {
        let resource = collection.resource();
        let namespace = if resource.namespaced { "ns" } else { "" };
        self.api.create(resource, namespace, object, false).unwrap()
    }

    /// A deployment `web` of pods labelled `app=web`.
    pub(crate) fn deployment(&self, replicas: usize, change: impl FnOnce(&mut Value)) {
        let mut deployment = json!({"metadata": {"name": "web"}, "spec": {"replicas": replicas,
            "selector": {"matchLabels": {"app": "web"}},
            "template": {"metadata": {"labels": {"app": "web"}},
                "spec": {"containers": [{"name": "c", "image": "i:1"}]}}}});
        change(&mut deployment);
        self.make(Collection::DEPLOYMENTS, deployment);
    }

    /// A pod bound to a node from the start.
    pub(crate) fn pod_on(&self, name: &str, node: &str, change: impl FnOnce(&mut Value)) {
        let mut pod = json!({"metadata": {"name": name},
            "spec": {"nodeName": node, "containers": [{"name": "c", "image": "i:1"}]}});
        change(&mut pod);
        self.make(Collection::PODS, pod);
    }

    pub(crate) fn get(&self, collection: Collection, name: &str) -> Option<Object> {
        let namespace = if collection.resource().namespaced { "ns" } else { "" };
        self.api.store().get(collection, namespace, name)
    }

    pub(crate) fn list(&self, collection: Collection) -> Vec<Object> {
        self.api.store().list(collection, None).0
    }

    /// The names of all pods.
    pub(crate) fn pods(&self) -> Vec<String> {
        self.list(Collection::PODS).iter().map(|it| text(it, "name").to_owned()).collect()
    }

    pub(crate) fn edit(&self, collection: Collection, name: &str, change: impl FnMut(&mut Value)) {
        let namespace = if collection.resource().namespaced { "ns" } else { "" };
        self.api.store().edit(collection, namespace, name, change).unwrap();
    }

    pub(crate) fn delete(&self, collection: Collection, name: &str, options: &DeleteOptions) {
        let resource = collection.resource();
        let namespace = if resource.namespaced { "ns" } else { "" };
        self.api.delete(resource, namespace, name, options).unwrap();
    }

    /// Binds every unbound pod to `n1`, as a scheduler without an opinion would, and goes on until
    /// nothing is left to do.
    pub(crate) fn run(&mut self) {
        loop {
            self.settle();
            let unbound: Vec<Object> = self
                .list(Collection::PODS)
                .into_iter()
                .filter(|it| it["spec"]["nodeName"].is_null())
                .collect();
            if unbound.is_empty() {
                return;
            }
            for pod in unbound {
                self.edit(Collection::PODS, text(&pod, "name"), |pod| {
                    pod["spec"]["nodeName"] = json!("n1");
                });
            }
        }
    }

    /// Lets the controllers work until they have nothing to do; returns what they wait for.
    pub(crate) fn settle(&mut self) -> Option<Timestamp> {
        self.manager.settle(|| self.api.store().now())
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.api.store().now()
    }

    /// Moves time, in steps that let every kubelet renew its lease.
    pub(crate) fn pass(&mut self, seconds: i64) {
        let end = self.api.store().now() + SignedDuration::from_secs(seconds);
        while let Some(next) = self.settle().filter(|next| *next <= end) {
            *self.now.lock().unwrap() = next;
        }
        *self.now.lock().unwrap() = end;
        self.settle();
    }

    /// The messages of all events with this reason.
    pub(crate) fn told(&self, reason: &str) -> Vec<String> {
        let mut events = self.list(Collection::EVENTS);
        events.sort_by_key(|it| crate::store::version_of(it));
        let told = events.iter().filter(|it| it["reason"] == reason);
        told.map(|it| it["message"].as_str().unwrap().to_owned()).collect()
    }
}
