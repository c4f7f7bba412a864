//! How many waiting pods each plugin is the reason of.

use std::collections::BTreeMap;

use loadmaster_framework::QueuedPodInfo;
use loadmaster_framework::api::Text;

/// How many pods that wait each plugin has rejected in their last try, by profile (upstream: the
/// metric `unschedulable_pods`). A pod counts for each plugin that rejected it.
///
/// Unlike upstream, a pod that is deleted while it is active or backs off does not stay in the count.
#[derive(Clone, Debug, Default)]
pub(super) struct Reasons {
    counts: BTreeMap<(Text, &'static str), usize>,
    /// Grows with every change.
    version: u64,
}

impl Reasons {
    /// A pod begins to wait.
    pub(super) fn add(&mut self, info: &QueuedPodInfo) {
        for plugin in info.unschedulable_plugins.union(&info.pending_plugins) {
            self.add_one(info, plugin);
        }
    }

    /// One more plugin rejects a pod that waits already.
    pub(super) fn add_one(&mut self, info: &QueuedPodInfo, plugin: &'static str) {
        let key = (profile(info), plugin);
        *self.counts.entry(key).or_default() += 1;
        self.version += 1;
    }

    /// A pod waits no more.
    pub(super) fn remove(&mut self, info: &QueuedPodInfo) {
        for plugin in info.unschedulable_plugins.union(&info.pending_plugins) {
            let key = (profile(info), *plugin);
            if let Some(count) = self.counts.get_mut(&key) {
                *count = count.saturating_sub(1);
                self.version += 1;
            }
        }
    }

    /// Every count that was ever above zero.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, &'static str, usize)> {
        self.counts.iter().map(|((profile, plugin), count)| (&**profile, *plugin, *count))
    }

    pub(super) fn version(&self) -> u64 {
        self.version
    }
}

fn profile(info: &QueuedPodInfo) -> Text {
    let named = &info.pod.spec.scheduler_name;
    if named.is_empty() { Text::from(info.pod.scheduler_name()) } else { named.clone() }
}
