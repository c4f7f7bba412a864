//! The profiles, as the queue asks for them.

use std::{sync::Arc, time::Duration};

use loadmaster_framework::{
    Enqueue, Hint, Listers, Outcome, PluginError, QueuedPodInfo, QueueingHint, api::Text,
};

use super::{
    OptionsError, SchedulerOptions,
    executor::Preemptions,
    instance::{Instance, SlotStore},
    known::KnownPods,
};
use crate::{
    profile::Profile,
    queue::{QueueHost, QueueingHintMap, QueueingHintMaps},
};

/// Every profile, by the name that pods ask for.
#[derive(Debug)]
pub(super) struct Profiles {
    list: Vec<Arc<Instance>>,
    hints: QueueingHintMaps,
}

impl Profiles {
    /// Checks that pods can be told apart, and that the one queue has one order. `before` are the
    /// profiles whose place these take.
    pub(super) fn new(
        options: SchedulerOptions,
        slots: &mut SlotStore,
        before: Option<&Self>,
    ) -> Result<Self, OptionsError> {
        let SchedulerOptions { profiles: mut list, extenders, meter, plugin_time_budget, .. } =
            options;
        if let Some(meter) = &meter {
            for profile in &mut list {
                profile.watch_by(Arc::clone(meter), plugin_time_budget);
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
        let has_extenders = !extenders.is_empty();
        let hints = list
            .iter()
            .map(|it| {
                let map = QueueingHintMap::of(it.hooks(), has_extenders);
                (it.scheduler_name().clone(), map)
            })
            .collect();
        let extenders: Arc<[_]> = extenders.into();
        let instance = |profile: Profile| {
            let before = before.and_then(|it| it.get(profile.scheduler_name()));
            let before = before.map(|it| &**it);
            Arc::new(Instance::new(profile, Arc::clone(&extenders), before, slots))
        };
        Ok(Self { list: list.into_iter().map(instance).collect(), hints })
    }

    /// The profile for this schedulerName.
    pub(super) fn get(&self, scheduler_name: &str) -> Option<&Arc<Instance>> {
        self.list.iter().find(|it| &**it.scheduler_name() == scheduler_name)
    }

    /// Whether this very instance is in use for new pods.
    pub(super) fn has(&self, instance: &Arc<Instance>) -> bool {
        self.list.iter().any(|it| Arc::ptr_eq(it, instance))
    }

    /// Every profile, in the order of the configuration.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Arc<Instance>> {
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
        self.profiles.get(scheduler_name).map(|it| &***it)
    }

    fn is_preempting(&self, uid: &Text) -> bool {
        self.preemptions.is_running(uid, self.pods)
    }
}

impl QueueHost for Host<'_> {
    fn less(&self, a: &QueuedPodInfo, b: &QueuedPodInfo) -> bool {
        self.profiles.list[0].less(a, b)
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
