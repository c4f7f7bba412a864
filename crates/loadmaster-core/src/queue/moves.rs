//! Between the parts of the queue: which change wakes which pod, and where it goes.

use std::{sync::Arc, time::Duration};

use loadmaster_framework::api::{ObjectKey, Pod};
use loadmaster_framework::{ClusterEvent, Hint, Object, PodInfo, QueuedPodInfo, QueueingHint};

use super::{
    Change, QueueHost, QueuePart, Registration, SchedulingQueue,
    backoff::BackoffQueue,
    hints::{Interests, is_wild_card},
};
use crate::event;

/// A pod that is due to be swept out and is held back again is due anew after this time (upstream's
/// period of sweeps).
const SWEEP_PERIOD: Duration = Duration::from_secs(30);

/// What becomes of a pod after a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Strategy {
    /// The change cannot help.
    Skip,
    /// It may: the pod is tried once its backoff is over.
    AfterBackoff,
    /// A plugin that answered Pending says that it may: the pod is tried at once.
    Immediately,
}

impl SchedulingQueue {
    /// The cluster changed: wakes every pod that the change may help, and keeps the change for the
    /// pods in flight. Call it for each of the [events](crate::event::events_of) of a change, in
    /// order.
    pub fn move_all_to_active_or_backoff(
        &mut self,
        host: &dyn QueueHost,
        now: Duration,
        change: Change<'_>,
    ) {
        self.move_matching(host, now, change, |_| true);
    }

    /// A pod to which a node was promised is gone, or another node is promised to it now: that may
    /// help pods of its priority or below as if a pod had left the node.
    pub fn nominated_pod_left(&mut self, host: &dyn QueueHost, now: Duration, old: &Arc<Pod>) {
        let priority = old.priority();
        let old = Object::Pod(Arc::clone(old));
        let change = Change { event: event::ASSIGNED_POD_DELETE, old: Some(&old), new: None };
        self.move_matching(host, now, change, |pod| pod.priority() <= priority);
    }

    /// As [`move_all_to_active_or_backoff`](Self::move_all_to_active_or_backoff), but for the pod of
    /// this uid: what its own going changes helps others and not itself.
    pub fn move_others(
        &mut self,
        host: &dyn QueueHost,
        now: Duration,
        change: Change<'_>,
        uid: &str,
    ) {
        self.move_matching(host, now, change, |pod| &**pod.uid() != uid);
    }

    fn move_matching(
        &mut self,
        host: &dyn QueueHost,
        now: Duration,
        change: Change<'_>,
        concerns: impl Fn(&PodInfo) -> bool,
    ) {
        if !host.hints().covers(change.event) {
            return;
        }
        let interests = host.hints().covering(change.event);
        let concerned = self.unschedulable.iter().filter(|(_, info)| concerns(&info.pod));
        let woken: Vec<_> = concerned
            .filter(|(_, info)| gate_may_open(info, &interests))
            .map(|(key, info)| (key.clone(), strategy(host, info, change, &interests)))
            .filter(|(_, strategy)| *strategy != Strategy::Skip)
            .collect();
        for (key, strategy) in woken {
            if let Some((info, _)) = self.unschedulable.remove(&key) {
                self.requeue(host, now, info, strategy, change.event);
            }
        }
        self.in_flight.record(change);
    }

    /// Makes pods active, wherever they wait, without regard to their backoff, unless they
    /// [preempt again](loadmaster_framework::QueuedPodInfo::preempts_again). Those in flight are
    /// tried again when they come back. Keys of other pods are ignored.
    pub fn activate(&mut self, host: &dyn QueueHost, now: Duration, keys: &[ObjectKey]) {
        let less = |a: &QueuedPodInfo, b: &QueuedPodInfo| host.less(a, b);
        for key in keys {
            if let Some((info, _)) = self.unschedulable.remove(key) {
                let patient = info.preempts_again;
                let strategy = if patient { Strategy::AfterBackoff } else { Strategy::Immediately };
                self.requeue(host, now, info, strategy, event::FORCE_ACTIVATE);
            } else if !self.backoff.get(key).is_some_and(|it| it.preempts_again)
                && let Some(info) = self.backoff.remove(key, &less)
            {
                self.make_active(host, now, info, event::FORCE_ACTIVATE);
            } else if let Some(pod) = self.in_flight.by_key(key) {
                let pod = Object::Pod(Arc::clone(pod.pod()));
                let event = event::FORCE_ACTIVATE;
                self.in_flight.record(Change { event, old: None, new: Some(&pod) });
            }
        }
    }

    /// Puts a pod that is in no part into one. Returns which.
    pub(super) fn requeue(
        &mut self,
        host: &dyn QueueHost,
        now: Duration,
        mut info: QueuedPodInfo,
        strategy: Strategy,
        event: ClusterEvent,
    ) -> QueuePart {
        if strategy == Strategy::Skip {
            return self.make_unschedulable(now, info, event);
        }
        match host.pre_enqueue(&info, now) {
            Ok(()) => info.gating_plugin = None,
            Err(status) => {
                if status.is_error() {
                    tracing::error!(pod = %info.pod.key(), %status, "PreEnqueue failed");
                }
                let pending = info.pending_plugins.contains(status.plugin());
                if info.unschedulable_plugins.insert(status.plugin()) && !pending {
                    self.reasons.add_one(&info, status.plugin());
                }
                info.gating_plugin = Some(status.plugin());
                return self.make_unschedulable(now, info, event);
            }
        }
        if strategy == Strategy::AfterBackoff && BackoffQueue::is_backing_off(&info, now) {
            self.count(QueuePart::Backoff, event);
            self.backoff.push(info, &|a, b| host.less(a, b));
            QueuePart::Backoff
        } else {
            self.make_active(host, now, info, event)
        }
    }

    fn make_active(
        &mut self,
        host: &dyn QueueHost,
        now: Duration,
        mut info: QueuedPodInfo,
        event: ClusterEvent,
    ) -> QueuePart {
        info.initial_attempt_timestamp.get_or_insert(now);
        self.count(QueuePart::Active, event);
        self.active.push(info, &|a, b| host.less(a, b));
        QueuePart::Active
    }

    fn make_unschedulable(
        &mut self,
        now: Duration,
        info: QueuedPodInfo,
        event: ClusterEvent,
    ) -> QueuePart {
        let due = info.timestamp + self.options.pod_max_in_unschedulable_pods;
        let sweep_after = if due < now { now + SWEEP_PERIOD } else { due };
        self.count(QueuePart::Unschedulable, event);
        self.unschedulable.insert(info, sweep_after);
        QueuePart::Unschedulable
    }

    /// An unschedulable pod changed itself, and was taken out for it.
    pub(super) fn requeue_updated(
        &mut self,
        host: &dyn QueueHost,
        now: Duration,
        (mut info, sweep_after): (QueuedPodInfo, Duration),
        old: &Arc<Pod>,
        events: &[ClusterEvent],
    ) {
        let key = info.pod.key();
        let (old, new) = (Object::Pod(Arc::clone(old)), Object::Pod(Arc::clone(info.pod.pod())));
        for event in events {
            let change = Change { event: *event, old: Some(&old), new: Some(&new) };
            let strategy = strategy(host, &info, change, &host.hints().covering(*event));
            if strategy == Strategy::Skip {
                continue;
            }
            if self.requeue(host, now, info, strategy, *event) != QueuePart::Unschedulable {
                return;
            }
            match self.unschedulable.remove(&key) {
                Some((gated, _)) => info = gated,
                None => return,
            }
        }
        self.unschedulable.insert(info, sweep_after);
    }

    /// What becomes of a pod that comes back, given what happened while it was in flight.
    pub(super) fn strategy_after_flight(
        &self,
        host: &dyn QueueHost,
        info: &QueuedPodInfo,
    ) -> Strategy {
        if info.unschedulable_plugins.is_empty() && info.pending_plugins.is_empty() {
            return Strategy::AfterBackoff;
        }
        let Some(changes) = self.in_flight.events_for(info.pod.uid()) else {
            tracing::error!(pod = %info.pod.key(), "pod comes back that was not in flight");
            return Strategy::AfterBackoff;
        };
        let interests = |change: Change<'_>| host.hints().covering(change.event);
        best(info, changes.map(|change| strategy(host, info, change, &interests(change))))
    }

    pub(super) fn flush_backoff_completed(&mut self, host: &dyn QueueHost, now: Duration) {
        let less = |a: &QueuedPodInfo, b: &QueuedPodInfo| host.less(a, b);
        while let Some(info) = self.backoff.pop_completed(now, &less) {
            self.make_active(host, now, info, event::BACKOFF_COMPLETE);
        }
    }

    /// Gated pods are swept out too: should a gate have missed its event, it is asked again
    /// (k/k PR#139162).
    pub(super) fn flush_unschedulable_leftover(&mut self, host: &dyn QueueHost, now: Duration) {
        let due = self.unschedulable.due(now);
        if due.is_empty() {
            return;
        }
        let event = event::UNSCHEDULABLE_TIMEOUT;
        for key in due {
            if let Some((mut info, _)) = self.unschedulable.remove(&key) {
                info.was_flushed_from_unschedulable = true;
                self.requeue(host, now, info, Strategy::AfterBackoff, event);
            }
        }
        self.in_flight.record(Change { event, old: None, new: None });
    }
}

/// Whether the plugin that gates the pod, if one does, looks at the event.
fn gate_may_open(info: &QueuedPodInfo, interests: &Interests<'_>) -> bool {
    let Some(gate) = info.gating_plugin else { return true };
    let of_profile = interests.get(info.pod.scheduler_name());
    of_profile.is_some_and(|it| it.iter().any(|it| it.plugin == gate))
}

/// Whether a change makes another try of the pod worth it: what the plugins say that rejected it
/// (upstream: `isPodWorthRequeuing`).
fn strategy(
    host: &dyn QueueHost,
    info: &QueuedPodInfo,
    change: Change<'_>,
    interests: &Interests<'_>,
) -> Strategy {
    if info.unschedulable_plugins.is_empty() && info.pending_plugins.is_empty() {
        return Strategy::AfterBackoff;
    }
    if is_wild_card(change.event) {
        // A wildcard that carries a pod is meant for that pod alone.
        let meant = change.new.is_none_or(|it| it.metadata().uid == *info.pod.uid());
        return if meant { Strategy::AfterBackoff } else { Strategy::Skip };
    }
    let Some(registrations) = interests.get(info.pod.scheduler_name()) else {
        return Strategy::AfterBackoff;
    };
    let answers = registrations.iter().filter_map(|it| {
        let pending = info.pending_plugins.contains(it.plugin);
        if !pending && !info.unschedulable_plugins.contains(it.plugin) {
            return None;
        }
        let queue = !it.event.has_hint || hinted(host, info, change, it) == QueueingHint::Queue;
        queue.then_some(if pending { Strategy::Immediately } else { Strategy::AfterBackoff })
    });
    best(info, answers)
}

/// What the plugin says of the change; an error counts as yes, lest the pod be stuck.
fn hinted(
    host: &dyn QueueHost,
    info: &QueuedPodInfo,
    change: Change<'_>,
    registration: &Registration,
) -> QueueingHint {
    let Change { event, old, new } = change;
    let registered = registration.event.event;
    let listers = host.listers();
    let hint = Hint { registered, event, pod: &info.pod, old, new, listers };
    host.queueing_hint(registration.plugin, hint).unwrap_or(QueueingHint::Queue)
}

/// The strongest of the answers, without asking further once nothing stronger can come.
fn best(info: &QueuedPodInfo, answers: impl Iterator<Item = Strategy>) -> Strategy {
    let strongest = if info.pending_plugins.is_empty() {
        Strategy::AfterBackoff
    } else {
        Strategy::Immediately
    };
    let mut best = Strategy::Skip;
    for answer in answers {
        best = best.max(answer);
        if best >= strongest {
            break;
        }
    }
    best
}
