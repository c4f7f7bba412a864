#![doc = include_str!("taint_toleration.md")]

use std::sync::Arc;

use loadmaster_framework::{
    ActionType, ClusterEventWithHint, Cycle, CycleState, EnqueueExtensions, EventResource,
    FieldError, Filter, Gates, Hint, Hooks, Interest, NodeInfo, NodeScore, Outcome, Plugin,
    PluginError, PreScore, QueueingHint, Score, Status,
    api::{Effect, Node, Pod, Taint, find_matching_untolerated_taint, tolerations_tolerate_taint},
};

use super::hint::{changed_node, changed_pod};
use crate::NoArgs;

/// See the [module](self).
#[derive(Debug)]
pub struct TaintToleration;

impl Plugin for TaintToleration {
    const NAME: &'static str = "TaintToleration";
    const DOC: &'static str = include_str!("taint_toleration.md");
    type Args = NoArgs;

    fn build(NoArgs {}: NoArgs, _: &Gates) -> Result<Hooks, FieldError> {
        Ok(Hooks::of(Self).filter().pre_score().score().enqueue_extensions().into())
    }
}

impl Filter for TaintToleration {
    fn filter(&self, cx: Cycle<'_>, _: &CycleState, node: &NodeInfo) -> Outcome {
        if keeps_away(node.node(), cx.pod) {
            Err(Status::unresolvable(UNTOLERATED))
        } else {
            Ok(())
        }
    }
}

impl PreScore for TaintToleration {
    /// Nothing needs to be prepared: a toleration of another effect answers no soft taint anyway.
    fn pre_score(
        &self,
        _: Cycle<'_>,
        _: &mut CycleState,
        _: &[Arc<NodeInfo>],
    ) -> Outcome<Interest> {
        Ok(Interest::Score)
    }
}

impl Score for TaintToleration {
    fn score(&self, cx: Cycle<'_>, _: &CycleState, node: &NodeInfo) -> Outcome<i64> {
        let soft =
            node.node().spec.taints.iter().filter(|it| it.effect == Effect::PreferNoSchedule);
        let faults = soft.filter(|it| !tolerations_tolerate_taint(&cx.pod.spec.tolerations, it));
        Ok(i64::try_from(faults.count()).unwrap_or(i64::MAX))
    }

    fn normalize(&self, _: Cycle<'_>, _: &CycleState, scores: &mut [NodeScore<'_>]) -> Outcome {
        NodeScore::normalize(scores, true);
        Ok(())
    }
}

impl EnqueueExtensions for TaintToleration {
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
            old.is_none_or(|it| keeps_away(it, hint.pod)) && !keeps_away(new, hint.pod)
        } else {
            changed_pod(&hint)?.uid() == hint.pod.uid()
        };
        Ok(if helps { QueueingHint::Queue } else { QueueingHint::Skip })
    }
}

/// Whether a taint that forbids new pods is left untolerated.
fn keeps_away(node: &Node, pod: &Pod) -> bool {
    let hard = |it: &Taint| matches!(it.effect, Effect::NoSchedule | Effect::NoExecute);
    find_matching_untolerated_taint(&node.spec.taints, &pod.spec.tolerations, hard).is_some()
}

const UNTOLERATED: &str = "node(s) had untolerated taint(s)";

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::test_kit::check;

    /// A node with taints written `key=value:Effect`.
    fn node(name: &str, taints: &[&str]) -> Value {
        let taint = |it: &&str| {
            let (pair, effect) = it.split_once(':').unwrap();
            let (key, value) = pair.split_once('=').unwrap();
            json!({"key": key, "value": value, "effect": effect})
        };
        let taints: Vec<Value> = taints.iter().map(taint).collect();
        json!({"metadata": {"name": name}, "spec": {"taints": taints}})
    }

    /// The worked example of the page.
    #[test]
    fn hard_taints_refuse_and_soft_ones_cost_points() {
        let nodes = [
            node("n1", &["gpu=a100:NoSchedule"]),
            node("n2", &["gpu=h100:NoSchedule"]),
            node("n3", &["old=:PreferNoSchedule"]),
            node("n4", &["old=:PreferNoSchedule", "slow=:PreferNoSchedule"]),
            node("n5", &["down=:NoExecute"]),
        ];
        let pod = json!({"spec": {"tolerations": [
            {"key": "gpu", "value": "a100", "effect": "NoSchedule"},
        ]}});
        check::<TaintToleration>(json!(null), pod, &nodes).is(&[
            "n1 100",
            "n2 UnschedulableAndUnresolvable: node(s) had untolerated taint(s)",
            "n3 50",
            "n4 0",
            "n5 UnschedulableAndUnresolvable: node(s) had untolerated taint(s)",
        ]);
    }

    #[test]
    fn soft_taints_are_answered_only_by_tolerations_of_their_effect_or_of_every_effect() {
        let nodes = [node("n1", &["a=:PreferNoSchedule"]), node("n2", &[])];
        let pod = |effect: Value| {
            json!({"spec": {"tolerations": [
                {"key": "a", "operator": "Exists", "effect": effect},
            ]}})
        };
        let scores = |effect: Value| check::<TaintToleration>(json!(null), pod(effect), &nodes);
        scores(json!("NoSchedule")).is(&["n1 0", "n2 100"]);
        scores(json!("PreferNoSchedule")).is(&["n1 100", "n2 100"]);
        scores(json!(null)).is(&["n1 100", "n2 100"]);
    }
}
