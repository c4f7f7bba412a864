//! Another configuration takes the place of the one in use, between two cycles.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use loadmaster_framework::{Object, PodInfo, api::Text};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use super::{
    OptionsError, Scheduler, SchedulerOptions, binding_cycle::BindingCycle, host::Profiles,
    instance::SlotId,
};

/// What replacing the profiles has changed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Replaced {
    /// Scheduler names that were not there before.
    pub added: Vec<Text>,
    /// Scheduler names that are there no more.
    pub removed: Vec<Text>,
    /// Pods that wait now since their profile is one of the added.
    pub adopted: usize,
    /// Pods that wait no more since their profile is one of the removed.
    pub dropped: usize,
    /// Pods that wait at Permit or are being bound: the plugins that they were begun with go on to
    /// deal with them.
    pub superseded: usize,
}

impl Scheduler {
    /// Puts `options` in the place of what the scheduler was made of; what it knows of the cluster
    /// stays.
    ///
    /// Pods that wait at Permit or are being bound stay with the plugins, and the extenders, that
    /// they were begun with until that is over. Every other pod is the new profiles' business at
    /// once: PreEnqueue is asked anew about each, backoffs are those of the new settings, the order
    /// is that of the new queue sort plugin, and unschedulable pods are tried again once their
    /// backoff is over. Nodes promised to pods stay promised. What a plugin has kept between cycles
    /// stays where its name and its arguments are the same, and is dropped otherwise. Draws go on
    /// where they were unless the seed is another.
    ///
    /// # Errors
    /// [`OptionsError`] says what is wrong with the profiles; then nothing has changed.
    pub fn replace_profiles(
        &mut self,
        now: Duration,
        options: SchedulerOptions,
    ) -> Result<Replaced, OptionsError> {
        let queue_options = options.queue();
        let (percentage, seed) = (options.percentage_of_nodes_to_score, options.seed);
        let profiles = Profiles::new(options, &mut self.slots, Some(&self.profiles))?;
        let before = std::mem::replace(&mut self.profiles, profiles);
        self.percentage_of_nodes_to_score = percentage;
        if seed != self.seed {
            self.seed = seed;
            self.rng = ChaCha8Rng::seed_from_u64(seed);
        }
        let (queue, host) = self.queue_and_host();
        let dropped = queue.replace_profiles(&host, now, queue_options);
        let adopted = self.adopt(now, &before);
        self.settle_waits(now);
        let missing = |these: &Profiles, those: &Profiles| -> Vec<Text> {
            let names = these.iter().map(|it| it.scheduler_name());
            names.filter(|it| those.get(it).is_none()).cloned().collect()
        };
        Ok(Replaced {
            added: missing(&self.profiles, &before),
            removed: missing(&before, &self.profiles),
            adopted,
            dropped,
            superseded: self.superseded_count(),
        })
    }

    /// Pods that nobody here was responsible for until now begin to wait, in the order of their
    /// names.
    fn adopt(&mut self, now: Duration, before: &Profiles) -> usize {
        let is_new = |it: &&Arc<PodInfo>| {
            let name = it.scheduler_name();
            it.node_name().is_none()
                && self.profiles.get(name).is_some()
                && before.get(name).is_none()
                && !self.cache.is_assumed(it.uid())
                && !self.queue.is_in_flight(it.uid())
        };
        let mut pods: Vec<_> = self.pods.iter().filter(is_new).cloned().collect();
        pods.sort_by_key(|it| it.key());
        let count = pods.len();
        for pod in pods {
            let (queue, host) = self.queue_and_host();
            queue.add(&host, now, pod);
        }
        count
    }

    /// How many pods are with plugins that have been replaced.
    pub fn superseded_count(&self) -> usize {
        let used = self.bindings.values().map(BindingCycle::instance);
        used.filter(|it| !self.profiles.has(it)).count()
    }

    /// Once no pod is with plugins that have been replaced: drops what those kept between cycles.
    /// Returns whether that is so.
    pub fn forget_superseded(&mut self) -> bool {
        if self.superseded_count() > 0 {
            return false;
        }
        let used = self.profiles.iter().flat_map(|it| it.slots().iter().copied());
        let used: BTreeSet<SlotId> = used.collect();
        self.slots.retain(&used);
        true
    }

    /// Forgets every object of the kind of `like`, without waking anybody: the kind is not watched
    /// any more. Nodes and pods stay.
    pub fn forget_kind(&mut self, like: &Object) {
        self.cache.listers_mut().clear_kind(like);
    }

    /// Forgets every fact of the feed of this name, without waking anybody: nobody fetches it any
    /// more.
    pub fn forget_feed(&mut self, feed: &str) {
        self.cache.listers_mut().clear_feed(feed);
    }
}
