//! How to take part in an election.

use std::time::Duration;

use loadmaster_config::LeaderElection;

use super::record::NUMBER_MAX;

/// How to take part in an election.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ElectionOptions {
    /// The lease's namespace.
    pub namespace: String,
    /// The lease's name.
    pub name: String,
    /// Who contends: the host's name and something unique, so that two processes of one host are
    /// two candidates.
    pub identity: String,
    /// Who records the events of the election: the first profile's scheduler name.
    pub reporter: String,
    /// How long others wait for a silent leader.
    pub lease_duration: Duration,
    /// How long after the start of its last successful renewal a leader leads.
    pub renew_deadline: Duration,
    /// How long between two tries.
    pub retry_period: Duration,
}

/// Why settings make no election.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ElectionError {
    /// A time is not above another that it must be above.
    #[error(
        "leader election: {what} must be greater than {than}, and {value:?} is not greater than \
         {limit:?}; change leaderElection.{what} or --leader-elect-{flag}"
    )]
    TooShort {
        /// The field of `leaderElection`.
        what: &'static str,
        /// The field's flag, without its prefix.
        flag: &'static str,
        /// What it must be above.
        than: &'static str,
        /// The field's value.
        value: Duration,
        /// What that comes to.
        limit: Duration,
    },
    /// Only Leases are locks.
    #[error(
        "leader election: resourceLock is {given:?}, and only \"leases\" can be locks; change \
         leaderElection.resourceLock or --leader-elect-resource-lock"
    )]
    Lock {
        /// What was asked for.
        given: String,
    },
}

/// Pauses between two tries of a candidate are longer than the retry period by up to this factor of
/// it (upstream's number).
pub(super) const JITTER_FACTOR: f64 = 1.2;

impl ElectionOptions {
    /// The options that `settings` come to, for a candidate on `host` whose events are reported by
    /// `reporter`.
    ///
    /// # Errors
    /// [`ElectionError`], by upstream's rules (`NewLeaderElector`).
    pub fn new(
        settings: &LeaderElection,
        host: &str,
        reporter: &str,
    ) -> Result<Self, ElectionError> {
        if settings.resource_lock != "leases" {
            return Err(ElectionError::Lock { given: settings.resource_lock.clone() });
        }
        let options = Self {
            namespace: settings.resource_namespace.clone(),
            name: settings.resource_name.clone(),
            identity: format!("{host}_{}", uuid::Uuid::new_v4()),
            reporter: reporter.to_owned(),
            lease_duration: settings.lease_duration.to_std(),
            renew_deadline: settings.renew_deadline.to_std(),
            retry_period: settings.retry_period.to_std(),
        };
        let (lease, renew, retry) =
            (options.lease_duration, options.renew_deadline, options.retry_period);
        let above = |what, flag, value: Duration, than, limit: Duration| {
            let short = ElectionError::TooShort { what, flag, than, value, limit };
            if value > limit { Ok(()) } else { Err(short) }
        };
        above("retryPeriod", "retry-period", retry, "zero", Duration::ZERO)?;
        let longest = retry.mul_f64(JITTER_FACTOR);
        above("renewDeadline", "renew-deadline", renew, "retryPeriod*JitterFactor", longest)?;
        above("leaseDuration", "lease-duration", lease, "renewDeadline", renew)?;
        Ok(options)
    }

    /// The lease, as people write it.
    pub fn lock(&self) -> String {
        format!("{}/{}", self.namespace, self.name)
    }

    /// How long one call may take (upstream: `NewFromKubeconfig`).
    pub(super) fn call_limit(&self) -> Duration {
        (self.renew_deadline / 2).max(Duration::from_secs(1))
    }

    /// What a Lease says of the duration, which it knows in whole seconds only. Rounded up: others
    /// must not think us gone earlier than we do.
    pub(super) fn lease_duration_seconds(&self) -> u64 {
        let whole = self.lease_duration.as_secs();
        whole.saturating_add(u64::from(self.lease_duration.subsec_nanos() > 0)).min(NUMBER_MAX)
    }
}

#[cfg(test)]
mod tests {
    use loadmaster_framework::duration::GoDuration;

    use super::*;

    fn settings(lease: i64, renew: i64, retry: i64) -> LeaderElection {
        LeaderElection {
            leader_elect: true,
            lease_duration: GoDuration::from_secs(lease),
            renew_deadline: GoDuration::from_secs(renew),
            retry_period: GoDuration::from_secs(retry),
            resource_lock: "leases".to_owned(),
            resource_name: "kube-scheduler".to_owned(),
            resource_namespace: "kube-system".to_owned(),
        }
    }

    fn refused(settings: &LeaderElection) -> String {
        ElectionOptions::new(settings, "host", "me").unwrap_err().to_string()
    }

    #[test]
    fn times_are_checked_as_in_the_original() {
        assert!(ElectionOptions::new(&settings(15, 10, 2), "host", "me").is_ok());
        let text = refused(&settings(10, 10, 2));
        assert!(text.contains("leaseDuration must be greater than renewDeadline"), "{text}");
        assert!(text.contains("--leader-elect-lease-duration"), "{text}");
        let text = refused(&settings(15, 12, 10));
        assert!(text.contains("renewDeadline must be greater than retryPeriod*Jitter"), "{text}");
        let text = refused(&settings(15, 10, 0));
        assert!(text.contains("retryPeriod must be greater than zero"), "{text}");
    }

    #[test]
    fn only_leases_are_locks() {
        let old = LeaderElection { resource_lock: "endpoints".into(), ..settings(15, 10, 2) };
        assert!(refused(&old).contains(r#"resourceLock is "endpoints""#));
    }

    #[test]
    fn a_candidate_is_named_after_its_host_and_is_unique() {
        let new = || ElectionOptions::new(&settings(15, 10, 2), "host", "me").unwrap().identity;
        let (one, other) = (new(), new());
        assert!(one.starts_with("host_"), "{one}");
        assert_ne!(one, other);
    }
}
