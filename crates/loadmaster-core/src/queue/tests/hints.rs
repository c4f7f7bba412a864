//! Which registrations a profile's plugins amount to.

use loadmaster_framework::{
    ActionType, ClusterEvent, ClusterEventWithHint, CycleState, EnqueueExtensions, EventResource,
    Filter, Gates, Hooks, NodeInfo, NodeScore, Outcome, Plugin, Score,
};

use crate::queue::{EXTENDER_NAME, QueueingHintMap};

/// Waits for nodes to appear.
struct WantsNodes;

/// Does not say what it waits for.
struct Silent;

macro_rules! filter_plugin {
    ($name:ident, $hooks:expr) => {
        impl Plugin for $name {
            const NAME: &'static str = stringify!($name);
            type Args = ();

            fn build((): (), _: &Gates) -> Result<Hooks, loadmaster_framework::FieldError> {
                Ok($hooks)
            }
        }

        impl Filter for $name {
            fn filter(
                &self,
                _: loadmaster_framework::Cycle<'_>,
                _: &CycleState,
                _: &NodeInfo,
            ) -> Outcome {
                Ok(())
            }
        }
    };
}

filter_plugin!(WantsNodes, Hooks::of(Self).filter().enqueue_extensions().into());
filter_plugin!(Silent, Hooks::of(Self).filter().into());

impl EnqueueExtensions for WantsNodes {
    fn events_to_register(&self) -> Vec<ClusterEventWithHint> {
        vec![ClusterEventWithHint::hinted(EventResource::Node, ActionType::ADD)]
    }
}

/// Ranks only, so it rejects nothing.
struct Ranks;

impl Plugin for Ranks {
    const NAME: &'static str = "Ranks";
    type Args = ();

    fn build((): (), _: &Gates) -> Result<Hooks, loadmaster_framework::FieldError> {
        Ok(Hooks::of(Self).score().into())
    }
}

impl Score for Ranks {
    fn score(
        &self,
        _: loadmaster_framework::Cycle<'_>,
        _: &CycleState,
        _: &NodeInfo,
    ) -> Outcome<i64> {
        Ok(NodeScore::MIN)
    }
}

fn map(has_extenders: bool) -> QueueingHintMap {
    let gates = Gates::default();
    let plugins = [
        WantsNodes::build((), &gates).unwrap(),
        Silent::build((), &gates).unwrap(),
        Ranks::build((), &gates).unwrap(),
    ];
    QueueingHintMap::of(&plugins, has_extenders)
}

fn interested(map: &QueueingHintMap, resource: EventResource, action: ActionType) -> Vec<&str> {
    map.covering(ClusterEvent::new(resource, action)).map(|it| it.plugin).collect()
}

/// k/k#110175, #109437.
#[test]
fn who_waits_for_nodes_also_waits_for_their_taints_to_go() {
    let map = map(false);
    let taints = ActionType::UPDATE_NODE_TAINT;
    assert_eq!(interested(&map, EventResource::Node, taints), ["WantsNodes", "Silent"]);
    let of_taints = ClusterEvent::new(EventResource::Node, taints);
    assert!(!map.covering(of_taints).next().unwrap().event.has_hint);
    let labels = ActionType::UPDATE_NODE_LABEL;
    assert_eq!(interested(&map, EventResource::Node, labels), ["Silent"]);
}

/// k/k#122019.
#[test]
fn every_change_may_help_pods_that_extenders_or_silent_plugins_refused() {
    let map = map(true);
    for resource in [EventResource::CsiNode, EventResource::AssignedPod, EventResource::Feed] {
        assert_eq!(interested(&map, resource, ActionType::DELETE), [EXTENDER_NAME, "Silent"]);
    }
}
