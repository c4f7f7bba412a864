//! Whether and how one of several copies is chosen to work.
//!
//! Source: component-base, `config/options/leaderelectionconfig.go`, 1.36.

use clap::ArgAction;
use loadmaster_config::LeaderElection;
use loadmaster_framework::duration::GoDuration;

use super::value::boolean;

/// Whether and how one of several copies is chosen to work. Each flag that is given comes before
/// the configuration's own word, as in the original.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "Leader election (each comes before the configuration's own word)")]
#[expect(clippy::struct_field_names, reason = "the names of the flags")]
pub(crate) struct LeaderFlags {
    /// Whether to work only while holding a lease; true where neither flag nor configuration says
    /// otherwise
    #[arg(
        long,
        value_name = "BOOL",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "true",
        value_parser = boolean,
        action = ArgAction::Set
    )]
    pub(crate) leader_elect: Option<bool>,
    /// How long the others wait for a leader that is silent; 15s
    #[arg(long, value_name = "DURATION")]
    pub(crate) leader_elect_lease_duration: Option<GoDuration>,
    /// How long a leader tries to renew before it gives up; less than the lease's duration; 10s
    #[arg(long, value_name = "DURATION")]
    pub(crate) leader_elect_renew_deadline: Option<GoDuration>,
    /// Time between tries; 2s
    #[arg(long, value_name = "DURATION")]
    pub(crate) leader_elect_retry_period: Option<GoDuration>,
    /// The kind of the lock; `leases` is the only one
    #[arg(long, value_name = "KIND")]
    pub(crate) leader_elect_resource_lock: Option<String>,
    /// The lease's name; kube-scheduler
    #[arg(long, value_name = "NAME")]
    pub(crate) leader_elect_resource_name: Option<String>,
    /// The lease's namespace; kube-system
    #[arg(long, value_name = "NAMESPACE")]
    pub(crate) leader_elect_resource_namespace: Option<String>,
}

impl LeaderFlags {
    /// Lays what is given over `settings` (upstream: `ApplyLeaderElectionTo`).
    pub(crate) fn apply_to(&self, settings: &mut LeaderElection) {
        fn lay<T: Clone>(given: Option<&T>, field: &mut T) {
            if let Some(given) = given {
                field.clone_from(given);
            }
        }
        lay(self.leader_elect.as_ref(), &mut settings.leader_elect);
        lay(self.leader_elect_lease_duration.as_ref(), &mut settings.lease_duration);
        lay(self.leader_elect_renew_deadline.as_ref(), &mut settings.renew_deadline);
        lay(self.leader_elect_retry_period.as_ref(), &mut settings.retry_period);
        lay(self.leader_elect_resource_lock.as_ref(), &mut settings.resource_lock);
        lay(self.leader_elect_resource_name.as_ref(), &mut settings.resource_name);
        lay(self.leader_elect_resource_namespace.as_ref(), &mut settings.resource_namespace);
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::parse;
    use super::*;

    #[test]
    fn leader_election_is_switched_as_in_the_original() {
        let leader_elect = |args: &[&str]| parse(args).unwrap().leader.leader_elect;
        assert_eq!(leader_elect(&[]), None);
        assert_eq!(leader_elect(&["--leader-elect"]), Some(true));
        assert_eq!(leader_elect(&["--leader-elect=F"]), Some(false));
    }

    #[test]
    fn what_is_given_comes_before_the_configuration_and_the_rest_stays() {
        let mut settings = LeaderElection {
            leader_elect: true,
            lease_duration: GoDuration::from_secs(15),
            resource_name: "kube-scheduler".to_owned(),
            ..LeaderElection::default()
        };
        let run = parse(&["--leader-elect-lease-duration=1m", "--leader-elect=false"]).unwrap();
        run.leader.apply_to(&mut settings);
        assert!(!settings.leader_elect);
        assert_eq!(settings.lease_duration, GoDuration::from_secs(60));
        assert_eq!(settings.resource_name, "kube-scheduler");
    }
}
