//! Makes the calls that the election asks for.

use std::time::Duration;

use http::Method;
use jiff::Timestamp;
use serde_json::{Value, json};
use tokio::{
    sync::watch,
    time::{Instant, timeout, timeout_at},
};
use tokio_util::sync::CancellationToken;

use super::{
    ElectionOptions, LeaderStatus,
    elector::{Answer, Call, Elector, Loss, Moment, Next},
    record::micro_time,
};
use crate::{
    kind::resource_path,
    rest::{CallError, JSON, Rest},
};

/// Takes part in an election.
pub(super) struct Driver {
    rest: Rest,
    elector: Elector,
    status: LeaderStatus,
    lead_until: watch::Sender<Option<Instant>>,
    begun: Instant,
    /// Whom the log last named as leader.
    reported: String,
}

/// How long an event of the election may take to be written.
const EVENT_LIMIT: Duration = Duration::from_secs(1);
/// How long giving the lease up may take.
const RELEASE_LIMIT: Duration = Duration::from_secs(2);

impl Driver {
    pub(super) fn new(
        rest: &Rest,
        options: ElectionOptions,
        status: LeaderStatus,
        lead_until: watch::Sender<Option<Instant>>,
    ) -> Self {
        let rest = rest.with_limit(options.call_limit());
        let (begun, reported) = (Instant::now(), String::new());
        Self { rest, elector: Elector::new(options), status, lead_until, begun, reported }
    }

    /// Runs until `stop`, or until leading is over.
    ///
    /// # Errors
    /// Why leading is over.
    pub(super) async fn run(&mut self, stop: &CancellationToken) -> Result<(), Loss> {
        let lock = self.elector.options().lock();
        tracing::info!(lock, "Attempting to acquire leader lease...");
        loop {
            let next = tokio::select! {
                next = self.attempt() => next,
                () = stop.cancelled() => return Ok(()),
            };
            let pause = match next {
                Ok(pause) => pause,
                Err(loss) => {
                    self.lead_until.send_replace(None);
                    tracing::info!(lock, reason = %loss, "Failed to renew lease");
                    self.record("stopped leading").await;
                    return Err(loss);
                }
            };
            tokio::select! {
                () = tokio::time::sleep(pause) => {}
                () = stop.cancelled() => return Ok(()),
            }
        }
    }

    /// One try; how long to pause after it.
    async fn attempt(&mut self) -> Result<Duration, Loss> {
        let mut next = self.elector.begin(self.moment());
        loop {
            match next {
                Next::Lost(loss) => return Err(loss),
                Next::Pause(pause) => return Ok(pause),
                Next::Call(call) => {
                    let answer = self.answer(&call).await;
                    next = self.elector.answered(self.moment(), answer, random_fraction());
                    if !matches!(next, Next::Lost(_)) {
                        self.publish().await;
                    }
                }
            }
        }
    }

    /// Tells the rest of the process how the election stands.
    async fn publish(&mut self) {
        let holder = self.elector.holder();
        if self.reported != holder {
            holder.clone_into(&mut self.reported);
            if !holder.is_empty() {
                tracing::info!(leader = holder, "new leader elected");
            }
        }
        while self.status.slow_paths() < self.elector.slow_paths() {
            self.status.note_slow_path();
        }
        let Some(renewed) = self.elector.renewed() else { return };
        self.status.note_renewal(self.begun + renewed);
        let first = self.lead_until.borrow().is_none();
        if first {
            let ElectionOptions { identity, .. } = self.elector.options();
            let lock = self.elector.options().lock();
            tracing::info!(lock, identity, "Successfully acquired lease");
        }
        self.lead_until.send_replace(self.elector.lead_until().map(|it| self.begun + it));
        if first {
            self.record("became leader").await;
        }
    }

    /// Makes a call, which for a leader ends with its time to lead.
    async fn answer(&self, call: &Call) -> Answer {
        let call = self.call(call);
        let result = match self.elector.lead_until() {
            Some(until) => timeout_at(self.begun + until, call).await,
            None => timeout(self.elector.options().renew_deadline, call).await,
        };
        let lock = self.elector.options().lock();
        match result {
            Ok(Ok(lease)) => Answer::Lease(lease),
            Ok(Err(CallError::Answer { code: 404, .. })) => Answer::NotFound,
            // Another was faster, which is what the version is there for.
            Ok(Err(error @ CallError::Answer { code: 409, .. })) => {
                tracing::debug!(lock, %error, "the lease has changed");
                Answer::Failed
            }
            Ok(Err(error)) => {
                tracing::warn!(lock, %error, "cannot read or write the leader lease");
                Answer::Failed
            }
            Err(_) => {
                tracing::warn!(lock, "no answer about the leader lease in time");
                Answer::Failed
            }
        }
    }

    async fn call(&self, call: &Call) -> Result<Value, CallError> {
        let ElectionOptions { namespace, name, .. } = self.elector.options();
        let all = resource_path("coordination.k8s.io/v1", "leases", namespace);
        let one = format!("{all}/{name}");
        let (method, path, body) = match call {
            Call::Get => (Method::GET, &one, None),
            Call::Create(lease) => (Method::POST, &all, Some(lease)),
            Call::Update(lease) => (Method::PUT, &one, Some(lease)),
        };
        let answer = self.rest.call(method, path, JSON, body).await?;
        serde_json::from_slice(&answer).map_err(|error| CallError::Unreadable(error.to_string()))
    }

    /// Gives the lease up, if it is ours. Nothing that needs it may be under way any more.
    pub(super) async fn release(self) {
        if self.lead_until.send_replace(None).is_none() {
            return;
        }
        let lock = self.elector.options().lock();
        let release = async {
            let lease = self.call(&Call::Get).await?;
            if let Some(lease) = self.elector.release(self.moment(), lease) {
                self.call(&Call::Update(lease)).await?;
                self.record("stopped leading").await;
            }
            Ok::<_, CallError>(())
        };
        match timeout(RELEASE_LIMIT, release).await {
            Ok(Ok(())) => tracing::info!(lock, "leader lease released"),
            Ok(Err(error)) => tracing::warn!(lock, %error, "Failed to release lease"),
            Err(_) => tracing::warn!(lock, "Failed to release lease: no answer in time"),
        }
    }

    /// Records what became of this candidate where users look for it.
    async fn record(&self, what: &str) {
        let options = self.elector.options();
        let body = event(options, self.elector.lease(), what, Timestamp::now());
        let path = resource_path("events.k8s.io/v1", "events", &options.namespace);
        let rest = self.rest.with_limit(EVENT_LIMIT);
        let write = rest.call(Method::POST, &path, JSON, Some(&body));
        match timeout(EVENT_LIMIT, write).await {
            Ok(Ok(_)) => {}
            Ok(Err(error)) => tracing::debug!(%error, "an event of the election is not written"),
            Err(_) => tracing::debug!("an event of the election is not written in time"),
        }
    }

    fn moment(&self) -> Moment {
        Moment { now: self.begun.elapsed(), wall: Timestamp::now() }
    }
}

/// From 0 to 1.
fn random_fraction() -> f64 {
    let (random, _) = uuid::Uuid::new_v4().as_u64_pair();
    // The upper 32 bits of a version 4 UUID are random.
    u32::try_from(random >> 32).map_or(0.0, |it| f64::from(it) / f64::from(u32::MAX))
}

/// The event that `what` happened to this candidate.
fn event(options: &ElectionOptions, lease: &Value, what: &str, at: Timestamp) -> Value {
    let ElectionOptions { namespace, name, identity, reporter, .. } = options;
    json!({
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {
            "name": format!("{name}.{:x}", at.as_nanosecond()),
            "namespace": namespace,
        },
        "eventTime": micro_time(at),
        "action": "LeaderElection",
        "reason": "LeaderElection",
        "type": "Normal",
        "reportingController": reporter,
        "reportingInstance": identity,
        "regarding": {
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "namespace": namespace,
            "name": name,
            "uid": lease["metadata"]["uid"],
            "resourceVersion": lease["metadata"]["resourceVersion"],
        },
        "note": format!("{identity} {what}"),
    })
}
