//! What the queue asks of the profiles.

use std::time::Duration;

use loadmaster_framework::{
    ClusterEvent, Hint, Listers, Object, Outcome, PluginError, QueuedPodInfo, QueueingHint,
};

use super::QueueingHintMaps;

/// What the queue asks of the profiles. Every call that ends in a plugin is guarded by the
/// implementation: a panic becomes an error, and never reaches the queue.
pub trait QueueHost {
    /// Whether `a` goes before `b`. Where the comparator breaks, `false` keeps the queue going.
    fn less(&self, a: &QueuedPodInfo, b: &QueuedPodInfo) -> bool;

    /// Asks the PreEnqueue plugins of the pod's profile, the one that gates it now
    /// ([`QueuedPodInfo::gating_plugin`]) first, until one refuses.
    ///
    /// # Errors
    /// The first refusal or error, with the plugin's name in it.
    fn pre_enqueue(&self, pod: &QueuedPodInfo, now: Duration) -> Outcome;

    /// Which changes may help pods that a plugin rejected, by profile.
    fn hints(&self) -> &QueueingHintMaps;

    /// Asks `plugin` of the profile of `hint.pod` about one change.
    ///
    /// # Errors
    /// Any error counts as [`QueueingHint::Queue`].
    fn queueing_hint(
        &self,
        plugin: &'static str,
        hint: Hint<'_>,
    ) -> Result<QueueingHint, PluginError>;

    /// What is known of the cluster beside its nodes and pods, for the hints.
    fn listers(&self) -> &Listers;
}

/// One change of the cluster: what kind, and the object before and after.
#[derive(Clone, Copy, Debug)]
pub struct Change<'a> {
    /// What happened: a single action.
    pub event: ClusterEvent,
    /// The object before; `None` where it appeared.
    pub old: Option<&'a Object>,
    /// The object after; `None` where it vanished.
    pub new: Option<&'a Object>,
}
