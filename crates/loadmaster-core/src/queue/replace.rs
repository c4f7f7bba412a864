//! Other profiles take over the pods that wait.

use std::time::Duration;

use super::{Change, QueueHost, QueueOptions, SchedulingQueue, moves::Strategy};
use crate::event::PROFILES_REPLACED as EVENT;

impl SchedulingQueue {
    /// From now on `host` speaks for other profiles, and pods wait as `options` has it.
    ///
    /// The gates of every pod are asked anew, unschedulable ones are tried again after their
    /// backoff, and the pods in flight are told that anything may have changed. Pods that no
    /// profile is there for are dropped; returns how many.
    pub fn replace_profiles(
        &mut self,
        host: &dyn QueueHost,
        now: Duration,
        options: QueueOptions,
    ) -> usize {
        let active = self.active.drain().into_iter().map(|it| (Strategy::Immediately, it));
        let waiting = self.backoff.drain().into_iter().chain(self.unschedulable.drain());
        let waiting = waiting.map(|it| (Strategy::AfterBackoff, it));
        let all: Vec<_> = active.chain(waiting).collect();
        let QueueOptions { pod_initial_backoff, pod_max_backoff, .. } = options;
        self.options = options;
        self.backoff.set_limits(pod_initial_backoff, pod_max_backoff);
        let mut dropped = 0;
        for (strategy, mut info) in all {
            // Every profile has an entry, were it an empty one.
            if host.hints().get(info.pod.scheduler_name()).is_none() {
                self.nominator.remove(info.pod.uid());
                self.reasons.remove(&info);
                dropped += 1;
                continue;
            }
            info.gating_plugin = None;
            info.backoff_expiration = self.backoff.expiration(&info);
            self.requeue(host, now, info, strategy, EVENT);
        }
        self.in_flight.record(Change { event: EVENT, old: None, new: None });
        dropped
    }
}
