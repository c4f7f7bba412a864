//! The core's clock, and what it notes.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use loadmaster_core::meter::{CallPoint, Meter, Observation, PluginCall};
use loadmaster_framework::{ClusterEvent, Code};
use prometheus::Histogram;
use rustix::time::{ClockId, clock_gettime};

use super::{Measures, RunningCall, call_slot::CallSlot};

/// Measures what the core does. Clones share everything.
#[derive(Clone, Debug)]
pub(crate) struct CoreMeter(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    started: Instant,
    coarse_started: Duration,
    slot: CallSlot,
    measures: Measures,
    /// Histograms that are needed too often to be looked for by their labels' texts. Only the core's
    /// thread comes here.
    found: Mutex<Found>,
}

#[derive(Debug, Default)]
struct Found {
    plugins: HashMap<(&'static str, CallPoint, Code), Histogram>,
    hints: HashMap<(&'static str, ClusterEvent, &'static str), Histogram>,
}

/// A clock that is read for next to nothing, at a resolution of some milliseconds.
#[cfg(target_os = "linux")]
const COARSE: ClockId = ClockId::MonotonicCoarse;
#[cfg(not(target_os = "linux"))]
const COARSE: ClockId = ClockId::Monotonic;

fn coarse() -> Duration {
    let time = clock_gettime(COARSE);
    Duration::new(u64::try_from(time.tv_sec).unwrap_or(0), u32::try_from(time.tv_nsec).unwrap_or(0))
}

impl CoreMeter {
    /// A clock that begins now.
    pub(crate) fn new(measures: Measures) -> Self {
        Self(Arc::new(Inner {
            started: Instant::now(),
            coarse_started: coarse(),
            slot: CallSlot::default(),
            measures,
            found: Mutex::default(),
        }))
    }

    /// When its clock began: the zero of the scheduler's clock.
    pub(crate) fn started(&self) -> Instant {
        self.0.started
    }

    /// The call into a plugin that is under way, and for how long.
    pub(crate) fn running_call(&self) -> Option<(RunningCall, Duration)> {
        let call = self.0.slot.read()?;
        let age = self.coarse_now().saturating_sub(call.since);
        Some((call, age))
    }

    fn coarse_now(&self) -> Duration {
        coarse().saturating_sub(self.0.coarse_started)
    }

    fn found(&self) -> std::sync::MutexGuard<'_, Found> {
        self.0.found.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Meter for CoreMeter {
    fn now(&self) -> Duration {
        self.0.started.elapsed()
    }

    fn enter(&self, call: PluginCall<'_>) -> Duration {
        let now = self.coarse_now();
        self.0.slot.enter(call, now);
        now
    }

    fn leave(&self) -> Duration {
        self.0.slot.leave();
        self.coarse_now()
    }

    fn observe(&self, observation: Observation<'_>) {
        let to = self.0.measures.families();
        match observation {
            Observation::Plugin { plugin, point, code, took } => {
                let mut found = self.found();
                let histogram = found.plugins.entry((plugin, point, code)).or_insert_with(|| {
                    let labels = [plugin, point.as_str(), code.as_str()];
                    to.plugin_duration.with_label_values(&labels)
                });
                histogram.observe(took.as_secs_f64());
            }
            Observation::Hint { plugin, event, hint, took } => {
                let mut found = self.found();
                let histogram = found.hints.entry((plugin, event, hint)).or_insert_with(|| {
                    to.hint_duration.with_label_values(&[plugin, &*event.label(), hint])
                });
                histogram.observe(took.as_secs_f64());
            }
            Observation::Attempt { profile, result, took } => {
                let labels = [result.as_str(), profile];
                to.schedule_attempts.with_label_values(&labels).inc();
                to.attempt_duration.with_label_values(&labels).observe(took.as_secs_f64());
            }
            Observation::Algorithm { took } => to.algorithm_duration.observe(took.as_secs_f64()),
            Observation::Scheduled { attempts, took, after_flush } => {
                to.scheduling_attempts.observe(f64::from(attempts));
                if let Some(took) = took {
                    let histogram =
                        to.sli_duration.with_label_values(&[&*attempts_label(attempts)]);
                    histogram.observe(took.as_secs_f64());
                }
                to.scheduled_after_flush.inc_by(u64::from(after_flush));
            }
            Observation::Point { profile, point, code, took } => {
                let labels = [point.as_str(), code.as_str(), profile];
                to.extension_point_duration.with_label_values(&labels).observe(took.as_secs_f64());
            }
            Observation::Evaluated { profile, plugin, point, times } => {
                let labels = [plugin, point.as_str(), profile];
                to.plugin_evaluation.with_label_values(&labels).inc_by(times);
            }
            Observation::Event { event, took } => {
                let histogram = to.event_handling_duration.with_label_values(&[&*event.label()]);
                histogram.observe(took.as_secs_f64());
            }
            Observation::PermitWait { code, took } => {
                let histogram = to.permit_wait_duration.with_label_values(&[code.as_str()]);
                histogram.observe(took.as_secs_f64());
            }
            Observation::PreemptionAttempt => to.preemption_attempts.inc(),
            Observation::PreemptionVictims { count } => {
                to.preemption_victims.observe(count as f64);
            }
            Observation::PreemptionDone { ok, took } => {
                let labels = [if ok { "success" } else { "error" }];
                to.preemption_executions.with_label_values(&labels).inc();
                to.preemption_duration.with_label_values(&labels).observe(took.as_secs_f64());
            }
            Observation::PreemptsAgain { profile } => {
                to.repeated_preemptions.with_label_values(&[profile]).inc();
            }
            Observation::Panic { plugin, point } => {
                to.plugin_panics.with_label_values(&[plugin, point.as_str()]).inc();
            }
            Observation::OverBudget { plugin, point } => {
                to.slow_plugins.with_label_values(&[plugin, point.as_str()]).inc();
            }
            // What a later core measures beside these is not shown.
            _ => {}
        }
    }
}

/// Upstream's, which keeps the number of series small.
fn attempts_label(attempts: u32) -> String {
    if attempts >= 15 { "15+".to_owned() } else { attempts.to_string() }
}
