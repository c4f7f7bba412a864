//! Family 16: a whole scheduler, one change of the cluster at a time.

mod replay;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Difference, differences};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    #[serde(rename = "id")]
    _id: String,
    #[serde(rename = "note")]
    _note: String,
    steps: Vec<Step>,
}

/// A change, and what followed from it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Step {
    op: Op,
    #[serde(default)]
    kind: String,
    #[serde(default)]
    object: Value,
    #[serde(default)]
    namespace: String,
    #[serde(default)]
    name: String,
    #[serde(default)]
    seconds: u64,
    #[serde(default)]
    queued: Queued,
    #[serde(default)]
    attempts: Vec<Attempt>,
    #[serde(default)]
    after: After,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
enum Op {
    Create,
    Update,
    Delete,
    Advance,
}

/// Names of the pods in each part of the queue, after the change.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
struct Queued {
    active: Vec<String>,
    backoff: Vec<String>,
    unschedulable: Vec<String>,
    gated: Vec<String>,
}

/// One try of one pod.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields, into = "String")]
struct Attempt {
    pod: String,
    node: String,
    message: String,
    nominated_node: String,
}

impl From<Attempt> for String {
    fn from(it: Attempt) -> Self {
        match (&*it.node, &*it.nominated_node) {
            ("", "") => format!("{}: {}", it.pod, it.message),
            ("", nominated) => format!("{} (room on {nominated}): {}", it.pod, it.message),
            (node, _) => format!("{} -> {node}", it.pod),
        }
    }
}

/// Where everything is at the end of a step.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
struct After {
    bound: BTreeMap<String, String>,
    unschedulable: BTreeMap<String, Vec<String>>,
    gated: Vec<String>,
    deleted: Vec<String>,
}

/// What is compared of a step.
#[derive(Debug, Serialize)]
struct Outcome {
    queued: Queued,
    attempts: Vec<Attempt>,
    after: After,
}

/// What is compared of a case. Only the first step that differs is told, since what follows from
/// it may differ in everything.
pub(super) fn check(line: &str) -> serde_json::Result<Vec<Difference>> {
    let case: Case = serde_json::from_str(line)?;
    let mut replay = replay::Replay::new()?;
    for (at, step) in case.steps.into_iter().enumerate() {
        let actual = replay.step(&step)?;
        let expected = Outcome { queued: step.queued, attempts: step.attempts, after: step.after };
        let mut found = differences(&expected, &actual);
        if !found.is_empty() {
            for difference in &mut found {
                difference.path = format!("steps[{at}].{}", difference.path);
            }
            return Ok(found);
        }
    }
    Ok(Vec::new())
}
