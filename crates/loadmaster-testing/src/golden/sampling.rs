//! Family 17: how many feasible nodes are looked for, and in which order nodes are visited.

use std::{collections::BTreeMap, sync::Arc};

use loadmaster_core::{cache::Cache, cycle::num_feasible_nodes_to_find};
use loadmaster_framework::{PodInfo, Snapshot, api::Node};
use serde::{Deserialize, Serialize};

use super::{Difference, differences};
use crate::builders::pod;

#[derive(Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "camelCase")]
enum Case {
    Count(Count),
    Order(Order),
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Count {
    #[serde(rename = "id")]
    _id: String,
    global: Option<u32>,
    profile: Option<u32>,
    nodes: usize,
    #[serde(rename = "count")]
    looked_for: usize,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Order {
    #[serde(rename = "id")]
    _id: String,
    steps: Vec<Step>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Step {
    op: Op,
    node: Option<String>,
    #[serde(default)]
    labels: BTreeMap<String, String>,
    pod: Option<String>,
    snapshot: Option<Vec<String>>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
enum Op {
    Add,
    Update,
    Remove,
    AddPod,
    RemovePod,
    Snapshot,
}

#[derive(Debug, Serialize)]
struct Counted {
    count: usize,
}

pub(super) fn check(line: &str) -> serde_json::Result<Vec<Difference>> {
    Ok(match serde_json::from_str(line)? {
        Case::Count(case) => {
            // What a profile sets comes before what the configuration does.
            let percentage = case.profile.or(case.global).unwrap_or(0);
            let count = num_feasible_nodes_to_find(percentage, case.nodes);
            differences(&Counted { count: case.looked_for }, &Counted { count })
        }
        Case::Order(case) => {
            let actual = replay(&case.steps);
            let expected: Vec<_> = case.steps.into_iter().map(|it| it.snapshot).collect();
            differences(&expected, &actual)
        }
    })
}

/// The order of the nodes after each step at which one was recorded.
fn replay(steps: &[Step]) -> Vec<Option<Vec<String>>> {
    let mut cache = Cache::default();
    let mut snapshot = Snapshot::default();
    let names = |snapshot: &Snapshot| -> Vec<String> {
        snapshot.nodes().iter().map(|it| it.name().to_string()).collect()
    };
    let mut orders = Vec::new();
    for step in steps {
        let node = step.node.as_deref().unwrap_or_default();
        let pod = step.pod.as_deref().map(|name| pod(name).node(node).build());
        match (step.op, pod) {
            (Op::Add | Op::Update, _) => {
                let mut object = Node::default();
                object.metadata.name = node.into();
                object.metadata.labels =
                    step.labels.iter().map(|(key, it)| (&**key, &**it)).collect();
                cache.upsert_node(Arc::new(object));
            }
            (Op::Remove, _) => {
                cache.remove_node(node);
            }
            (Op::AddPod, Some(pod)) => {
                cache.upsert_pod(Arc::new(PodInfo::new(Arc::new(pod))));
            }
            (Op::RemovePod, Some(pod)) => {
                cache.remove_pod(pod.uid());
            }
            (Op::AddPod | Op::RemovePod, None) | (Op::Snapshot, _) => {}
        }
        orders.push(step.snapshot.as_ref().map(|_| {
            cache.update_snapshot(&mut snapshot);
            names(&snapshot)
        }));
    }
    orders
}
