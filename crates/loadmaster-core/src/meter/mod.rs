//! What is measured: times, counts, and the call into a plugin that is under way.
//!
//! The core has no clock. A process that wants to know how long things take lends it a [`Meter`];
//! without one nothing is measured, and no plugin can be too slow. No measurement has a part in a
//! decision, but for one: a plugin that has used up its time budget is not asked again in the same
//! cycle, which ends in an error by the plugin's name.

#[cfg(test)]
mod tests;
mod watch;

use std::{fmt, time::Duration};

use loadmaster_framework::{ClusterEvent, Code};

pub(crate) use watch::Watch;

/// A clock and a place to note things, lent to the core by the process.
///
/// Calls come from the thread that drives the scheduler, and in the middle of a cycle: they must not
/// wait.
pub trait Meter: fmt::Debug + Send + Sync {
    /// The time on the scheduler's clock, that of its `now` arguments.
    fn now(&self) -> Duration;

    /// A call into a plugin begins; calls may be nested, since plugins run what-ifs. Returns the time
    /// on the scheduler's clock; a coarse one will do (some milliseconds), since this is asked before
    /// and after every call.
    fn enter(&self, call: PluginCall<'_>) -> Duration;

    /// The call that began last is over. Returns the time as [`Meter::enter`].
    fn leave(&self) -> Duration;

    /// Something was measured.
    fn observe(&self, observation: Observation<'_>);
}

/// A call into a plugin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PluginCall<'a> {
    /// The plugin.
    pub plugin: &'static str,
    /// Which of its functions.
    pub point: CallPoint,
    /// The node it is asked about, if it is asked about one.
    pub node: Option<&'a str>,
}

/// A function of a plugin. Finer than [`loadmaster_framework::Point`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(missing_docs, reason = "each is the extension point, or part of one, of its name")]
#[non_exhaustive]
pub enum CallPoint {
    QueueSort,
    QueueingHint,
    PreEnqueue,
    PreFilter,
    PreFilterAddPod,
    PreFilterRemovePod,
    Filter,
    PostFilter,
    PreScore,
    Score,
    ScoreNormalize,
    Reserve,
    Unreserve,
    Permit,
    PreBindPreFlight,
    PreBind,
    Bind,
    PostBind,
}

impl CallPoint {
    /// Every one, in the order in which a pod meets them.
    pub const ALL: [Self; 18] = [
        Self::QueueSort,
        Self::QueueingHint,
        Self::PreEnqueue,
        Self::PreFilter,
        Self::PreFilterAddPod,
        Self::PreFilterRemovePod,
        Self::Filter,
        Self::PostFilter,
        Self::PreScore,
        Self::Score,
        Self::ScoreNormalize,
        Self::Reserve,
        Self::Unreserve,
        Self::Permit,
        Self::PreBindPreFlight,
        Self::PreBind,
        Self::Bind,
        Self::PostBind,
    ];

    /// Upstream's word in messages and in the label `extension_point`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::QueueSort => "QueueSort",
            Self::QueueingHint => "QueueingHint",
            Self::PreEnqueue => "PreEnqueue",
            Self::PreFilter => "PreFilter",
            Self::PreFilterAddPod => "PreFilterExtensionAddPod",
            Self::PreFilterRemovePod => "PreFilterExtensionRemovePod",
            Self::Filter => "Filter",
            Self::PostFilter => "PostFilter",
            Self::PreScore => "PreScore",
            Self::Score => "Score",
            Self::ScoreNormalize => "ScoreExtensionNormalize",
            Self::Reserve => "Reserve",
            Self::Unreserve => "Unreserve",
            Self::Permit => "Permit",
            Self::PreBindPreFlight => "PreBindPreFlight",
            Self::PreBind => "PreBind",
            Self::Bind => "Bind",
            Self::PostBind => "PostBind",
        }
    }

    /// Whether an answer can end the scheduling cycle, so that the budget applies: what gives back,
    /// what follows the decision and what orders the queue is only watched.
    fn has_budget(self) -> bool {
        matches!(
            self,
            Self::PreFilter
                | Self::PreFilterAddPod
                | Self::PreFilterRemovePod
                | Self::Filter
                | Self::PostFilter
                | Self::PreScore
                | Self::Score
                | Self::ScoreNormalize
                | Self::Reserve
                | Self::Permit
        )
    }
}

/// What a try of a pod came to, in upstream's words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AttemptResult {
    /// The pod is bound.
    Scheduled,
    /// It fits nowhere now, or was refused its node.
    Unschedulable,
    /// A plugin, an extender or the server broke.
    Error,
}

impl AttemptResult {
    /// Upstream's word in the label `result`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Scheduled => "scheduled",
            Self::Unschedulable => "unschedulable",
            Self::Error => "error",
        }
    }
}

/// Something that was measured. Each is named after the metric of upstream that it feeds, where
/// there is one.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Observation<'a> {
    /// A try of a pod is over, its binding included (`schedule_attempts_total`,
    /// `scheduling_attempt_duration_seconds`).
    Attempt {
        /// The profile's scheduler name.
        profile: &'a str,
        /// What it came to.
        result: AttemptResult,
        /// From the beginning of the scheduling cycle on.
        took: Duration,
    },
    /// A node was found, or not (`scheduling_algorithm_duration_seconds`).
    Algorithm {
        /// From PreFilter to the choice, or to the end of PostFilter.
        took: Duration,
    },
    /// A pod is bound (`pod_scheduling_attempts`, `pod_scheduling_sli_duration_seconds`,
    /// `pod_scheduled_after_flush_total`).
    Scheduled {
        /// How many tries it took.
        attempts: u32,
        /// From its first entry into the active queue on.
        took: Option<Duration>,
        /// Whether the last try began because the pod had waited for too long.
        after_flush: bool,
    },
    /// All plugins of a point were asked (`framework_extension_point_duration_seconds`).
    Point {
        /// The profile's scheduler name.
        profile: &'a str,
        /// The point.
        point: CallPoint,
        /// What they said together.
        code: Code,
        /// How long they took.
        took: Duration,
    },
    /// A plugin was asked, in one cycle of ten (`plugin_execution_duration_seconds`).
    Plugin {
        /// The plugin.
        plugin: &'static str,
        /// The point.
        point: CallPoint,
        /// What it said.
        code: Code,
        /// How long it took.
        took: Duration,
    },
    /// A plugin was asked in a cycle (`plugin_evaluation_total`).
    Evaluated {
        /// The profile's scheduler name.
        profile: &'a str,
        /// The plugin.
        plugin: &'static str,
        /// PreFilter, Filter, PreScore or Score.
        point: CallPoint,
        /// How often.
        times: u64,
    },
    /// A plugin said whether a change may help a pod (`queueing_hint_execution_duration_seconds`).
    Hint {
        /// The plugin.
        plugin: &'static str,
        /// The change.
        event: ClusterEvent,
        /// `Queue`, `QueueSkip` or `Error`.
        hint: &'static str,
        /// How long it took.
        took: Duration,
    },
    /// A change of the cluster was taken in (`event_handling_duration_seconds`).
    Event {
        /// What it amounts to; a change that amounts to several is told once for each.
        event: ClusterEvent,
        /// How long it took, what it woke included.
        took: Duration,
    },
    /// A wait at Permit is over (`permit_wait_duration_seconds`).
    PermitWait {
        /// How it ended.
        code: Code,
        /// How long it was.
        took: Duration,
    },
    /// The `DefaultPreemption` plugin was asked to make room (`preemption_attempts_total`).
    PreemptionAttempt,
    /// Victims were chosen (`preemption_victims`).
    PreemptionVictims {
        /// How many.
        count: usize,
    },
    /// The victims of a preemption are gone, or one could not be removed
    /// (`preemption_goroutines_duration_seconds`, `preemption_goroutines_execution_total`).
    PreemptionDone {
        /// Whether all could be removed.
        ok: bool,
        /// How long it took.
        took: Duration,
    },
    /// Pods are preempted for a pod for which pods have been preempted before: others took the room
    /// (k/k#130429). Not in upstream.
    PreemptsAgain {
        /// The profile's scheduler name.
        profile: &'a str,
    },
    /// A plugin panicked. Not in upstream, which would have ended.
    Panic {
        /// The plugin.
        plugin: &'static str,
        /// Where.
        point: CallPoint,
    },
    /// A plugin used up its time budget of a cycle, or took longer than that for one call outside of
    /// it. Not in upstream.
    OverBudget {
        /// The plugin.
        plugin: &'static str,
        /// Where.
        point: CallPoint,
    },
}
