//! A host with a few plugins whose answers a test sets, and the queue driven by it.

mod flight;
mod heap;
mod hints;
mod model;
mod nominated;
mod waiting;

use std::{cell::RefCell, collections::BTreeSet, sync::Arc, time::Duration};

use loadmaster_framework::api::{ObjectKey, Pod};
use loadmaster_framework::{
    ActionType, ClusterEvent, ClusterEventWithHint, EventResource, Hint, Listers, Object, Outcome,
    PluginError, PodInfo, QueuedPodInfo, QueueingHint, Status,
};
use serde_json::{Value, json};

use super::{
    AlreadyQueued, Change, QueueHost, QueueOptions, QueuePart, QueueingHintMap, QueueingHintMaps,
    SchedulingQueue,
};

const NODE_ADD: ClusterEvent = ClusterEvent::new(EventResource::Node, ActionType::ADD);
const NODE_LABEL: ClusterEvent =
    ClusterEvent::new(EventResource::Node, ActionType::UPDATE_NODE_LABEL);
const GATES_ELIMINATED: ClusterEvent =
    ClusterEvent::new(EventResource::Pod, ActionType::UPDATE_POD_SCHEDULING_GATES_ELIMINATED);

fn secs(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn key(name: &str) -> ObjectKey {
    ObjectKey::new("default", name)
}

/// A pod whose uid is `uid-NAME`; `more` is laid over its manifest.
fn pod_with(name: &str, more: &Value) -> Arc<PodInfo> {
    let mut pod = json!({
        "metadata": {"name": name, "namespace": "default", "uid": format!("uid-{name}")},
        "spec": {"containers": [{"name": "c"}]},
    });
    for (field, value) in more.as_object().unwrap() {
        for (inner, value) in value.as_object().unwrap() {
            pod[field][inner] = value.clone();
        }
    }
    let pod: Pod = serde_json::from_value(pod).unwrap();
    Arc::new(PodInfo::new(Arc::new(pod)))
}

fn pod(name: &str) -> Arc<PodInfo> {
    pod_with(name, &json!({}))
}

fn gated(name: &str) -> Arc<PodInfo> {
    pod_with(name, &json!({"spec": {"schedulingGates": [{"name": "example.com/quota"}]}}))
}

fn with_priority(name: &str, priority: i32) -> Arc<PodInfo> {
    pod_with(name, &json!({"spec": {"priority": priority}}))
}

/// Orders as `PrioritySort`, gates as `SchedulingGates`; `Door` gates the pods that it is told to;
/// `Fit` looks at nodes that appear and queues, `Label` at their labels and skips, `Broken` at
/// their labels and fails, `Deaf` at nothing.
struct Host {
    maps: QueueingHintMaps,
    listers: Listers,
    shut_out: RefCell<BTreeSet<String>>,
    asked: RefCell<Vec<String>>,
}

impl Host {
    fn new() -> Self {
        let hinted = |event: ClusterEvent| ClusterEventWithHint { event, has_hint: true };
        let mut map = QueueingHintMap::default();
        map.register("SchedulingGates", vec![hinted(GATES_ELIMINATED)]);
        map.register("Door", vec![hinted(NODE_ADD)]);
        map.register("Fit", vec![hinted(NODE_ADD)]);
        map.register("Room", vec![hinted(crate::event::ASSIGNED_POD_DELETE)]);
        map.register("Label", vec![hinted(NODE_LABEL)]);
        map.register("Broken", vec![hinted(NODE_LABEL)]);
        Self {
            maps: [("default-scheduler".into(), map)].into_iter().collect(),
            listers: Listers::default(),
            shut_out: RefCell::default(),
            asked: RefCell::default(),
        }
    }

    fn shut_out(&self, name: &str) {
        self.shut_out.borrow_mut().insert(name.to_owned());
    }

    fn let_in(&self, name: &str) {
        self.shut_out.borrow_mut().remove(name);
    }
}

impl QueueHost for Host {
    fn less(&self, a: &QueuedPodInfo, b: &QueuedPodInfo) -> bool {
        let (x, y) = (a.pod.priority(), b.pod.priority());
        x > y || x == y && a.timestamp < b.timestamp
    }

    fn pre_enqueue(&self, info: &QueuedPodInfo, _: Duration) -> Outcome {
        if !info.pod.spec.scheduling_gates.is_empty() {
            return Err(Status::unresolvable("waiting").with_plugin("SchedulingGates"));
        }
        if self.shut_out.borrow().contains(&**info.pod.name()) {
            return Err(Status::unresolvable("shut out").with_plugin("Door"));
        }
        Ok(())
    }

    fn hints(&self) -> &QueueingHintMaps {
        &self.maps
    }

    fn queueing_hint(
        &self,
        plugin: &'static str,
        hint: Hint<'_>,
    ) -> Result<QueueingHint, PluginError> {
        self.asked.borrow_mut().push(format!(
            "{plugin} {} {}",
            hint.pod.name(),
            hint.event.label()
        ));
        match plugin {
            "Label" => Ok(QueueingHint::Skip),
            "Broken" => Err(PluginError::Other("broken".to_owned())),
            _ => Ok(QueueingHint::Queue),
        }
    }

    fn listers(&self) -> &Listers {
        &self.listers
    }
}

/// The queue with its host.
struct Bench {
    host: Host,
    queue: SchedulingQueue,
}

impl Bench {
    fn new() -> Self {
        Self { host: Host::new(), queue: SchedulingQueue::new(QueueOptions::default()) }
    }

    fn add(&mut self, now: Duration, pod: Arc<PodInfo>) {
        self.queue.add(&self.host, now, pod);
    }

    fn pop(&mut self) -> Option<QueuedPodInfo> {
        self.queue.pop(&self.host)
    }

    fn happens(&mut self, now: Duration, event: ClusterEvent) {
        let node = Object::Node(Arc::default());
        let change = Change { event, old: None, new: Some(&node) };
        self.queue.move_all_to_active_or_backoff(&self.host, now, change);
    }

    fn update(&mut self, now: Duration, old: &Arc<PodInfo>, new: &Arc<PodInfo>) {
        self.queue.update(&self.host, now, old.pod(), Arc::clone(new));
    }

    fn wait(&mut self, now: Duration) {
        self.queue.handle_timeout(&self.host, now);
    }

    /// `info` comes back, rejected by `plugins`; none is an error.
    fn reject(
        &mut self,
        now: Duration,
        mut info: QueuedPodInfo,
        plugins: &[&'static str],
    ) -> Result<QueuePart, AlreadyQueued> {
        info.unschedulable_plugins = plugins.iter().copied().collect();
        info.pending_plugins.clear();
        self.queue.add_unschedulable_if_not_present(&self.host, now, info)
    }

    /// Adds a pod, tries it, and rejects it, all at `now`.
    fn rejected(&mut self, now: Duration, pod: Arc<PodInfo>, plugins: &[&'static str]) {
        self.add(now, pod);
        let info = self.pop().unwrap();
        self.reject(now, info, plugins).unwrap();
    }

    /// Pops until nothing is left. Names in order; all are done.
    fn drain(&mut self) -> Vec<String> {
        std::iter::from_fn(|| self.pop())
            .map(|it| it.pod.name().to_string())
            .collect::<Vec<_>>()
            .into_iter()
            .inspect(|name| self.queue.done(&format!("uid-{name}")))
            .collect()
    }

    fn part(&self, name: &str) -> Option<QueuePart> {
        self.queue.get(&key(name)).map(|(part, _)| part)
    }

    /// Active, backing off, unschedulable, gated.
    fn counts(&self) -> [usize; 4] {
        let it = self.queue.pending_counts();
        [it.active, it.backoff, it.unschedulable, it.gated]
    }
}
