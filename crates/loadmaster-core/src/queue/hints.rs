//! Which changes may help a pod that a plugin rejected.

use std::collections::BTreeMap;

use loadmaster_framework::api::Text;
use loadmaster_framework::{
    ActionType, ClusterEvent, ClusterEventWithHint, EventResource, Hooks, Point,
};

/// The name under which a pod is kept as rejected where extenders refused nodes; every change may
/// help it (k/k#122019).
pub const EXTENDER_NAME: &str = "Extender";

/// A plugin's interest in a kind of change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Registration {
    /// The plugin.
    pub plugin: &'static str,
    /// The kind of change, and whether the plugin looks at each one.
    pub event: ClusterEventWithHint,
}

/// The interests of one profile's plugins (upstream: `QueueingHintMap`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct QueueingHintMap {
    registrations: Vec<Registration>,
}

impl QueueingHintMap {
    /// Collects what the plugins of a profile register.
    ///
    /// Plugins at none of PreEnqueue, PreFilter, Filter, Reserve and Permit reject nothing and are
    /// left out. One of the others that registers nothing because it does not say which changes it
    /// looks at is taken to look at all; the same holds for extenders, where `has_extenders`. One
    /// that waits for nodes to appear also waits for their taints to change, since a new node
    /// carries taints until it is ready (k/k#109437).
    pub fn of<'a>(plugins: impl IntoIterator<Item = &'a Hooks>, has_extenders: bool) -> Self {
        let mut map = Self::default();
        if has_extenders {
            map.register_every_change(EXTENDER_NAME);
        }
        for hooks in plugins {
            if !REJECTING.iter().any(|point| hooks.serves(*point)) {
                continue;
            }
            match &hooks.enqueue_extensions {
                Some(extensions) => map.register(hooks.name, extensions.events_to_register()),
                None => map.register_every_change(hooks.name),
            }
        }
        map
    }

    fn register_every_change(&mut self, plugin: &'static str) {
        let ClusterEvent { resource, action, .. } = ClusterEvent::WILD_CARD;
        self.register(plugin, vec![ClusterEventWithHint::always(resource, action)]);
    }

    pub(super) fn register(&mut self, plugin: &'static str, events: Vec<ClusterEventWithHint>) {
        let on_nodes = |action: ActionType| {
            let mut nodes = events.iter().filter(|it| it.event.resource == EventResource::Node);
            nodes.any(|it| it.event.action.intersects(action))
        };
        let taints = ActionType::UPDATE_NODE_TAINT;
        let also_taints = on_nodes(ActionType::ADD) && !on_nodes(taints);
        let also = also_taints.then_some(ClusterEventWithHint::always(EventResource::Node, taints));
        let all = events.into_iter().chain(also);
        self.registrations.extend(all.map(|event| Registration { plugin, event }));
    }

    /// Everything that is registered, plugin by plugin.
    pub fn registrations(&self) -> &[Registration] {
        &self.registrations
    }

    /// What is registered that covers `event`.
    pub fn covering(&self, event: ClusterEvent) -> impl Iterator<Item = &Registration> {
        self.registrations.iter().filter(move |it| it.event.event.covers(&event))
    }
}

/// Points at which a pod can be rejected.
const REJECTING: [Point; 5] =
    [Point::PreEnqueue, Point::PreFilter, Point::Filter, Point::Reserve, Point::Permit];

/// What each profile's plugins have registered for one event, by scheduler name.
pub(super) type Interests<'a> = BTreeMap<&'a str, Vec<&'a Registration>>;

/// The interests of every profile, by scheduler name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct QueueingHintMaps(BTreeMap<Text, QueueingHintMap>);

impl QueueingHintMaps {
    /// Those of the profile of this scheduler name.
    pub fn get(&self, scheduler_name: &str) -> Option<&QueueingHintMap> {
        self.0.get(scheduler_name)
    }

    /// What is registered that covers `event`, by scheduler name.
    pub(super) fn covering(&self, event: ClusterEvent) -> Interests<'_> {
        self.0.iter().map(|(name, map)| (&**name, map.covering(event).collect())).collect()
    }

    /// Whether any plugin of any profile looks at `event`; wildcards concern all.
    pub fn covers(&self, event: ClusterEvent) -> bool {
        is_wild_card(event) || self.0.values().any(|it| it.covering(event).next().is_some())
    }
}

impl FromIterator<(Text, QueueingHintMap)> for QueueingHintMaps {
    fn from_iter<I: IntoIterator<Item = (Text, QueueingHintMap)>>(maps: I) -> Self {
        Self(maps.into_iter().collect())
    }
}

/// Whether `event` is meant for pods whatever rejected them.
pub(super) fn is_wild_card(event: ClusterEvent) -> bool {
    event.resource == EventResource::WildCard && event.action == ActionType::ALL
}
