#![doc = include_str!("node_resources_balanced_allocation.md")]

use std::sync::Arc;

use loadmaster_framework::{
    Cycle, CycleState, FieldError, Gates, Hooks, Interest, NodeInfo, NodeScore, Outcome, Plugin,
    PodInfo, PreScore, Score,
};
use smallvec::SmallVec;

use super::{
    args::NodeResourcesBalancedAllocationArgs,
    resource_slot::{ScoredResource, Usage},
};

/// See the [module](self).
#[derive(Debug)]
pub struct NodeResourcesBalancedAllocation {
    resources: Vec<ScoredResource>,
}

impl Plugin for NodeResourcesBalancedAllocation {
    const NAME: &'static str = "NodeResourcesBalancedAllocation";
    const DOC: &'static str = include_str!("node_resources_balanced_allocation.md");
    type Args = NodeResourcesBalancedAllocationArgs;

    fn validate(args: &Self::Args, path: &str) -> Vec<FieldError> {
        args.validate(path)
    }

    fn build(args: Self::Args, _: &Gates) -> Result<Hooks, FieldError> {
        let resources = ScoredResource::list(&args.resources);
        Ok(Hooks::of(Self { resources }).pre_score().score().into())
    }
}

impl PreScore for NodeResourcesBalancedAllocation {
    fn pre_score(
        &self,
        cx: Cycle<'_>,
        _: &mut CycleState,
        _: &[Arc<NodeInfo>],
    ) -> Outcome<Interest> {
        Ok(if self.asks_for_nothing(cx.pod) { Interest::Skip } else { Interest::Score })
    }
}

impl Score for NodeResourcesBalancedAllocation {
    fn score(&self, cx: Cycle<'_>, _: &CycleState, node: &NodeInfo) -> Outcome<i64> {
        if self.asks_for_nothing(cx.pod) {
            return Ok(NodeScore::MIN);
        }
        let requests = &cx.pod.resources().requests;
        let usages: SmallVec<[Usage; 4]> = self
            .resources
            .iter()
            .filter_map(|it| it.usage(node, it.amount(requests), false))
            .collect();
        let with = balance(usages.iter().map(|it| (it.after, it.capacity)));
        let without = balance(usages.iter().map(|it| (it.before, it.capacity)));
        // Each is in 50..=100, so the result is in 50..=100 too: 75 where nothing changes.
        let half = NodeScore::MAX / 2;
        Ok(half + (half + with - without) / 2)
    }
}

impl NodeResourcesBalancedAllocation {
    /// A pod that asks for none of the resources changes no balance; scoring it would send all such
    /// pods to one node (kubernetes#129138).
    fn asks_for_nothing(&self, pod: &PodInfo) -> bool {
        self.resources.iter().all(|it| it.amount(&pod.resources().requests) == 0)
    }
}

/// 100 where all resources are used to the same part of what there is, less the more the parts
/// differ: one minus their standard deviation. Pairs are what is used and what there is.
#[expect(clippy::cast_possible_truncation, reason = "the result is at most 100")]
fn balance(used: impl Iterator<Item = (i128, i128)>) -> i64 {
    let part = |(used, all): (i128, i128)| (used as f64 / all as f64).min(1.0);
    let parts: SmallVec<[f64; 4]> = used.map(part).collect();
    let deviation = match parts.as_slice() {
        [] | [_] => 0.0,
        // The short form, as upstream: the long one may differ in the last bit.
        [a, b] => ((a - b) / 2.0).abs(),
        parts => {
            let count = parts.len() as f64;
            let mean = parts.iter().sum::<f64>() / count;
            let squares: f64 = parts.iter().map(|it| (it - mean) * (it - mean)).sum();
            (squares / count).sqrt()
        }
    };
    ((1.0 - deviation) * NodeScore::MAX as f64) as i64
}

#[cfg(test)]
#[expect(clippy::needless_pass_by_value, reason = "literals of JSON read best passed by value")]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::test_kit::Cluster;

    fn node(name: &str, cpu: &str, memory: &str) -> Value {
        json!({
            "metadata": {"name": name},
            "status": {"allocatable": {"cpu": cpu, "memory": memory, "pods": "10", "example.com/gpu": "4"}},
        })
    }

    fn pod(name: &str, requests: Value) -> Value {
        json!({
            "metadata": {"name": name, "uid": name},
            "spec": {"containers": [{"name": "c", "resources": {"requests": requests}}]},
        })
    }

    fn check(cluster: &Cluster, args: Value, pod: Value, expected: &[&str]) {
        cluster.check::<NodeResourcesBalancedAllocation>(args, pod).is(expected);
    }

    /// The worked example of the page.
    #[test]
    fn a_pod_that_evens_out_use_scores_above_75_and_one_that_skews_it_below() {
        let nodes = [node("even", "4", "4Gi"), node("skewed", "4", "4Gi")];
        let cluster = Cluster::new(&nodes).place("skewed", pod("a", json!({"cpu": "2"})));
        // even: 100 -> (0, .5) = 75: 50 + (50 + 75 - 100) / 2 = 62.
        // skewed: (.5, 0) = 75 -> (.5, .5) = 100: 50 + (50 + 100 - 75) / 2 = 87.
        check(&cluster, json!(null), pod("p", json!({"memory": "2Gi"})), &["even 62", "skewed 87"]);
    }

    #[test]
    fn pods_that_ask_for_nothing_are_not_scored() {
        let cluster = Cluster::new(&[node("n", "4", "4Gi")]);
        let verdicts =
            cluster.check::<NodeResourcesBalancedAllocation>(json!(null), pod("p", json!({})));
        assert!(verdicts.skipped_score());
    }

    /// kubernetes#102925 counted 100 millicores for each of these pods, kubernetes#105220 then
    /// preferred the overfull node.
    #[test]
    fn pods_on_the_node_count_with_what_they_really_ask_for() {
        let mut cluster = Cluster::new(&[node("n", "100m", "1Gi")]);
        for name in ["a", "b", "c"] {
            cluster = cluster.place("n", pod(name, json!({})));
        }
        // (0, 0) = 100 -> (.5, .5) = 100.
        let half = pod("p", json!({"cpu": "50m", "memory": "512Mi"}));
        check(&cluster, json!(null), half, &["n 75"]);
    }

    /// One resource, or none that the node has, is always in balance: no division by zero.
    #[test]
    fn one_resource_or_none_is_in_balance() {
        let cluster = Cluster::new(&[node("n", "4", "4Gi")]);
        let args = |names: &[&str]| {
            let list: Vec<Value> =
                names.iter().map(|it| json!({"name": it, "weight": 1})).collect();
            json!({"resources": list})
        };
        check(&cluster, args(&["cpu"]), pod("p", json!({"cpu": "3"})), &["n 75"]);
        let absent = pod("p", json!({"example.com/absent": "1"}));
        check(&cluster, args(&["example.com/absent"]), absent, &["n 75"]);
    }

    #[test]
    fn more_than_two_resources_use_the_standard_deviation() {
        let cluster = Cluster::new(&[node("n", "4", "4Gi")]);
        let args = json!({"resources": [
            {"name": "cpu", "weight": 1},
            {"name": "memory", "weight": 1},
            {"name": "example.com/gpu", "weight": 1},
        ]});
        // Parts 1, 0 and 0: mean 1/3, deviation sqrt(2/9) = 0.4714, 52 points; before 100.
        let gpus = pod("p", json!({"example.com/gpu": "4"}));
        check(&cluster, args, gpus, &["n 51"]);
    }
}
