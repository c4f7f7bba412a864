//! What a Lease says about who leads.

use jiff::Timestamp;
use serde_json::{Value, json};

/// The part of a Lease that the election is about (upstream: `LeaderElectionRecord`). Times are
/// kept as they are written: others' clocks are compared with nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct LeaderElectionRecord {
    /// Who leads; empty is nobody.
    pub(super) holder: String,
    /// How long the holder leads without renewing.
    pub(super) lease_duration_seconds: u64,
    /// When the holder came to lead.
    pub(super) acquire_time: String,
    /// When the holder renewed last.
    pub(super) renew_time: String,
    /// How often the lease changed hands.
    pub(super) lease_transitions: u64,
}

/// The largest number that a Lease can hold.
pub(super) const NUMBER_MAX: u64 = i32::MAX as u64;

impl LeaderElectionRecord {
    /// Reads a Lease; what is absent is empty.
    pub(super) fn of(lease: &Value) -> Self {
        let spec = &lease["spec"];
        let text = |name: &str| spec[name].as_str().unwrap_or_default().to_owned();
        let number = |name: &str| spec[name].as_u64().unwrap_or_default();
        Self {
            holder: text("holderIdentity"),
            lease_duration_seconds: number("leaseDurationSeconds"),
            acquire_time: text("acquireTime"),
            renew_time: text("renewTime"),
            lease_transitions: number("leaseTransitions"),
        }
    }

    /// The record as a Lease's specification.
    pub(super) fn spec(&self) -> Value {
        let mut spec = json!({
            "holderIdentity": self.holder,
            "leaseDurationSeconds": self.lease_duration_seconds,
            "leaseTransitions": self.lease_transitions,
        });
        for (name, time) in [("acquireTime", &self.acquire_time), ("renewTime", &self.renew_time)] {
            if !time.is_empty() {
                spec[name] = json!(time);
            }
        }
        spec
    }
}

/// The API's notation of a moment in a Lease (`MicroTime`).
pub(super) fn micro_time(at: Timestamp) -> String {
    at.strftime("%Y-%m-%dT%H:%M:%S%.6fZ").to_string()
}
