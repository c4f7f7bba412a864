//! The profiles, as the queue asks for them.

use std::{sync::Arc, time::Duration};

use loadmaster_framework::{
    Enqueue, Hint, Listers, Outcome, PluginError, QueuedPodInfo, QueueingHint, api::Text,
};

use super::{OptionsError, SchedulerOptions, executor::Preemptions, known::KnownPods};
use crate::{
    profile::Profile,
    queue::{QueueHost, QueueingHintMap, QueueingHintMaps},
};

/// Every profile, by the name that pods ask for.
#[derive(Debug)]
pub(super) struct Profiles {
    list: Vec<Profile>,
    hints: QueueingHintMaps,
}

impl Profiles {
    /// Checks that pods can be told apart, and that the one queue has one order.
    pub(super) fn new(options: &mut SchedulerOptions) -> Result<Self, OptionsError> {
        let mut list = std::mem::take(&mut options.profiles);
        if let Some(meter) = &options.meter {
            for profile in &mut list {
                profile.watch_by(Arc::clone(meter), options.plugin_time_budget);
            }
        }
        let Some(first) = list.first() else { return Err(OptionsError::NoProfile) };
        let sort = |it: &Profile| it.queue_sort_plugin();
        for (at, profile) in list.iter().enumerate() {
            let name = profile.scheduler_name();
            if list[..at].iter().any(|it| it.scheduler_name() == name) {
                return Err(OptionsError::DuplicateProfile(name.to_string()));
            }
            if sort(profile) != sort(first) {
                return Err(OptionsError::QueueSort {
                    profile: name.to_string(),
                    got: sort(profile),
                    first: sort(first),
                });
            }
        }
        let has_extenders = !options.extenders.is_empty();
        let hints = list
            .iter()
            .map(|it| {
                let map = QueueingHintMap::of(it.hooks(), has_extenders);
                (it.scheduler_name().clone(), map)
            })
            .collect();
        Ok(Self { list, hints })
    }

    /// Where the profile for this schedulerName stands.
    pub(super) fn position(&self, scheduler_name: &str) -> Option<usize> {
        self.list.iter().position(|it| &**it.scheduler_name() == scheduler_name)
    }

    /// The profile at this position.
    pub(super) fn at(&self, position: usize) -> &Profile {
        &self.list[position]
    }

    /// Every profile, in the order of the configuration.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Profile> {
        self.list.iter()
    }
}

/// What the queue asks of the rest of the scheduler.
pub(super) struct Host<'a> {
    pub(super) profiles: &'a Profiles,
    pub(super) preemptions: &'a Preemptions,
    pub(super) pods: &'a KnownPods,
    pub(super) listers: &'a Listers,
}

impl Host<'_> {
    fn profile(&self, scheduler_name: &str) -> Option<&Profile> {
        self.profiles.position(scheduler_name).map(|it| self.profiles.at(it))
    }

    fn is_preempting(&self, uid: &Text) -> bool {
        self.preemptions.is_running(uid, self.pods)
    }
}

impl QueueHost for Host<'_> {
    fn less(&self, a: &QueuedPodInfo, b: &QueuedPodInfo) -> bool {
        self.profiles.at(0).less(a, b)
    }

    fn pre_enqueue(&self, pod: &QueuedPodInfo, now: Duration) -> Outcome {
        let Some(profile) = self.profile(pod.pod.scheduler_name()) else { return Ok(()) };
        let preempting = self.is_preempting(pod.pod.uid());
        profile.run_pre_enqueue(Enqueue { pod: &pod.pod, now, preempting }, pod.gating_plugin)
    }

    fn hints(&self) -> &QueueingHintMaps {
        &self.profiles.hints
    }

    fn queueing_hint(
        &self,
        plugin: &'static str,
        hint: Hint<'_>,
    ) -> Result<QueueingHint, PluginError> {
        match self.profile(hint.pod.scheduler_name()) {
            Some(profile) => profile.run_queueing_hint(plugin, hint),
            None => Ok(QueueingHint::Queue),
        }
    }

    fn listers(&self) -> &Listers {
        self.listers
    }
}
