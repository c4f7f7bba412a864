//! Drives a simulation through a sequence, in a time that stands still but for what is recorded.

use std::time::Duration;

use loadmaster_core::{
    profile::Profile,
    queue::QueuePart,
    scheduler::{Attempt as Tried, AttemptOutcome, SchedulerOptions},
};
use loadmaster_framework::{Gates, Object, QueuedPodInfo};
use loadmaster_sim::Sim;
use serde::de::Error;
use serde_json::json;

use super::{After, Attempt, Op, Outcome, Queued, Step};
use crate::{golden::kinds, profiles};

/// Between two steps, and between two tries, so much time passes.
const TICK: Duration = Duration::from_millis(10);
/// A step in which more pods are tried than this does not end.
const MOST_ATTEMPTS: usize = 1000;

pub(super) struct Replay(Sim);

impl Replay {
    pub(super) fn new() -> serde_json::Result<Self> {
        let registry = loadmaster_plugins::registry();
        let specs = profiles::specs(profiles::DEFAULT, &registry).map_err(Error::custom)?;
        let build = |it| Profile::build(it, &registry, &Gates::default()).map_err(Error::custom);
        let options = SchedulerOptions {
            profiles: specs.iter().map(build).collect::<Result<_, _>>()?,
            percentage_of_nodes_to_score: 100,
            ..SchedulerOptions::default()
        };
        let mut sim = Sim::new(options, 0).map_err(Error::custom)?;
        let labels = json!({"kubernetes.io/metadata.name": "default"});
        let namespace = json!({"metadata": {"name": "default", "labels": labels}});
        sim.write(object("Namespace", namespace)?);
        sim.settle();
        Ok(Self(sim))
    }

    /// Makes the change of `step`, and schedules until nobody is left to be tried.
    pub(super) fn step(&mut self, step: &Step) -> serde_json::Result<Outcome> {
        let Self(sim) = self;
        sim.tick(TICK);
        match step.op {
            Op::Create | Op::Update => sim.write(object(&step.kind, step.object.clone())?),
            Op::Delete => {
                let named = json!({"name": step.name, "namespace": step.namespace});
                sim.delete(&object(&step.kind, json!({"metadata": named}))?);
            }
            Op::Advance => sim.advance(Duration::from_secs(step.seconds)),
        }
        sim.settle();
        let queued = queued(sim);
        let mut attempts = Vec::new();
        while sim.scheduler().has_next() && attempts.len() < MOST_ATTEMPTS {
            sim.tick(TICK);
            attempts.extend(sim.schedule_one().and_then(attempt));
            sim.settle();
        }
        Ok(Outcome { queued, attempts, after: after(sim) })
    }
}

fn object(kind: &str, value: serde_json::Value) -> serde_json::Result<Object> {
    kinds::object(kind, value)?.ok_or_else(|| Error::custom("an object is needed"))
}

fn pending(sim: &Sim) -> Vec<(QueuePart, &QueuedPodInfo)> {
    let mut pods: Vec<_> = sim.scheduler().queue().pending_pods().collect();
    pods.sort_by(|(_, a), (_, b)| a.pod.name().cmp(b.pod.name()));
    pods
}

fn queued(sim: &Sim) -> Queued {
    let mut queued = Queued::default();
    for (part, info) in pending(sim) {
        let names = match part {
            QueuePart::Active => &mut queued.active,
            QueuePart::Backoff => &mut queued.backoff,
            QueuePart::Unschedulable if info.is_gated() => &mut queued.gated,
            QueuePart::Unschedulable => &mut queued.unschedulable,
        };
        names.push(info.pod.name().to_string());
    }
    queued
}

fn after(sim: &mut Sim) -> After {
    let mut after = After::default();
    for pod in sim.cluster().pods() {
        if let Some(node) = pod.node_name() {
            after.bound.insert(pod.name().to_string(), node.to_string());
        }
    }
    for (_, info) in pending(sim) {
        let name = info.pod.name().to_string();
        if info.is_gated() {
            after.gated.push(name);
        } else {
            let plugins = info.unschedulable_plugins.iter().map(|it| (*it).to_owned());
            after.unschedulable.insert(name, plugins.collect());
        }
    }
    after.deleted = sim.take_deleted().iter().map(|it| it.metadata().name.to_string()).collect();
    after.deleted.sort_unstable();
    after
}

fn attempt(tried: Tried) -> Option<Attempt> {
    let pod = tried.pod.name().to_string();
    Some(match tried.outcome {
        AttemptOutcome::Assumed { node, .. } => {
            Attempt { pod, node: node.to_string(), ..Attempt::default() }
        }
        AttemptOutcome::Unschedulable { message, nominated_node, .. } => Attempt {
            pod,
            message,
            nominated_node: nominated_node.unwrap_or_default().to_string(),
            ..Attempt::default()
        },
        AttemptOutcome::Error { message } => Attempt { pod, message, ..Attempt::default() },
        AttemptOutcome::Skipped => return None,
    })
}
