//! What the core's state is, as numbers.

use loadmaster_core::{queue::SchedulingQueue, scheduler::Scheduler};

use super::Measures;

/// Keeps the gauges at what the core is, as the core's thread goes on.
#[derive(Debug)]
pub(crate) struct Gauges {
    measures: Measures,
    reasons_version: u64,
}

impl Gauges {
    pub(crate) fn new(measures: Measures) -> Self {
        Self { measures, reasons_version: u64::MAX }
    }

    /// Takes the numbers from the core.
    pub(crate) fn refresh(&mut self, scheduler: &Scheduler) {
        let to = self.measures.families();
        let number = |it: usize| i64::try_from(it).unwrap_or(i64::MAX);
        let (cache, queue) = (scheduler.cache(), scheduler.queue());
        let pending = queue.pending_counts();
        for (part, count) in [
            ("active", pending.active),
            ("backoff", pending.backoff),
            ("unschedulable", pending.unschedulable),
            ("gated", pending.gated),
        ] {
            to.pending_pods.with_label_values(&[part]).set(number(count));
        }
        for (kind, count) in [
            ("assumed_pods", cache.assumed_pod_count()),
            ("pods", cache.pod_count()),
            ("nodes", cache.node_count()),
        ] {
            to.cache_size.with_label_values(&[kind]).set(number(count));
        }
        let (bindings, _) = scheduler.binding_counts();
        to.goroutines.with_label_values(&["binding"]).set(number(bindings));
        for (event, count) in queue.in_flight_events() {
            let label = event.map_or_else(|| "PodPopped".to_owned(), |it| it.label());
            to.inflight_events.with_label_values(&[&*label]).set(number(count));
        }
        self.refresh_queue(queue);
    }

    fn refresh_queue(&mut self, queue: &SchedulingQueue) {
        let to = self.measures.families();
        for (part, event, count) in queue.incoming() {
            let counter = to.incoming_pods.with_label_values(&[part.as_str(), &*event.label()]);
            counter.inc_by(count.saturating_sub(counter.get()));
        }
        let version = queue.unschedulable_reasons_version();
        if version != self.reasons_version {
            self.reasons_version = version;
            for (profile, plugin, count) in queue.unschedulable_reasons() {
                let count = i64::try_from(count).unwrap_or(i64::MAX);
                to.unschedulable_pods.with_label_values(&[plugin, profile]).set(count);
            }
        }
    }
}
