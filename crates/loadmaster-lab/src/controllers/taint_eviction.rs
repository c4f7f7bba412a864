//! `NoExecute` taints: pods that do not tolerate them are deleted, in time.
//!
//! Source: `pkg/controller/tainteviction` 1.36.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::events::{Recorder, Severity};
use super::runner::{Controller, Key};
use crate::api::{Api, DeleteOptions};
use crate::resources::Collection;
use crate::status::Status;
use crate::store::{Object, is_being_deleted, text};
use crate::values::list;

/// The controller that evicts from tainted nodes.
#[derive(Debug, Default)]
pub struct TaintEviction {
    /// Since when a pod, known by its place and uid, has been waiting for the end of its toleration.
    waiting: BTreeMap<Key, (String, Timestamp)>,
}

const RECORDER: Recorder = Recorder("taint-eviction-controller");

impl Controller for TaintEviction {
    fn watches(&self) -> Vec<Collection> {
        vec![Collection::PODS, Collection::NODES]
    }

    fn keys(&self, api: &Api, collection: Collection, object: &Value) -> Vec<Key> {
        if collection == Collection::PODS {
            return vec![Key::of(object)];
        }
        let node = text(object, "name");
        let (pods, _) = api.store().list(Collection::PODS, None);
        pods.iter().filter(|it| it["spec"]["nodeName"] == node).map(|it| Key::of(it)).collect()
    }

    fn reconcile(
        &mut self,
        api: &Api,
        key: &Key,
        now: Timestamp,
    ) -> Result<Option<Timestamp>, Status> {
        let found = api.store().get(Collection::PODS, &key.namespace, &key.name);
        let Some(pod) = found.filter(|it| !is_being_deleted(it)) else {
            self.waiting.remove(key);
            return Ok(None);
        };
        let uid = text(&pod, "uid").to_owned();
        let deadline = match stay(&pod, &node_taints(api, &pod)) {
            Stay::ForEver => {
                if self.waiting.remove(key).is_some_and(|(waiting, _)| waiting == uid) {
                    let message =
                        format!("Cancelling deletion of Pod {}/{}", key.namespace, key.name);
                    let reason = "TaintManagerEviction";
                    RECORDER.record(api, &pod, Severity::Normal, reason, &message, now);
                }
                return Ok(None);
            }
            Stay::For(time) => {
                let (waiting, since) =
                    self.waiting.entry(key.clone()).or_insert_with(|| (uid.clone(), now));
                if *waiting != uid {
                    // Another pod of the same name begins anew.
                    (*waiting, *since) = (uid, now);
                }
                *since + time
            }
        };
        if deadline > now {
            return Ok(Some(deadline));
        }
        self.waiting.remove(key);
        evict(api, &pod, now)?;
        Ok(None)
    }
}

/// How long a pod may stay on its node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stay {
    ForEver,
    For(SignedDuration),
}

fn node_taints(api: &Api, pod: &Value) -> Vec<Value> {
    let name = pod["spec"]["nodeName"].as_str().unwrap_or_default();
    let node = api.store().get(Collection::NODES, "", name);
    let taints = node.map(|it| list(&it, "/spec/taints").to_vec()).unwrap_or_default();
    taints.into_iter().filter(|it| it["effect"] == "NoExecute").collect()
}

/// A taint that is not tolerated ends the stay at once, else the shortest toleration does.
fn stay(pod: &Value, taints: &[Value]) -> Stay {
    let tolerations = list(pod, "/spec/tolerations");
    let mut shortest = None;
    for taint in taints {
        let Some(toleration) = tolerations.iter().find(|it| tolerates(it, taint)) else {
            return Stay::For(SignedDuration::ZERO);
        };
        if let Some(seconds) = toleration["tolerationSeconds"].as_i64() {
            let seconds = seconds.max(0);
            shortest = Some(shortest.map_or(seconds, |it: i64| it.min(seconds)));
        }
    }
    shortest.map_or(Stay::ForEver, |it| Stay::For(SignedDuration::from_secs(it)))
}

fn tolerates(toleration: &Value, taint: &Value) -> bool {
    let text = |it: &Value, name: &str| it[name].as_str().unwrap_or_default().to_owned();
    let (key, effect) = (text(toleration, "key"), text(toleration, "effect"));
    let (value, taint_value) = (text(toleration, "value"), text(taint, "value"));
    let operator = text(toleration, "operator");
    if (!effect.is_empty() && effect != text(taint, "effect"))
        || (!key.is_empty() && key != text(taint, "key"))
    {
        return false;
    }
    match operator.as_str() {
        "Exists" => true,
        "" | "Equal" => !key.is_empty() && value == taint_value,
        "Lt" | "Gt" => match (value.parse::<i64>(), taint_value.parse::<i64>()) {
            (Ok(bound), Ok(given)) if operator == "Lt" => given < bound,
            (Ok(bound), Ok(given)) => given > bound,
            _ => false,
        },
        _ => false,
    }
}

fn evict(api: &Api, pod: &Object, now: Timestamp) -> Result<(), Status> {
    let (namespace, name) = (text(pod, "namespace"), text(pod, "name"));
    let message = format!("Marking for deletion Pod {namespace}/{name}");
    RECORDER.record(api, pod, Severity::Normal, "TaintManagerEviction", &message, now);
    let message = "Taint manager: deleting due to NoExecute taint";
    mark_disrupted(api, pod, "DeletionByTaintManager", message, now);
    let options =
        DeleteOptions { uid: Some(text(pod, "uid").to_owned()), ..DeleteOptions::default() };
    match api.delete(Collection::PODS.resource(), namespace, name, &options) {
        Err(status) if status.code != 404 && status.code != 409 => Err(status),
        _ => Ok(()),
    }
}

/// Writes a `DisruptionTarget` condition, which tells a job why its pod is about to go.
pub(super) fn mark_disrupted(api: &Api, pod: &Object, reason: &str, message: &str, now: Timestamp) {
    let condition = json!({"type": "DisruptionTarget", "status": "True", "lastProbeTime": null,
        "lastTransitionTime": now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
        "observedGeneration": pod["metadata"]["generation"], "reason": reason, "message": message});
    let (namespace, name) = (text(pod, "namespace"), text(pod, "name"));
    let marked = api.store().edit(Collection::PODS, namespace, name, |pod| {
        let mut conditions = list(pod, "/status/conditions").to_vec();
        conditions.retain(|it| it["type"] != "DisruptionTarget");
        conditions.insert(0, condition.clone());
        pod["status"]["conditions"] = json!(conditions);
    });
    if let Err(error) = marked {
        tracing::debug!(%error, "a pod went before it was marked");
    }
}

#[cfg(test)]
mod tests;
