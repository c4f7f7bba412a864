//! Disruption budgets: how many of their pods may be evicted now.
//!
//! Source: `pkg/controller/disruption` 1.36.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::deployment::share;
use super::runner::{Controller, Key};
use crate::api::Api;
use crate::resources::{self, Collection};
use crate::selectors::LabelSelector;
use crate::status::Status;
use crate::store::{Object, is_being_deleted, text};
use crate::values::{condition_is_true, controller_of, list, number};

/// The controller of pod disruption budgets.
#[derive(Clone, Copy, Debug)]
pub struct Disruption;

/// An eviction that was allowed counts as under way for this long.
const EVICTION_MAX: SignedDuration = SignedDuration::from_secs(120);

impl Controller for Disruption {
    fn watches(&self) -> Vec<Collection> {
        vec![
            Collection::POD_DISRUPTION_BUDGETS,
            Collection::PODS,
            Collection::REPLICA_SETS,
            Collection::DEPLOYMENTS,
        ]
    }

    fn keys(&self, api: &Api, collection: Collection, object: &Value) -> Vec<Key> {
        if collection == Collection::POD_DISRUPTION_BUDGETS {
            return vec![Key::of(object)];
        }
        let namespace = text(object, "namespace");
        let (budgets, _) = api.store().list(Collection::POD_DISRUPTION_BUDGETS, Some(namespace));
        let concerned = |budget: &&Object| {
            collection != Collection::PODS
                || LabelSelector::from_object(&budget["spec"]["selector"]).matches(object)
        };
        budgets.iter().filter(concerned).map(|it| Key::of(it)).collect()
    }

    fn reconcile(
        &mut self,
        api: &Api,
        key: &Key,
        now: Timestamp,
    ) -> Result<Option<Timestamp>, Status> {
        let collection = Collection::POD_DISRUPTION_BUDGETS;
        let Some(budget) = api.store().get(collection, &key.namespace, &key.name) else {
            return Ok(None);
        };
        let selector = LabelSelector::from_object(&budget["spec"]["selector"]);
        let (mut pods, _) = api.store().list(Collection::PODS, Some(&key.namespace));
        pods.retain(|pod| selector.matches(pod) && !super::replica_set::is_finished(pod));
        let (under_way, next) = evictions_under_way(&budget, &pods, now);
        let healthy = pods.iter().filter(|pod| {
            !is_being_deleted(pod)
                && !under_way.contains_key(text(pod, "name"))
                && condition_is_true(pod, "Ready")
        });
        let healthy = i64::try_from(healthy.count()).unwrap_or(i64::MAX);
        let (expected, desired) = expectation(api, &budget["spec"], &pods);
        let allowed = if expected > 0 { (healthy - desired).max(0) } else { 0 };
        let time = now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
        let written = api.store().edit(collection, &key.namespace, &key.name, |budget| {
            let condition = allowed_condition(budget, allowed, &time);
            let mut status = json!({"observedGeneration": budget["metadata"]["generation"],
                "disruptionsAllowed": allowed, "currentHealthy": healthy,
                "desiredHealthy": desired, "expectedPods": expected, "conditions": [condition]});
            if !under_way.is_empty() {
                status["disruptedPods"] = json!(under_way);
            }
            budget["status"] = status;
        });
        if let Err(error) = written {
            tracing::debug!(%error, "a budget went while it was written");
        }
        Ok(next)
    }
}

/// The allowed evictions whose pods are still there, and when the next of them is given up.
fn evictions_under_way(
    budget: &Value,
    pods: &[Object],
    now: Timestamp,
) -> (BTreeMap<String, Value>, Option<Timestamp>) {
    let mut left = BTreeMap::new();
    let mut next = None;
    for (name, since) in budget["status"]["disruptedPods"].as_object().into_iter().flatten() {
        let there = pods.iter().any(|it| text(it, "name") == name && !is_being_deleted(it));
        let end = since.as_str().and_then(|it| it.parse::<Timestamp>().ok());
        let end = end.map(|it| it + EVICTION_MAX);
        if let (true, Some(end)) = (there, end.filter(|end| *end > now)) {
            left.insert(name.clone(), since.clone());
            next = Some(next.map_or(end, |next: Timestamp| next.min(end)));
        }
    }
    (left, next)
}

/// How many pods there should be, and how many of them must stay healthy.
fn expectation(api: &Api, spec: &Value, pods: &[Object]) -> (i64, i64) {
    let count = i64::try_from(pods.len()).unwrap_or(i64::MAX);
    if !spec["maxUnavailable"].is_null() {
        let expected = scale_of_controllers(api, pods);
        return (expected, (expected - share(&spec["maxUnavailable"], expected, true)).max(0));
    }
    match &spec["minAvailable"] {
        Value::Null => (count, 0),
        Value::String(_) => {
            let expected = scale_of_controllers(api, pods);
            (expected, share(&spec["minAvailable"], expected, true))
        }
        number => (count, number.as_i64().unwrap_or_default()),
    }
}

/// The replicas that the pods' controllers ask for, each counted once.
fn scale_of_controllers(api: &Api, pods: &[Object]) -> i64 {
    let mut scales = BTreeMap::new();
    for pod in pods {
        if let Some((uid, replicas)) = controller_scale(api, pod) {
            scales.insert(uid, replicas);
        }
    }
    scales.values().sum()
}

/// The uid and replicas of what scales a pod: its replica set, or that set's deployment.
fn controller_scale(api: &Api, pod: &Value) -> Option<(String, i64)> {
    let namespace = text(pod, "namespace");
    let owner = |object: &Value| -> Option<Object> {
        let reference = controller_of(object)?;
        let text = |name: &str| reference[name].as_str().unwrap_or_default();
        let resource = resources::by_kind(text("apiVersion"), text("kind"))?;
        api.store().get(resource.collection, namespace, text("name"))
    };
    let mut scaler = owner(pod)?;
    if let Some(above) = owner(&scaler) {
        scaler = above;
    }
    Some((text(&scaler, "uid").to_owned(), number(&scaler, "/spec/replicas")))
}

fn allowed_condition(budget: &Value, allowed: i64, now: &str) -> Value {
    let (status, reason) =
        if allowed > 0 { ("True", "SufficientPods") } else { ("False", "InsufficientPods") };
    let before = list(budget, "/status/conditions")
        .iter()
        .find(|it| it["type"] == "DisruptionAllowed" && it["status"] == status);
    let since = before.and_then(|it| it["lastTransitionTime"].as_str()).unwrap_or(now);
    json!({"type": "DisruptionAllowed", "status": status, "reason": reason, "message": "",
        "observedGeneration": budget["metadata"]["generation"], "lastTransitionTime": since})
}

#[cfg(test)]
mod tests;
