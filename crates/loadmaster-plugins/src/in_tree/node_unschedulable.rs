#![doc = include_str!("node_unschedulable.md")]

use loadmaster_framework::{
    ActionType, ClusterEventWithHint, Cycle, CycleState, EnqueueExtensions, EventResource,
    FieldError, Filter, Gates, Hint, Hooks, NodeInfo, Outcome, Plugin, PluginError, QueueingHint,
    Status,
    api::{Effect, Taint, tolerations_tolerate_taint},
};

use super::hint::{changed_node, changed_pod};
use crate::NoArgs;

/// See the [module](self).
#[derive(Debug)]
pub struct NodeUnschedulable {
    /// What a cordoned node is tainted with, by the node controller a moment later.
    taint: Taint,
}

impl Plugin for NodeUnschedulable {
    const NAME: &'static str = "NodeUnschedulable";
    const DOC: &'static str = include_str!("node_unschedulable.md");
    type Args = NoArgs;

    fn build(NoArgs {}: NoArgs, _: &Gates) -> Result<Hooks, FieldError> {
        let taint = Taint {
            key: "node.kubernetes.io/unschedulable".into(),
            effect: Effect::NoSchedule,
            ..Taint::default()
        };
        Ok(Hooks::of(Self { taint }).filter().enqueue_extensions().into())
    }
}

impl Filter for NodeUnschedulable {
    fn filter(&self, cx: Cycle<'_>, _: &CycleState, node: &NodeInfo) -> Outcome {
        let cordoned = node.node().spec.unschedulable;
        if cordoned && !tolerations_tolerate_taint(&cx.pod.spec.tolerations, &self.taint) {
            return Err(Status::unresolvable(CORDONED));
        }
        Ok(())
    }
}

impl EnqueueExtensions for NodeUnschedulable {
    fn events_to_register(&self) -> Vec<ClusterEventWithHint> {
        let node = ActionType::ADD | ActionType::UPDATE_NODE_TAINT;
        vec![
            ClusterEventWithHint::hinted(EventResource::Node, node),
            ClusterEventWithHint::hinted(EventResource::Pod, ActionType::UPDATE_POD_TOLERATION),
        ]
    }

    fn queueing_hint(&self, hint: Hint<'_>) -> Result<QueueingHint, PluginError> {
        let helps = if hint.registered.resource == EventResource::Node {
            let (old, new) = changed_node(&hint)?;
            old.is_none_or(|it| it.spec.unschedulable) && !new.spec.unschedulable
        } else {
            let pod = changed_pod(&hint)?;
            pod.uid() == hint.pod.uid()
                && tolerations_tolerate_taint(&pod.spec.tolerations, &self.taint)
        };
        Ok(if helps { QueueingHint::Queue } else { QueueingHint::Skip })
    }
}

const CORDONED: &str = "node(s) were unschedulable";

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::test_kit::check;

    #[test]
    fn a_cordoned_node_takes_only_pods_that_tolerate_its_taint() {
        let nodes = [
            json!({"metadata": {"name": "open"}}),
            json!({"metadata": {"name": "cordoned"}, "spec": {"unschedulable": true}}),
        ];
        check::<NodeUnschedulable>(json!(null), json!({}), &nodes)
            .is(&["open ok", "cordoned UnschedulableAndUnresolvable: node(s) were unschedulable"]);
        let daemon = json!({"spec": {"tolerations": [
            {"key": "node.kubernetes.io/unschedulable", "operator": "Exists", "effect": "NoSchedule"},
        ]}});
        check::<NodeUnschedulable>(json!(null), daemon, &nodes).is(&["open ok", "cordoned ok"]);
        let other_effect = json!({"spec": {"tolerations": [
            {"key": "node.kubernetes.io/unschedulable", "operator": "Exists", "effect": "NoExecute"},
        ]}});
        check::<NodeUnschedulable>(json!(null), other_effect, &nodes)
            .is(&["open ok", "cordoned UnschedulableAndUnresolvable: node(s) were unschedulable"]);
    }
}
