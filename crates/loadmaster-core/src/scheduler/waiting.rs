//! Pods that wait at Permit.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use loadmaster_framework::{Outcome, PodInfo, Status, WaitingPod, api::Text, duration::GoDuration};

/// One pod's wait.
#[derive(Debug)]
struct Wait {
    pod: WaitingPod,
    /// When it began.
    since: Duration,
}

/// Pods that wait at Permit, by uid.
#[derive(Debug, Default)]
pub(super) struct WaitingPods {
    pods: BTreeMap<Text, Wait>,
    /// Waits that are over, and how, until the scheduler takes them up.
    settled: Vec<(Text, Outcome)>,
}

impl WaitingPods {
    /// Begins a wait for `plugins`, each with its patience from `now` on.
    pub(super) fn insert(
        &mut self,
        now: Duration,
        pod: Arc<PodInfo>,
        node: Text,
        plugins: &[(&'static str, Duration)],
    ) {
        let pending_plugins =
            plugins.iter().map(|(name, patience)| (*name, now + *patience)).collect();
        let uid = pod.uid().clone();
        let pod = WaitingPod { pod, node, pending_plugins };
        self.pods.insert(uid, Wait { pod, since: now });
    }

    /// Every pod that waits, by uid.
    pub(super) fn list(&self) -> Vec<WaitingPod> {
        self.pods.values().map(|it| it.pod.clone()).collect()
    }

    /// How many wait.
    pub(super) fn len(&self) -> usize {
        self.pods.len()
    }

    /// Lets the pod go as far as `plugin` is concerned: the wait is over when every plugin that
    /// held it has let it go (k/k#82385).
    pub(super) fn allow(&mut self, uid: &str, plugin: &str) -> bool {
        let Some(Wait { pod, .. }) = self.pods.get_mut(uid) else { return false };
        pod.pending_plugins.retain(|(name, _)| *name != plugin);
        if pod.pending_plugins.is_empty() {
            self.settle(uid, Ok(()));
        }
        true
    }

    /// Ends the wait with a refusal.
    pub(super) fn reject(&mut self, uid: &str, plugin: &'static str, message: &str) -> bool {
        let status = Status::unschedulable(message.to_owned()).with_plugin(plugin);
        self.settle(uid, Err(status))
    }

    /// Ends the wait because the pod must make room. It is no refusal: the pod is tried again.
    pub(super) fn preempt(&mut self, uid: &str, plugin: &'static str) -> bool {
        self.settle(uid, Err(Status::error("preempted").with_plugin(plugin)))
    }

    fn settle(&mut self, uid: &str, outcome: Outcome) -> bool {
        let Some((uid, _)) = self.pods.remove_entry(uid) else { return false };
        self.settled.push((uid, outcome));
        true
    }

    /// Ends every wait whose plugin has run out of patience by `now`, in upstream's words.
    pub(super) fn expire(&mut self, now: Duration) {
        let expired: Vec<_> = self
            .pods
            .iter()
            .filter_map(|(uid, Wait { pod, since })| {
                let over = pod.pending_plugins.iter().filter(|(_, until)| *until <= now);
                let (plugin, until) = over.min_by_key(|(_, until)| *until)?;
                Some((uid.clone(), *plugin, until.saturating_sub(*since)))
            })
            .collect();
        for (uid, plugin, waited) in expired {
            let waited = GoDuration::from_std(waited);
            let message =
                format!("rejected due to timeout after waiting {waited} at plugin {plugin}");
            self.reject(&uid, plugin, &message);
        }
    }

    /// When the next plugin runs out of patience.
    pub(super) fn next_expiry(&self) -> Option<Duration> {
        let all = self.pods.values().flat_map(|it| &it.pod.pending_plugins);
        all.map(|(_, until)| *until).min()
    }

    /// Waits that are over since the last call.
    pub(super) fn take_settled(&mut self) -> Vec<(Text, Outcome)> {
        std::mem::take(&mut self.settled)
    }
}
