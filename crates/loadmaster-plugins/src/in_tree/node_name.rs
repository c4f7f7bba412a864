#![doc = include_str!("node_name.md")]

use loadmaster_framework::{
    ActionType, ClusterEventWithHint, Cycle, CycleState, EnqueueExtensions, EventResource,
    FieldError, Filter, Gates, Hooks, NodeInfo, Outcome, Plugin, Status,
};

use crate::NoArgs;

/// See the [module](self).
#[derive(Debug)]
pub struct NodeName;

impl Plugin for NodeName {
    const NAME: &'static str = "NodeName";
    const DOC: &'static str = include_str!("node_name.md");
    type Args = NoArgs;

    fn build(NoArgs {}: NoArgs, _: &Gates) -> Result<Hooks, FieldError> {
        Ok(Hooks::of(Self).filter().enqueue_extensions().into())
    }
}

impl Filter for NodeName {
    fn filter(&self, cx: Cycle<'_>, _: &CycleState, node: &NodeInfo) -> Outcome {
        match cx.pod.node_name() {
            Some(wanted) if wanted != node.name() => Err(Status::unresolvable(OTHER_NODE)),
            _ => Ok(()),
        }
    }
}

impl EnqueueExtensions for NodeName {
    fn events_to_register(&self) -> Vec<ClusterEventWithHint> {
        vec![ClusterEventWithHint::always(EventResource::Node, ActionType::ADD)]
    }
}

const OTHER_NODE: &str = "node(s) didn't match the requested node name";

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::test_kit::check;

    #[test]
    fn only_the_named_node_will_do() {
        let nodes = [json!({"metadata": {"name": "a"}}), json!({"metadata": {"name": "b"}})];
        check::<NodeName>(json!(null), json!({"spec": {"nodeName": "b"}}), &nodes).is(&[
            "a UnschedulableAndUnresolvable: node(s) didn't match the requested node name",
            "b ok",
        ]);
        check::<NodeName>(json!(null), json!({}), &nodes).is(&["a ok", "b ok"]);
    }
}
