//! The election as a state machine: it is told the time and what the server answered, and says what
//! to do next.
//!
//! Who leads is written in a Lease. A candidate takes it over when it names nobody, or when it has
//! not changed for as long as it says, measured on the candidate's own clock from when it saw the
//! last change: no clock is compared with another's, so that a clock that jumps makes no two
//! leaders. Every write has the version that was read as its condition.
//!
//! Source: `staging/src/k8s.io/client-go/tools/leaderelection/leaderelection.go`, v1.36. Three things
//! are stricter here: a leader that reads another's name in the lease is none from then on, the time
//! to lead is counted from the start of the last successful write, not from the first try after it,
//! and a lease that is deleted stays its holder's for as long as it said.

use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::{
    options::{ElectionOptions, JITTER_FACTOR},
    record::{LeaderElectionRecord, NUMBER_MAX, micro_time},
};

/// Now, by two clocks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Moment {
    /// Time since some fixed moment; never runs backwards. All decisions are by this one.
    pub(super) now: Duration,
    /// What the clock on the wall shows, for readers of the lease.
    pub(super) wall: Timestamp,
}

/// A call to make.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Call {
    /// Reads the lease.
    Get,
    /// Creates the lease.
    Create(Value),
    /// Replaces the lease, if it is still the one that was read.
    Update(Value),
}

/// What the server answered.
#[derive(Clone, Debug)]
pub(super) enum Answer {
    /// The lease as it is now.
    Lease(Value),
    /// There is none.
    NotFound,
    /// Anything else, or nothing.
    Failed,
}

/// What to do next.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Next {
    /// This call.
    Call(Call),
    /// Nothing for so long, then [`Elector::begin`] again.
    Pause(Duration),
    /// Nothing ever again: this candidate led, and does not any more.
    Lost(Loss),
}

/// Why a leader does not lead any more.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Loss {
    /// No renewal succeeded in time.
    #[error("the lease could not be renewed within {0:?}")]
    Deadline(Duration),
    /// Another has taken the lease.
    #[error("{0} holds the lease")]
    Taken(String),
}

/// See the [module](self).
#[derive(Debug)]
pub(super) struct Elector {
    options: ElectionOptions,
    /// The lease as it was last read or written.
    lease: Value,
    /// What it says, and since when, by our clock.
    observed: LeaderElectionRecord,
    observed_at: Duration,
    /// When the last successful write of a leader began; `None` before this candidate leads.
    renewed: Option<Duration>,
    step: Step,
    slow_paths: u64,
}

/// Which answer is awaited.
#[derive(Debug)]
enum Step {
    Idle,
    /// That of a renewal without reading first.
    Renewing {
        begun: Duration,
    },
    Reading,
    Writing {
        begun: Duration,
    },
}

impl Elector {
    pub(super) fn new(options: ElectionOptions) -> Self {
        Self {
            options,
            lease: Value::Null,
            observed: LeaderElectionRecord::default(),
            observed_at: Duration::ZERO,
            renewed: None,
            step: Step::Idle,
            slow_paths: 0,
        }
    }

    pub(super) fn options(&self) -> &ElectionOptions {
        &self.options
    }

    /// The lease as it was last read or written.
    pub(super) fn lease(&self) -> &Value {
        &self.lease
    }

    /// Who was last seen to hold the lease; empty is nobody.
    pub(super) fn holder(&self) -> &str {
        &self.observed.holder
    }

    /// When the last successful write of this leader began.
    pub(super) fn renewed(&self) -> Option<Duration> {
        self.renewed
    }

    /// Until when this candidate leads, if it does.
    pub(super) fn lead_until(&self) -> Option<Duration> {
        Some(self.renewed? + self.options.renew_deadline)
    }

    /// How often a leader had to read the lease to renew it.
    pub(super) fn slow_paths(&self) -> u64 {
        self.slow_paths
    }

    /// Begins a try to come to lead, or to go on leading.
    pub(super) fn begin(&mut self, at: Moment) -> Next {
        if let Some(loss) = self.overdue(at.now) {
            return Next::Lost(loss);
        }
        if self.holds() && self.is_lease_valid(at.now) {
            self.step = Step::Renewing { begun: at.now };
            return Next::Call(Call::Update(self.claim(at)));
        }
        self.read()
    }

    /// Takes in the answer to the last call. `jitter`, from 0 to 1, spreads the tries of candidates.
    pub(super) fn answered(&mut self, at: Moment, answer: Answer, jitter: f64) -> Next {
        if let Some(loss) = self.overdue(at.now) {
            return Next::Lost(loss);
        }
        match (std::mem::replace(&mut self.step, Step::Idle), answer) {
            (Step::Renewing { begun } | Step::Writing { begun }, Answer::Lease(lease)) => {
                self.took(lease, begun);
                self.pause(at.now, jitter)
            }
            (Step::Renewing { .. }, _) => self.read(),
            (Step::Reading, Answer::Lease(lease)) => self.was_read(at, lease, jitter),
            // Somebody deleted it under its holder, who knows nothing of that yet.
            (Step::Reading, Answer::NotFound) if self.is_anothers(at.now) => {
                self.pause(at.now, jitter)
            }
            (Step::Reading, Answer::NotFound) => {
                self.lease = Value::Null;
                self.observed = LeaderElectionRecord::default();
                self.step = Step::Writing { begun: at.now };
                Next::Call(Call::Create(self.claim(at)))
            }
            (Step::Reading | Step::Writing { .. } | Step::Idle, _) => self.pause(at.now, jitter),
        }
    }

    /// What gives the lease up, where `lease` is ours.
    pub(super) fn release(&self, at: Moment, mut lease: Value) -> Option<Value> {
        let old = LeaderElectionRecord::of(&lease);
        if old.holder != self.options.identity {
            return None;
        }
        let now = micro_time(at.wall);
        let record = LeaderElectionRecord {
            holder: String::new(),
            lease_duration_seconds: 1,
            acquire_time: now.clone(),
            renew_time: now,
            lease_transitions: old.lease_transitions,
        };
        lease["spec"] = record.spec();
        Some(lease)
    }

    fn read(&mut self) -> Next {
        self.step = Step::Reading;
        Next::Call(Call::Get)
    }

    fn was_read(&mut self, at: Moment, lease: Value, jitter: f64) -> Next {
        let record = LeaderElectionRecord::of(&lease);
        self.lease = lease;
        if record != self.observed {
            self.observed = record;
            self.observed_at = at.now;
        }
        if self.names_another() && self.renewed.is_some() {
            return Next::Lost(Loss::Taken(self.observed.holder.clone()));
        }
        if self.is_anothers(at.now) {
            return self.pause(at.now, jitter);
        }
        if self.renewed.is_some() {
            self.slow_paths += 1;
        }
        self.step = Step::Writing { begun: at.now };
        Next::Call(Call::Update(self.claim(at)))
    }

    /// The lease is ours, by a write that began at `begun`.
    fn took(&mut self, lease: Value, begun: Duration) {
        self.observed = LeaderElectionRecord::of(&lease);
        self.observed_at = begun;
        self.lease = lease;
        self.renewed = Some(begun);
    }

    /// The lease as it would be ours.
    fn claim(&self, at: Moment) -> Value {
        let now = micro_time(at.wall);
        let holds = self.holds();
        let changes = !self.lease.is_null() && !holds;
        let transitions = self.observed.lease_transitions + u64::from(changes);
        let record = LeaderElectionRecord {
            holder: self.options.identity.clone(),
            lease_duration_seconds: self.options.lease_duration_seconds(),
            acquire_time: if holds { self.observed.acquire_time.clone() } else { now.clone() },
            renew_time: now,
            lease_transitions: transitions.min(NUMBER_MAX),
        };
        let mut lease = if self.lease.is_null() {
            let ElectionOptions { name, namespace, .. } = &self.options;
            json!({
                "apiVersion": "coordination.k8s.io/v1",
                "kind": "Lease",
                "metadata": {"name": name, "namespace": namespace},
            })
        } else {
            self.lease.clone()
        };
        lease["spec"] = record.spec();
        lease
    }

    fn holds(&self) -> bool {
        self.observed.holder == self.options.identity
    }

    fn names_another(&self) -> bool {
        !self.observed.holder.is_empty() && !self.holds()
    }

    /// Whether another may still take itself for the leader.
    fn is_anothers(&self, now: Duration) -> bool {
        self.names_another() && self.is_lease_valid(now)
    }

    fn is_lease_valid(&self, now: Duration) -> bool {
        self.observed_at + Duration::from_secs(self.observed.lease_duration_seconds) > now
    }

    fn overdue(&self, now: Duration) -> Option<Loss> {
        let late = self.lead_until().is_some_and(|it| now >= it);
        late.then_some(Loss::Deadline(self.options.renew_deadline))
    }

    /// A leader pauses evenly, and never for longer than it leads; a candidate unevenly.
    fn pause(&self, now: Duration, jitter: f64) -> Next {
        let retry = self.options.retry_period;
        Next::Pause(match self.lead_until() {
            Some(until) => retry.min(until.saturating_sub(now)),
            None => retry.mul_f64(1.0 + JITTER_FACTOR * jitter),
        })
    }
}

#[cfg(test)]
mod tests;
