//! Drives the core through a sequence, in a time that stands still but for what is recorded.

use std::time::Duration;

use loadmaster_core::{
    cycle::Sequential,
    profile::Profile,
    queue::QueuePart,
    scheduler::{
        Attempt as Tried, AttemptOutcome, ClusterChange, ConditionPatch, Scheduler,
        SchedulerOptions, Work, WorkId, WorkResult,
    },
};
use loadmaster_framework::{
    Gates, QueuedPodInfo,
    api::{ObjectKey, Text},
};
use serde::de::Error;
use serde_json::{Value, json};

use super::{After, Attempt, Op, Outcome, Queued, Step, world::World};
use crate::{golden::kinds::object, profiles};

/// Between two steps, and between two tries, so much time passes.
const TICK: Duration = Duration::from_millis(10);
/// A step in which more pods are tried than this does not end.
const MOST_ATTEMPTS: usize = 1000;

pub(super) struct Replay {
    now: Duration,
    scheduler: Scheduler,
    world: World,
    /// Pods deleted to make room, in this step.
    deleted: Vec<String>,
}

impl Replay {
    pub(super) fn new() -> serde_json::Result<Self> {
        let registry = super::super::registry();
        let specs = profiles::specs(profiles::DEFAULT, &registry).map_err(Error::custom)?;
        let build = |it| Profile::build(it, &registry, &Gates::default()).map_err(Error::custom);
        let options = SchedulerOptions {
            profiles: specs.iter().map(build).collect::<Result<_, _>>()?,
            percentage_of_nodes_to_score: 100,
            ..SchedulerOptions::default()
        };
        let scheduler = Scheduler::new(options).map_err(Error::custom)?;
        let mut replay =
            Self { now: Duration::ZERO, scheduler, world: World::default(), deleted: Vec::new() };
        let namespace = json!({
            "metadata": {"name": "default", "labels": {"kubernetes.io/metadata.name": "default"}},
        });
        let change = replay.world.put("Namespace", namespace)?;
        replay.tell(change);
        Ok(replay)
    }

    /// Makes the change of `step`, and schedules until nobody is left to be tried.
    pub(super) fn step(&mut self, step: &Step) -> serde_json::Result<Outcome> {
        self.now += TICK;
        self.deleted.clear();
        let change = match step.op {
            Op::Create => Some(self.world.put(&step.kind, step.object.clone())?),
            Op::Update => Some(self.world.update(&step.kind, step.object.clone())?),
            Op::Delete => {
                let key = ObjectKey::new(&*step.namespace, &*step.name);
                self.world.delete(&step.kind, &key)?
            }
            Op::Advance => {
                self.now += Duration::from_secs(step.seconds);
                self.scheduler.handle_timeout(self.now);
                None
            }
        };
        if let Some(change) = change {
            self.tell(change);
        }
        self.settle()?;
        let queued = self.queued();
        let mut attempts = Vec::new();
        while self.scheduler.has_next() && attempts.len() < MOST_ATTEMPTS {
            self.now += TICK;
            if let Some(tried) = self.scheduler.schedule_one(self.now, &mut Sequential) {
                attempts.extend(attempt(tried));
            }
            self.settle()?;
        }
        Ok(Outcome { queued, attempts, after: self.after() })
    }

    fn tell(&mut self, change: ClusterChange) {
        self.scheduler.handle_event(self.now, change);
    }

    /// Does what the scheduler wants done, until there is nothing more.
    fn settle(&mut self) -> serde_json::Result<()> {
        while let Some((id, work)) = self.scheduler.poll_action() {
            self.work(id, work)?;
        }
        Ok(())
    }

    fn work(&mut self, id: WorkId, work: Work) -> serde_json::Result<()> {
        let (result, change) = match work {
            Work::Do(action) => {
                let (result, change) = self.world.act(&action)?;
                (WorkResult::Done(result), change)
            }
            Work::PatchPodStatus { pod, condition, nominated_node_name } => {
                let key = pod.key();
                let change = match self.world.get("Pod", &key).cloned() {
                    None => None,
                    Some(mut value) => {
                        patch_status(&mut value, condition, nominated_node_name);
                        Some(self.world.put("Pod", value)?)
                    }
                };
                (WorkResult::Done(Ok(Value::Null)), change)
            }
            Work::DeletePod { pod } => {
                self.deleted.push(pod.name().to_string());
                (WorkResult::Done(Ok(Value::Null)), self.world.delete("Pod", &pod.key())?)
            }
            Work::ReadPod { key, .. } => {
                let pod = self.world.get("Pod", &key).cloned();
                let pod = pod.map(|it| object("Pod", it)).transpose()?.flatten();
                (WorkResult::Pod(Ok(pod)), None)
            }
            _ => return Ok(()),
        };
        self.scheduler.handle_result(self.now, id, result);
        if let Some(change) = change {
            self.tell(change);
        }
        Ok(())
    }

    fn pending(&self) -> Vec<(QueuePart, &QueuedPodInfo)> {
        let mut pods: Vec<_> = self.scheduler.queue().pending_pods().collect();
        pods.sort_by(|(_, a), (_, b)| a.pod.name().cmp(b.pod.name()));
        pods
    }

    fn queued(&self) -> Queued {
        let mut queued = Queued::default();
        for (part, info) in self.pending() {
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

    fn after(&mut self) -> After {
        let mut after = After::default();
        for (key, pod) in self.world.pods() {
            if let Some(node) = pod["spec"]["nodeName"].as_str().filter(|it| !it.is_empty()) {
                after.bound.insert(key.name.to_string(), node.to_owned());
            }
        }
        for (_, info) in self.pending() {
            let name = info.pod.name().to_string();
            if info.is_gated() {
                after.gated.push(name);
            } else {
                let plugins = info.unschedulable_plugins.iter().map(|it| (*it).to_owned());
                after.unschedulable.insert(name, plugins.collect());
            }
        }
        after.deleted = std::mem::take(&mut self.deleted);
        after.deleted.sort_unstable();
        after
    }
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

fn patch_status(pod: &mut Value, condition: Option<ConditionPatch>, nominated: Option<Text>) {
    if let Some(node) = nominated {
        pod["status"]["nominatedNodeName"] = json!(node);
    }
    if let Some(it) = condition {
        let entry = json!({
            "type": it.kind, "status": it.status, "reason": it.reason, "message": it.message,
        });
        let known = pod["status"]["conditions"].as_array().cloned().unwrap_or_default();
        let others = known.into_iter().filter(|other| other["type"] != it.kind);
        pod["status"]["conditions"] = others.chain([entry]).collect();
    }
}
