//! A profile's plugins under watch: how long each takes, and whether that is too long.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed},
    },
    time::Duration,
};

use loadmaster_framework::{Code, PluginError};

use super::{CallPoint, Meter, Observation, PluginCall};

/// The points whose calls are counted (upstream: `plugin_evaluation_total`).
const COUNTED: [CallPoint; 4] =
    [CallPoint::PreFilter, CallPoint::Filter, CallPoint::PreScore, CallPoint::Score];
/// In so many cycles of a hundred every call is timed for itself (upstream:
/// `pluginMetricsSamplePercent`).
const SAMPLE_PERCENT: u64 = 10;

/// What is kept of each plugin of a profile in the cycle that runs.
///
/// The numbers are atomic because filters may run on several threads; nothing is ordered by them.
#[derive(Debug, Default)]
pub(crate) struct Watch(Option<On>);

#[derive(Debug)]
struct On {
    meter: Arc<dyn Meter>,
    /// What a plugin may take in a cycle; `None` is any time.
    budget: Option<Duration>,
    plugins: Box<[Used]>,
    /// What nested calls took, so that what a what-if takes is not put down to who asked for it.
    nested: AtomicU64,
    /// Whether any plugin has used measurable time in this cycle.
    any_used: AtomicBool,
    cycles: AtomicU64,
    /// Whether the calls of this cycle are timed for themselves.
    sampled: AtomicBool,
}

/// What a plugin has used in this cycle.
#[derive(Debug, Default)]
struct Used {
    nanos: AtomicU64,
    /// Where it used up its budget, as a position in [`CallPoint::ALL`].
    over_at: AtomicUsize,
    evaluations: [AtomicU64; COUNTED.len()],
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

impl Watch {
    /// Watches `count` plugins, each of which may take `budget` in a cycle.
    pub(crate) fn new(meter: Arc<dyn Meter>, budget: Option<Duration>, count: usize) -> Self {
        Self(Some(On {
            meter,
            budget,
            plugins: std::iter::repeat_with(Used::default).take(count).collect(),
            nested: AtomicU64::new(0),
            any_used: AtomicBool::new(false),
            cycles: AtomicU64::new(0),
            sampled: AtomicBool::new(false),
        }))
    }

    /// A cycle begins: every plugin has its whole budget.
    pub(crate) fn begin_cycle(&self) {
        let Some(on) = &self.0 else { return };
        if on.any_used.swap(false, Relaxed) {
            for plugin in &on.plugins {
                plugin.nanos.store(0, Relaxed);
            }
        }
        on.sampled.store(is_sampled(on.cycles.fetch_add(1, Relaxed)), Relaxed);
    }

    /// A cycle is over: tells how often each plugin was asked in it.
    pub(crate) fn end_cycle(&self, profile: &str, name: impl Fn(usize) -> &'static str) {
        let Some(on) = &self.0 else { return };
        for (at, plugin) in on.plugins.iter().enumerate() {
            for (count, point) in plugin.evaluations.iter().zip(COUNTED) {
                let times = count.swap(0, Relaxed);
                if times > 0 {
                    let plugin = name(at);
                    on.meter.observe(Observation::Evaluated { profile, plugin, point, times });
                }
            }
        }
    }

    /// A plugin that has used up its budget in this cycle, and the error for it.
    pub(crate) fn over_budget(
        &self,
        name: impl Fn(usize) -> &'static str,
    ) -> Option<(&'static str, PluginError)> {
        let on = self.0.as_ref().filter(|it| it.any_used.load(Relaxed))?;
        let budget = on.budget?;
        let used = |it: &Used| Duration::from_nanos(it.nanos.load(Relaxed));
        let mut used = on.plugins.iter().map(used).enumerate();
        let (at, used) = used.find(|(_, it)| *it > budget)?;
        let point = CallPoint::ALL[on.plugins[at].over_at.load(Relaxed)].as_str();
        let plugin = name(at);
        Some((plugin, PluginError::OverBudget { plugin, point, node: None, used, budget }))
    }

    /// Makes a call of the plugin at position `at`. An answer that comes too late is an error where
    /// the budget applies; once it is used up there, the plugin is not asked again.
    pub(crate) fn call<T>(
        &self,
        at: usize,
        call: PluginCall<'_>,
        run: impl FnOnce() -> Result<T, PluginError>,
        code: impl FnOnce(&Result<T, PluginError>) -> Code,
    ) -> Result<T, PluginError> {
        let Some(on) = &self.0 else { return run() };
        let PluginCall { plugin, point, node } = call;
        let used = &on.plugins[at];
        let over = |used: Duration, budget: Duration| PluginError::OverBudget {
            plugin,
            point: point.as_str(),
            node: node.map(str::to_owned),
            used,
            budget,
        };
        if let Some(budget) = on.budget.filter(|_| point.has_budget()) {
            let used = Duration::from_nanos(used.nanos.load(Relaxed));
            if used > budget {
                return Err(over(used, budget));
            }
        }
        let sampled = point != CallPoint::QueueSort && on.sampled.load(Relaxed);
        let exact = sampled.then(|| on.meter.now());
        let nested = on.nested.load(Relaxed);
        let began = on.meter.enter(call);
        let result = run();
        let took = on.meter.leave().saturating_sub(began);
        let code = code(&result);
        if let Some(slot) = COUNTED.iter().position(|it| *it == point)
            && code != Code::Skip
        {
            used.evaluations[slot].fetch_add(1, Relaxed);
        }
        if let Some(exact) = exact {
            let took = on.meter.now().saturating_sub(exact);
            on.meter.observe(Observation::Plugin { plugin, point, code, took });
        }
        if matches!(result, Err(PluginError::Panic { .. })) {
            on.meter.observe(Observation::Panic { plugin, point });
        }
        if took.is_zero() {
            return result;
        }
        match on.charge(used, call, took, nested) {
            Some((used, budget)) if point.has_budget() && result.is_ok() => Err(over(used, budget)),
            _ => result,
        }
    }

    /// The time, where anything is measured.
    pub(crate) fn now(&self) -> Option<Duration> {
        self.0.as_ref().map(|it| it.meter.now())
    }

    /// Tells of a point that began at `began`, a time that [`Watch::now`] gave.
    pub(crate) fn point(
        &self,
        profile: &str,
        point: CallPoint,
        began: Option<Duration>,
        code: Code,
    ) {
        if let (Some(on), Some(began)) = (&self.0, began) {
            let took = on.meter.now().saturating_sub(began);
            on.meter.observe(Observation::Point { profile, point, code, took });
        }
    }

    /// Tells of something.
    pub(crate) fn observe(&self, observation: Observation<'_>) {
        if let Some(on) = &self.0 {
            on.meter.observe(observation);
        }
    }

    /// Runs what is no plugin's doing in the middle of a plugin's call: an extender's answer.
    pub(crate) fn outside<T>(&self, run: impl FnOnce() -> T) -> T {
        let Some(on) = &self.0 else { return run() };
        let began = on.meter.now();
        let result = run();
        let took = on.meter.now().saturating_sub(began);
        on.nested.fetch_add(nanos(took), Relaxed);
        result
    }
}

impl On {
    /// Puts time down to a plugin. Returns what it has used and its budget, where that is too much;
    /// the first time that it is, it is told.
    fn charge(
        &self,
        used: &Used,
        PluginCall { plugin, point, node }: PluginCall<'_>,
        took: Duration,
        nested_before: u64,
    ) -> Option<(Duration, Duration)> {
        let own = match point {
            // Only this one runs others; what it asked them is put down to them.
            CallPoint::PostFilter => {
                let nested = self.nested.load(Relaxed) - nested_before;
                took.saturating_sub(Duration::from_nanos(nested))
            }
            _ => took,
        };
        self.nested.fetch_add(nanos(own), Relaxed);
        let total = if point.has_budget() {
            self.any_used.store(true, Relaxed);
            Duration::from_nanos(used.nanos.fetch_add(nanos(own), Relaxed)) + own
        } else {
            own
        };
        let budget = self.budget.filter(|it| total > *it)?;
        if total.saturating_sub(own) <= budget {
            let position = CallPoint::ALL.iter().position(|it| *it == point).unwrap_or_default();
            used.over_at.store(position, Relaxed);
            let (took, allowed) = (format!("{total:.1?}"), format!("{budget:.1?}"));
            let (at, node) = (point.as_str(), node.unwrap_or_default());
            tracing::warn!(plugin, point = at, node, took, budget = allowed, "plugin is too slow");
            self.meter.observe(Observation::OverBudget { plugin, point });
        }
        Some((total, budget))
    }
}

/// Whether the calls of this cycle are timed for themselves: one in ten, at no regular distance, and
/// without a draw that decisions would feel.
fn is_sampled(cycle: u64) -> bool {
    // The finalizer of SplitMix64.
    let mut mixed = cycle.wrapping_add(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (mixed ^ (mixed >> 31)) % 100 < SAMPLE_PERCENT
}
