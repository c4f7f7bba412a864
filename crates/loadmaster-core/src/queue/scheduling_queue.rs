//! The queue: pods come, are tried, come back, and go.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use loadmaster_framework::api::{ObjectKey, Pod, Text};
use loadmaster_framework::{ClusterEvent, Nominating, Object, PodInfo, QueuedPodInfo};

use super::{
    Change, QueueHost, QueuePart, backoff::BackoffQueue, heap::Heap, in_flight::InFlight,
    moves::Strategy, nominator::Nominator, reasons::Reasons, unschedulable::UnschedulablePods,
};
use crate::event;

/// How long pods wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueOptions {
    /// Backoff after the first try in vain; it doubles with each one. From
    /// `podInitialBackoffSeconds`.
    pub pod_initial_backoff: Duration,
    /// Backoff grows no further. From `podMaxBackoffSeconds`; zero means no backoff at all.
    pub pod_max_backoff: Duration,
    /// Pods that wait for a change for longer are tried anyway.
    pub pod_max_in_unschedulable_pods: Duration,
}

impl Default for QueueOptions {
    /// Upstream's: 1 s, 10 s, 5 min.
    fn default() -> Self {
        Self {
            pod_initial_backoff: Duration::from_secs(1),
            pod_max_backoff: Duration::from_secs(10),
            pod_max_in_unschedulable_pods: Duration::from_mins(5),
        }
    }
}

/// A pod came back that waits in the queue already; what the queue has stays.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("pod {key} is in the {} queue already", .part.as_str())]
pub struct AlreadyQueued {
    /// The pod.
    pub key: ObjectKey,
    /// Where it waits.
    pub part: QueuePart,
}

/// The pods that wait to be scheduled. See the [module](super) for its parts.
///
/// `host` is what the queue asks of the profiles; `now` is the time on the scheduler's clock, which
/// never runs backwards. Gates that are on by default in 1.36 are on: queueing hints, and popping
/// from the backoff queue.
#[derive(Clone, Debug)]
pub struct SchedulingQueue {
    pub(super) options: QueueOptions,
    pub(super) active: Heap,
    pub(super) backoff: BackoffQueue,
    pub(super) unschedulable: UnschedulablePods,
    pub(super) in_flight: InFlight,
    pub(super) nominator: Nominator,
    pub(super) incoming: BTreeMap<(QueuePart, ClusterEvent), u64>,
    pub(super) reasons: Reasons,
}

impl SchedulingQueue {
    /// A queue without pods.
    pub fn new(options: QueueOptions) -> Self {
        let QueueOptions { pod_initial_backoff, pod_max_backoff, .. } = options;
        Self {
            options,
            active: Heap::default(),
            backoff: BackoffQueue::new(pod_initial_backoff, pod_max_backoff),
            unschedulable: UnschedulablePods::default(),
            in_flight: InFlight::default(),
            nominator: Nominator::default(),
            incoming: BTreeMap::new(),
            reasons: Reasons::default(),
        }
    }

    /// A pod that is to be scheduled appeared. It becomes active, or is gated. One that the queue
    /// knows already is [updated](Self::update).
    pub fn add(&mut self, host: &dyn QueueHost, now: Duration, pod: Arc<PodInfo>) {
        let known = self.get(&pod.key()).map(|(_, it)| Arc::clone(it.pod.pod()));
        let known = known.or_else(|| {
            let mut in_flight = self.in_flight.iter();
            in_flight.find(|it| it.uid() == pod.uid()).map(|it| Arc::clone(it.pod()))
        });
        match known {
            Some(old) => self.update(host, now, &old, pod),
            None => self.enqueue(host, now, pod, event::UNSCHEDULED_POD_ADD),
        }
    }

    /// A pod that is to be scheduled changed. Where it waits for a change, its own may be the one;
    /// where it is in flight, the change is kept until it comes back. One that the queue does not
    /// know is added.
    pub fn update(
        &mut self,
        host: &dyn QueueHost,
        now: Duration,
        old: &Arc<Pod>,
        new: Arc<PodInfo>,
    ) {
        if old.uid() != new.uid() {
            // A successor of the same name, between which the deletion was missed.
            self.delete(host, old);
            return self.enqueue(host, now, new, event::UNSCHEDULED_POD_ADD);
        }
        let events = event::pod_update_events(old, new.pod());
        if self.in_flight.contains(new.uid()) {
            let (old, new) = (Object::Pod(Arc::clone(old)), Object::Pod(Arc::clone(new.pod())));
            for event in events {
                self.in_flight.record(Change { event, old: Some(&old), new: Some(&new) });
            }
            return;
        }
        let key = new.key();
        let less = |a: &QueuedPodInfo, b: &QueuedPodInfo| host.less(a, b);
        let replace = |info: &mut QueuedPodInfo| info.pod = Arc::clone(&new);
        if self.active.update(&key, replace, &less) || self.backoff.update(&key, replace, &less) {
            self.nominator.update(&old.status.nominated_node_name, new);
        } else if let Some((mut info, sweep_after)) = self.unschedulable.remove(&key) {
            info.pod = Arc::clone(&new);
            self.nominator.update(&old.status.nominated_node_name, new);
            self.requeue_updated(host, now, (info, sweep_after), old, &events);
        } else {
            self.enqueue(host, now, new, event::UNSCHEDULED_POD_UPDATE);
        }
    }

    /// A pod is not to be scheduled any more: it is gone, or was bound. Nothing is promised to it
    /// any more. In flight it stays until it is [`done`](Self::done).
    pub fn delete(&mut self, host: &dyn QueueHost, pod: &Pod) {
        self.nominator.remove(pod.uid());
        let key = pod.key();
        if self.get(&key).is_some_and(|(_, known)| known.pod.uid() == pod.uid()) {
            self.take(host, &key);
        }
    }

    /// Takes out the pod to be tried next: the first active one, or, where none is, the one whose
    /// backoff ends first. It is in flight from then on, until it is [`done`](Self::done) or
    /// [comes back](Self::add_unschedulable_if_not_present).
    ///
    /// Pods that are being deleted come out too; they are `done` at once (k/k PR#126962).
    pub fn pop(&mut self, host: &dyn QueueHost) -> Option<QueuedPodInfo> {
        let less = |a: &QueuedPodInfo, b: &QueuedPodInfo| host.less(a, b);
        loop {
            let mut info = if let Some(info) = self.active.pop(&less) {
                info
            } else {
                let info = self.backoff.pop(&less)?;
                self.count(QueuePart::Active, event::POP_FROM_BACKOFF_Q);
                info
            };
            info.attempts += 1;
            self.reasons.remove(&info);
            if self.in_flight.start(Arc::clone(&info.pod)) {
                return Some(info);
            }
            tracing::error!(pod = %info.pod.key(), "pod is being tried already; popped pod dropped");
        }
    }

    /// Whether [`pop`](Self::pop) would give a pod.
    pub fn has_next(&self) -> bool {
        self.active.len() + self.backoff.poppable_len() > 0
    }

    /// A try is over, and the pod does not come back: it may go on to be bound, whatever happens
    /// from then on, or is gone. To be called once nothing can find it unschedulable any more, that
    /// is after Permit, so that events do not pile up while it is bound (k/k#129967).
    pub fn done(&mut self, uid: &str) {
        self.in_flight.done(uid);
    }

    /// A pod comes back from a try in vain: [`QueuedPodInfo::unschedulable_plugins`] and
    /// [`QueuedPodInfo::pending_plugins`] say who rejected it, nobody where the try ended in an
    /// error. [`QueuedPodInfo::pod`] is its latest version. It is [`done`](Self::done) in any case.
    ///
    /// It backs off after an error, and where an event while it was in flight may have helped;
    /// else it waits for one. Returns where it waits.
    ///
    /// # Errors
    /// [`AlreadyQueued`] where the pod waits already.
    pub fn add_unschedulable_if_not_present(
        &mut self,
        host: &dyn QueueHost,
        now: Duration,
        mut info: QueuedPodInfo,
    ) -> Result<QueuePart, AlreadyQueued> {
        let uid = info.pod.uid().clone();
        let key = info.pod.key();
        if let Some((part, _)) = self.get(&key) {
            self.done(&uid);
            return Err(AlreadyQueued { key, part });
        }
        if info.unschedulable_plugins.is_empty() && info.pending_plugins.is_empty() {
            info.consecutive_errors_count += 1;
        } else {
            info.unschedulable_count += 1;
            info.consecutive_errors_count = 0;
        }
        info.timestamp = now;
        info.was_flushed_from_unschedulable = false;
        self.reasons.add(&info);
        info.backoff_expiration = self.backoff.expiration(&info);
        let strategy = self.strategy_after_flight(host, &info);
        let part = self.requeue(host, now, info, strategy, event::SCHEDULE_ATTEMPT_FAILURE);
        self.done(&uid);
        Ok(part)
    }

    /// Notes which node is promised to `pod`, at once, before the server knows; [`Nominating::Keep`]
    /// means what the pod's status says. The pod must still exist and not be bound.
    pub fn add_nominated_pod(&mut self, pod: Arc<PodInfo>, nominating: &Nominating) {
        self.nominator.add(pod, nominating);
    }

    /// Nothing is promised to the pod any more, as when it is assumed. Returns the node that was.
    pub fn delete_nominated_pod(&mut self, uid: &str) -> Option<Text> {
        self.nominator.remove(uid)
    }

    /// The pods to which `node` is promised, in the order in which it was.
    pub fn nominated_pods(&self, node: &str) -> &[Arc<PodInfo>] {
        self.nominator.pods(node)
    }

    /// The node that is promised to the pod.
    pub fn nominated_node(&self, uid: &str) -> Option<&Text> {
        self.nominator.node(uid)
    }

    /// The node is gone: nothing on it is promised any more (k/k#85677). Returns the pods to which
    /// it was, whose status is to be cleared.
    pub fn clear_nominations(&mut self, node: &str) -> Vec<Arc<PodInfo>> {
        self.nominator.remove_node(node)
    }

    /// When [`handle_timeout`](Self::handle_timeout) has something to do next.
    pub fn poll_timeout(&self) -> Option<Duration> {
        let times = [self.backoff.next_completion(), self.unschedulable.next_due()];
        times.into_iter().flatten().min()
    }

    /// Time has passed: pods whose backoff is over become active, and pods that have waited for a
    /// change for too long are tried anyway.
    pub fn handle_timeout(&mut self, host: &dyn QueueHost, now: Duration) {
        self.flush_backoff_completed(host, now);
        self.flush_unschedulable_leftover(host, now);
    }

    fn enqueue(
        &mut self,
        host: &dyn QueueHost,
        now: Duration,
        pod: Arc<PodInfo>,
        event: ClusterEvent,
    ) {
        let info = QueuedPodInfo::new(Arc::clone(&pod), now);
        if self.requeue(host, now, info, Strategy::Immediately, event) == QueuePart::Active {
            self.nominator.add(pod, &Nominating::Keep);
        }
    }

    /// Takes a pod out of whichever part it is in.
    pub(super) fn take(&mut self, host: &dyn QueueHost, key: &ObjectKey) -> Option<QueuedPodInfo> {
        let less = |a: &QueuedPodInfo, b: &QueuedPodInfo| host.less(a, b);
        let found = self.active.remove(key, &less).or_else(|| self.backoff.remove(key, &less));
        let found = found.or_else(|| self.unschedulable.remove(key).map(|(info, _)| info))?;
        self.reasons.remove(&found);
        Some(found)
    }

    pub(super) fn count(&mut self, part: QueuePart, event: ClusterEvent) {
        *self.incoming.entry((part, event)).or_default() += 1;
    }
}
