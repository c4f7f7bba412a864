#![doc = include_str!("cache_locality.md")]

use loadmaster_framework::{
    ActionType, ClusterEventWithHint, Cycle, CycleState, EnqueueExtensions, EventResource,
    FieldError, Filter, Gates, Hint, Hooks, NodeInfo, NodeScore, Object, Outcome, Plugin,
    PluginError, QueueingHint, Score, Status, api::Node,
};

use crate::NoArgs;

/// See the [module](self).
#[derive(Debug)]
pub struct CacheLocality;

impl Plugin for CacheLocality {
    const NAME: &'static str = "CacheLocality";
    const DOC: &'static str = include_str!("cache_locality.md");
    type Args = NoArgs;

    fn build(NoArgs {}: NoArgs, _: &Gates) -> Result<Hooks, FieldError> {
        Ok(Hooks::of(Self).filter().score().enqueue_extensions().into())
    }
}

impl Filter for CacheLocality {
    fn filter(&self, _: Cycle<'_>, _: &CycleState, node: &NodeInfo) -> Outcome {
        if is_drained(node.node()) {
            // Evicting pods would not change it, so preemption need not try.
            return Err(Status::unresolvable("node is draining its cache"));
        }
        Ok(())
    }
}

impl Score for CacheLocality {
    fn score(&self, cx: Cycle<'_>, _: &CycleState, node: &NodeInfo) -> Outcome<i64> {
        let warm = match (cx.pod.label("dataset"), node.label("cache/warm-for")) {
            (Some(wanted), Some(there)) => wanted == there,
            _ => false,
        };
        Ok(if warm { NodeScore::MAX } else { NodeScore::MIN })
    }
}

impl EnqueueExtensions for CacheLocality {
    fn events_to_register(&self) -> Vec<ClusterEventWithHint> {
        let node = ActionType::ADD | ActionType::UPDATE_NODE_LABEL;
        vec![ClusterEventWithHint::hinted(EventResource::Node, node)]
    }

    /// A pod that was refused wants to know of nodes that appear, or stop draining.
    fn queueing_hint(&self, hint: Hint<'_>) -> Result<QueueingHint, PluginError> {
        let drained = |object: &Object| object.as_node().is_some_and(|it| is_drained(it));
        let helps = hint.old.is_none_or(drained) && !hint.new.is_some_and(drained);
        Ok(if helps { QueueingHint::Queue } else { QueueingHint::Skip })
    }
}

fn is_drained(node: &Node) -> bool {
    node.label("cache/drained") == Some("true")
}

#[cfg(test)]
#[expect(clippy::needless_pass_by_value, reason = "literals of JSON read best passed by value")]
mod tests {
    use loadmaster_framework::ClusterEvent;
    use serde_json::{Value, json};

    use super::*;
    use crate::test_kit::{check, hint, pod};

    fn node(name: &str, labels: Value) -> Value {
        json!({"metadata": {"name": name, "labels": labels}})
    }

    /// The worked example of the page.
    #[test]
    fn drained_nodes_are_refused_and_the_warm_one_is_preferred() {
        let nodes = [
            node("n1", json!({"cache/warm-for": "images"})),
            node("n2", json!({"cache/warm-for": "images", "cache/drained": "true"})),
            node("n3", json!({"cache/warm-for": "video", "cache/drained": "false"})),
            node("n4", json!({})),
        ];
        let refused = "n2 UnschedulableAndUnresolvable: node is draining its cache";
        let images = json!({"metadata": {"labels": {"dataset": "images"}}});
        check::<CacheLocality>(json!(null), images, &nodes)
            .is(&["n1 100", refused, "n3 0", "n4 0"]);
        // A pod without the label matches nothing, not even a node without one.
        check::<CacheLocality>(json!(null), json!({}), &nodes)
            .is(&["n1 0", refused, "n3 0", "n4 0"]);
    }

    #[test]
    fn a_refused_pod_is_tried_again_when_a_node_stops_draining() {
        let pod = pod(json!({}));
        let object = |labels: Value| {
            Object::from(serde_json::from_value::<Node>(node("n", labels)).unwrap())
        };
        let (drained, open) = (object(json!({"cache/drained": "true"})), object(json!({})));
        let says = |action, old, new| {
            let event = ClusterEvent::new(EventResource::Node, action);
            hint::<CacheLocality>(&pod, event, old, new).unwrap()
        };
        let label = ActionType::UPDATE_NODE_LABEL;
        assert_eq!(says(label, Some(&drained), Some(&open)), QueueingHint::Queue);
        assert_eq!(says(label, Some(&open), Some(&open)), QueueingHint::Skip);
        assert_eq!(says(label, Some(&open), Some(&drained)), QueueingHint::Skip);
        assert_eq!(says(ActionType::ADD, None, Some(&open)), QueueingHint::Queue);
        assert_eq!(says(ActionType::ADD, None, Some(&drained)), QueueingHint::Skip);
    }
}
