//! What a scheduler is made of.

use std::{sync::Arc, time::Duration};

use loadmaster_config::Loaded;
use loadmaster_framework::{Gates, Registry};

use crate::{
    cycle::ExtenderSpec,
    meter::Meter,
    profile::{Profile, ProfileError, ProfileSpec},
    queue::QueueOptions,
};

/// What a scheduler is made of. `Default` has upstream's defaults and no profile.
#[derive(Debug)]
pub struct SchedulerOptions {
    /// At least one, with different scheduler names and the same queue sort plugin.
    pub profiles: Vec<Profile>,
    /// 0..=100; 0 is adaptive.
    pub percentage_of_nodes_to_score: u32,
    /// Backoff after the first failure.
    pub pod_initial_backoff: Duration,
    /// Backoff never grows beyond this.
    pub pod_max_backoff: Duration,
    /// A pod that waits for a change for longer is tried anyway.
    pub pod_max_in_unschedulable_pods: Duration,
    /// Extenders, in the order of the configuration.
    pub extenders: Vec<ExtenderSpec>,
    /// Draws among equal nodes come from this alone.
    pub seed: u64,
    /// Measures what happens; absent, nothing is measured and no plugin can be too slow.
    pub meter: Option<Arc<dyn Meter>>,
    /// What each plugin may take in a scheduling cycle; absent is any time. A plugin that takes more
    /// fails the pod of that cycle.
    pub plugin_time_budget: Option<Duration>,
}

impl SchedulerOptions {
    /// What a loaded configuration asks for, with plugins from `registry`.
    ///
    /// # Errors
    /// [`ProfileError`] where a plugin cannot be built.
    pub fn from_config(
        loaded: &Loaded,
        registry: &Registry,
        gates: &Gates,
    ) -> Result<Self, ProfileError> {
        let profiles = loaded.profiles.iter();
        let seconds = |it: i64| Duration::from_secs(u64::try_from(it).unwrap_or(0));
        Ok(Self {
            profiles: profiles
                .map(|it| Profile::build(&ProfileSpec::from(it), registry, gates))
                .collect::<Result<_, _>>()?,
            percentage_of_nodes_to_score: u32::try_from(loaded.config.percentage_of_nodes_to_score)
                .unwrap_or(0),
            pod_initial_backoff: seconds(loaded.config.pod_initial_backoff_seconds),
            pod_max_backoff: seconds(loaded.config.pod_max_backoff_seconds),
            pod_max_in_unschedulable_pods: Self::default().pod_max_in_unschedulable_pods,
            extenders: loaded.config.extenders.iter().map(ExtenderSpec::from).collect(),
            ..Self::default()
        })
    }

    /// How long pods wait.
    pub(super) fn queue(&self) -> QueueOptions {
        QueueOptions {
            pod_initial_backoff: self.pod_initial_backoff,
            pod_max_backoff: self.pod_max_backoff,
            pod_max_in_unschedulable_pods: self.pod_max_in_unschedulable_pods,
        }
    }
}

impl Default for SchedulerOptions {
    fn default() -> Self {
        Self {
            profiles: Vec::new(),
            percentage_of_nodes_to_score: 0,
            pod_initial_backoff: Duration::from_secs(1),
            pod_max_backoff: Duration::from_secs(10),
            pod_max_in_unschedulable_pods: Duration::from_mins(5),
            extenders: Vec::new(),
            seed: 0,
            meter: None,
            plugin_time_budget: None,
        }
    }
}

/// Why a scheduler cannot be made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OptionsError {
    /// There is nothing to schedule with.
    #[error("at least one profile is required")]
    NoProfile,
    /// A pod would not know which of two to ask.
    #[error("duplicate profile with scheduler name {0:?}")]
    DuplicateProfile(String),
    /// One queue has one order.
    #[error("different queue sort plugins for profile {profile:?}: {got:?}, first: {first:?}")]
    QueueSort {
        /// The profile that differs.
        profile: String,
        /// Its plugin.
        got: &'static str,
        /// The first profile's plugin.
        first: &'static str,
    },
}
