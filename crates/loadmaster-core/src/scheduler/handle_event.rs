//! What a change of the cluster means: to what is known, and to who waits.

use std::{sync::Arc, time::Duration};

use loadmaster_framework::{ActionType, ClusterEvent, EventResource, Object, PodInfo, api::Text};

use super::{ClusterChange, Scheduler};
use crate::{
    event::{
        self, ASSIGNED_POD_ADD, ASSIGNED_POD_DELETE, UNSCHEDULED_POD_ADD, UNSCHEDULED_POD_DELETE,
        UNSCHEDULED_POD_UPDATE,
    },
    meter::Observation,
    queue::Change,
};

impl Scheduler {
    /// Tells the scheduler of a change of the world.
    ///
    /// Objects are known by uid, so that a successor under the same name is another object, and a
    /// deletion that was missed is made up for. What is told twice changes nothing the second time.
    pub fn handle_event(&mut self, now: Duration, change: ClusterChange) {
        let began = self.measured();
        self.taking_in = began.map(|_| Vec::new());
        self.take_in(now, change);
        for event in self.taking_in.take().unwrap_or_default() {
            self.observe_since(began, |took| Observation::Event { event, took });
        }
    }

    fn take_in(&mut self, now: Duration, change: ClusterChange) {
        match change {
            ClusterChange::Applied(Object::Pod(pod)) if pod.is_finished() => {
                self.pod_gone(now, pod.uid());
            }
            ClusterChange::Applied(Object::Pod(pod)) => {
                let old = self.pods.by_key(&pod.key()).filter(|it| it.uid() != pod.uid());
                if let Some(uid) = old.map(|it| it.uid().clone()) {
                    self.pod_gone(now, &uid);
                }
                self.pod_applied(now, Arc::new(PodInfo::new(pod)));
            }
            ClusterChange::Deleted(Object::Pod(pod)) => self.pod_gone(now, pod.uid()),
            ClusterChange::Applied(Object::Node(node)) => {
                let old = self.cache.upsert_node(Arc::clone(&node)).map(Object::Node);
                self.wake(now, old.as_ref(), Some(&Object::Node(node)));
            }
            ClusterChange::Deleted(Object::Node(node)) => self.node_gone(now, node.name()),
            ClusterChange::Applied(object) => {
                let old = self.cache.listers_mut().upsert(&object);
                self.wake(now, old.as_ref(), Some(&object));
                self.tell_bindings(now, &object);
            }
            ClusterChange::Deleted(object) => {
                if let Some(old) = self.cache.listers_mut().remove(&object) {
                    self.wake(now, Some(&old), None);
                    self.tell_bindings(now, &old);
                }
            }
            ClusterChange::Facts { feed, facts } => self.facts(now, &feed, facts),
            ClusterChange::FactsConfirmed { feed, at } => self.facts_confirmed(now, &feed, at),
        }
        self.settle_waits(now);
    }

    fn pod_applied(&mut self, now: Duration, pod: Arc<PodInfo>) {
        let old = self.pods.insert(Arc::clone(&pod));
        let was_assigned = old.as_ref().is_some_and(|it| it.node_name().is_some());
        match (was_assigned, pod.node_name().is_some()) {
            (true, true) => {
                self.cache.upsert_pod(Arc::clone(&pod));
                let old = old.map(|it| Object::Pod(Arc::clone(it.pod())));
                self.wake(now, old.as_ref(), Some(&Object::Pod(Arc::clone(pod.pod()))));
            }
            (false, true) => {
                self.cache.upsert_pod(Arc::clone(&pod));
                if old.is_some() {
                    let (queue, host) = self.queue_and_host();
                    queue.delete(&host, &pod);
                }
                let new = Object::Pod(Arc::clone(pod.pod()));
                self.wake_for(now, Change { event: ASSIGNED_POD_ADD, old: None, new: Some(&new) });
            }
            // A binding is for ever; where a server says otherwise, the pod waits again.
            (true, false) => {
                self.cache.remove_pod(pod.uid());
                self.waiting_pod_applied(now, None, pod);
            }
            (false, false) => self.waiting_pod_applied(now, old, pod),
        }
    }

    fn waiting_pod_applied(&mut self, now: Duration, old: Option<Arc<PodInfo>>, pod: Arc<PodInfo>) {
        if self.cache.is_assumed(pod.uid()) {
            let was_terminating = old.is_some_and(|it| it.is_terminating());
            if pod.is_terminating() && !was_terminating {
                self.assumed_pod_gone(now, pod.uid());
            }
            return;
        }
        if self.profiles.get(pod.scheduler_name()).is_none() {
            return;
        }
        let event = if old.is_some() { UNSCHEDULED_POD_UPDATE } else { UNSCHEDULED_POD_ADD };
        self.amounts_to(event);
        let Some(old) = old else {
            let (queue, host) = self.queue_and_host();
            return queue.add(&host, now, pod);
        };
        if !old.metadata.resource_version.is_empty()
            && old.metadata.resource_version == pod.metadata.resource_version
        {
            return;
        }
        let promised = &old.status.nominated_node_name;
        let left = !promised.is_empty() && *promised != pod.status.nominated_node_name;
        let (queue, host) = self.queue_and_host();
        queue.update(&host, now, old.pod(), pod);
        if left {
            queue.nominated_pod_left(&host, now, old.pod());
        }
    }

    /// A pod is gone, or has finished, which is the same here.
    fn pod_gone(&mut self, now: Duration, uid: &Text) {
        let Some(old) = self.pods.remove(uid) else { return };
        self.forget_gone(now, uid, &old);
        self.last_victim_gone(now, uid);
    }

    fn forget_gone(&mut self, now: Duration, uid: &Text, old: &PodInfo) {
        if old.node_name().is_some() {
            self.cache.remove_pod(uid);
            let was = Object::Pod(Arc::clone(old.pod()));
            self.wake_for(now, Change { event: ASSIGNED_POD_DELETE, old: Some(&was), new: None });
            return;
        }
        self.amounts_to(UNSCHEDULED_POD_DELETE);
        let (queue, host) = self.queue_and_host();
        queue.delete(&host, old);
        if self.cache.is_assumed(uid) {
            self.assumed_pod_gone(now, uid);
        } else if !old.status.nominated_node_name.is_empty() {
            let (queue, host) = self.queue_and_host();
            queue.nominated_pod_left(&host, now, old.pod());
        }
    }

    /// A pod that is assumed to be on a node is going: where it waits at Permit the wait ends, else
    /// its place is given back at once, and a binding that is under way fails by itself.
    fn assumed_pod_gone(&mut self, now: Duration, uid: &Text) {
        let Some(assumed) = self.cache.get_pod(uid).map(|it| Arc::clone(&it.info)) else { return };
        if !self.waiting.reject(uid, "", "removed") {
            self.cache.forget_pod(uid);
        }
        let was = Object::Pod(Arc::clone(assumed.pod()));
        self.wake_for(now, Change { event: ASSIGNED_POD_DELETE, old: Some(&was), new: None });
    }

    fn node_gone(&mut self, now: Duration, name: &Text) {
        let Some(node) = self.cache.remove_node(name) else { return };
        let event = ClusterEvent::new(EventResource::Node, ActionType::DELETE);
        let was = Object::Node(node);
        self.wake_for(now, Change { event, old: Some(&was), new: None });
        for pod in self.queue.clear_nominations(name) {
            self.patch_status(&pod, None, Some(Text::from("")));
        }
    }

    /// Wakes the pods that the change of an object may help.
    fn wake(&mut self, now: Duration, old: Option<&Object>, new: Option<&Object>) {
        for event in event::events_of(old, new) {
            self.wake_for(now, Change { event, old, new });
        }
    }

    /// Notes, where that is measured, what the change amounts to that is being taken in.
    fn amounts_to(&mut self, event: ClusterEvent) {
        if let Some(events) = &mut self.taking_in {
            events.push(event);
        }
    }

    pub(super) fn wake_for(&mut self, now: Duration, change: Change<'_>) {
        self.amounts_to(change.event);
        let (queue, host) = self.queue_and_host();
        queue.move_all_to_active_or_backoff(&host, now, change);
    }
}
