//! Replica sets: as many pods as asked for.

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::events::{Recorder, Severity};
use super::runner::{Controller, Key};
use crate::api::{Api, DeleteOptions};
use crate::resources::Collection;
use crate::selectors::LabelSelector;
use crate::status::Status;
use crate::store::{Object, is_being_deleted, text};
use crate::values::{condition, controller_of, is_controlled_by, list, number};

mod ranking;

/// The controller of replica sets.
///
/// Source: `pkg/controller/replicaset` 1.36.
#[derive(Clone, Copy, Debug)]
pub struct ReplicaSets;

const RECORDER: Recorder = Recorder("replicaset-controller");

impl Controller for ReplicaSets {
    fn watches(&self) -> Vec<Collection> {
        vec![Collection::REPLICA_SETS, Collection::PODS]
    }

    fn keys(&self, api: &Api, collection: Collection, object: &Value) -> Vec<Key> {
        if collection == Collection::REPLICA_SETS {
            return vec![Key::of(object)];
        }
        let namespace = text(object, "namespace");
        if let Some(owner) = controller_of(object) {
            if owner["kind"] == "ReplicaSet" {
                return vec![Key::new(namespace, owner["name"].as_str().unwrap_or_default())];
            }
            return Vec::new();
        }
        // An orphan may belong to any set whose selector it matches.
        let (sets, _) = api.store().list(Collection::REPLICA_SETS, Some(namespace));
        let matching =
            |set: &&Object| LabelSelector::from_object(&set["spec"]["selector"]).matches(object);
        sets.iter().filter(matching).map(|set| Key::of(set)).collect()
    }

    fn reconcile(
        &mut self,
        api: &Api,
        key: &Key,
        now: Timestamp,
    ) -> Result<Option<Timestamp>, Status> {
        let found = api.store().get(Collection::REPLICA_SETS, &key.namespace, &key.name);
        let Some(set) = found else { return Ok(None) };
        let mut failure = None;
        if !is_being_deleted(&set) {
            claim(api, &set);
            let active: Vec<Object> =
                own_pods(api, &set).into_iter().filter(|it| is_active(it)).collect();
            failure = scale(api, &set, &active, now).err();
        }
        let next = write_status(api, &set, now);
        failure.map_or(Ok(next), Err)
    }
}

/// Takes in pods without a controller that match, and lets go those that match no longer.
fn claim(api: &Api, set: &Object) {
    let selector = LabelSelector::from_object(&set["spec"]["selector"]);
    let uid = text(set, "uid");
    let (pods, _) = api.store().list(Collection::PODS, Some(text(set, "namespace")));
    for pod in pods.iter().filter(|it| !is_being_deleted(it)) {
        let adopt = controller_of(pod).is_none() && selector.matches(pod) && is_active(pod);
        let release = is_controlled_by(pod, uid) && !selector.matches(pod);
        if !adopt && !release {
            continue;
        }
        let changed =
            api.store().edit(Collection::PODS, text(pod, "namespace"), text(pod, "name"), |pod| {
                let mut owners = list(pod, "/metadata/ownerReferences").to_vec();
                owners.retain(|it| it["uid"] != uid);
                if adopt {
                    owners.push(owner_reference("ReplicaSet", set));
                }
                pod["metadata"]["ownerReferences"] = json!(owners);
            });
        if let Err(error) = changed {
            tracing::debug!(%error, "a pod went while it was claimed");
        }
    }
}

/// The reference by which `owner`, of the apps group, controls an object.
pub(super) fn owner_reference(kind: &str, owner: &Value) -> Value {
    json!({"apiVersion": "apps/v1", "kind": kind, "name": text(owner, "name"),
        "uid": text(owner, "uid"), "controller": true, "blockOwnerDeletion": true})
}

/// The pods that the set controls.
fn own_pods(api: &Api, set: &Value) -> Vec<Object> {
    let uid = text(set, "uid");
    let (mut pods, _) = api.store().list(Collection::PODS, Some(text(set, "namespace")));
    pods.retain(|pod| is_controlled_by(pod, uid));
    pods
}

/// Whether a pod counts: it has not finished and is not going.
pub(super) fn is_active(pod: &Value) -> bool {
    !is_being_deleted(pod) && !is_finished(pod)
}

/// Whether a pod has come to its end.
pub(super) fn is_finished(pod: &Value) -> bool {
    matches!(pod["status"]["phase"].as_str(), Some("Succeeded" | "Failed"))
}

/// Makes or deletes pods until there are as many active ones as asked for.
fn scale(api: &Api, set: &Object, active: &[Object], now: Timestamp) -> Result<(), Status> {
    let wanted = usize::try_from(number(set, "/spec/replicas")).unwrap_or_default();
    for _ in active.len()..wanted {
        create_pod(api, set, now)?;
    }
    if active.len() > wanted {
        let related = related_pods(api, set);
        for pod in ranking::first_to_go(active, &related, now, active.len() - wanted) {
            delete_pod(api, set, &pod, now)?;
        }
    }
    Ok(())
}

fn create_pod(api: &Api, set: &Object, now: Timestamp) -> Result<(), Status> {
    let template = &set["spec"]["template"];
    let mut metadata = json!({"generateName": format!("{}-", text(set, "name")),
        "ownerReferences": [owner_reference("ReplicaSet", set)]});
    for name in ["labels", "annotations", "finalizers"] {
        if let Some(value) = template["metadata"].get(name) {
            metadata[name] = value.clone();
        }
    }
    let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata,
        "spec": template["spec"]});
    let namespace = text(set, "namespace");
    match api.create(Collection::PODS.resource(), namespace, pod, false) {
        Ok(pod) => {
            let message = format!("Created pod: {}", text(&pod, "name"));
            RECORDER.record(api, set, Severity::Normal, "SuccessfulCreate", &message, now);
            Ok(())
        }
        Err(status) => {
            let message = format!("Error creating: {}", status.message);
            RECORDER.record(api, set, Severity::Warning, "FailedCreate", &message, now);
            Err(status)
        }
    }
}

fn delete_pod(api: &Api, set: &Object, pod: &Object, now: Timestamp) -> Result<(), Status> {
    let options =
        DeleteOptions { uid: Some(text(pod, "uid").to_owned()), ..DeleteOptions::default() };
    let (namespace, name) = (text(pod, "namespace"), text(pod, "name"));
    match api.delete(Collection::PODS.resource(), namespace, name, &options) {
        Ok(_) => {
            let message = format!("Deleted pod: {name}");
            RECORDER.record(api, set, Severity::Normal, "SuccessfulDelete", &message, now);
            Ok(())
        }
        // Somebody else was faster.
        Err(status) if status.code == 404 || status.code == 409 => Ok(()),
        Err(status) => Err(status),
    }
}

/// The active pods of all sets of the same deployment, or of this set alone.
fn related_pods(api: &Api, set: &Object) -> Vec<Object> {
    let namespace = text(set, "namespace");
    let owner = controller_of(set).and_then(|it| it["uid"].as_str());
    let (sets, _) = api.store().list(Collection::REPLICA_SETS, Some(namespace));
    let siblings: Vec<&str> = match owner {
        Some(owner) => {
            sets.iter().filter(|it| is_controlled_by(it, owner)).map(|it| text(it, "uid")).collect()
        }
        None => vec![text(set, "uid")],
    };
    let (mut pods, _) = api.store().list(Collection::PODS, Some(namespace));
    pods.retain(|pod| is_active(pod) && siblings.iter().any(|uid| is_controlled_by(pod, uid)));
    pods
}

/// Counts the pods into the set's status; returns when the next of them becomes available.
fn write_status(api: &Api, set: &Object, now: Timestamp) -> Option<Timestamp> {
    let pods = own_pods(api, set);
    let min_ready = SignedDuration::from_secs(number(set, "/spec/minReadySeconds"));
    let template_labels =
        LabelSelector::from_map(set["spec"]["template"]["metadata"]["labels"].as_object());
    let (mut replicas, mut labelled, mut ready, mut available) = (0_i64, 0_i64, 0_i64, 0_i64);
    let mut next = None;
    for pod in pods.iter().filter(|it| is_active(it)) {
        replicas += 1;
        labelled += i64::from(template_labels.matches(pod));
        let Some(since) = ready_since(pod) else { continue };
        ready += 1;
        let from = since + min_ready;
        if min_ready.is_zero() || from <= now {
            available += 1;
        } else {
            next = Some(next.map_or(from, |next: Timestamp| next.min(from)));
        }
    }
    let terminating = pods.iter().filter(|it| is_being_deleted(it) && !is_finished(it)).count();
    let written = api.store().edit(
        Collection::REPLICA_SETS,
        text(set, "namespace"),
        text(set, "name"),
        |current| {
            let mut status = json!({"replicas": replicas, "terminatingReplicas": terminating,
                "observedGeneration": set["metadata"]["generation"]});
            for (name, count) in [
                ("fullyLabeledReplicas", labelled),
                ("readyReplicas", ready),
                ("availableReplicas", available),
            ] {
                if count > 0 {
                    status[name] = json!(count);
                }
            }
            current["status"] = status;
        },
    );
    if let Err(error) = written {
        tracing::debug!(%error, "a replica set went while its status was written");
    }
    next
}

/// Since when the pod has been ready, if it is.
pub(super) fn ready_since(pod: &Value) -> Option<Timestamp> {
    let ready = condition(pod, "Ready").filter(|it| it["status"] == "True")?;
    let since = ready["lastTransitionTime"].as_str().and_then(|it| it.parse().ok());
    Some(since.unwrap_or(Timestamp::UNIX_EPOCH))
}

#[cfg(test)]
mod tests;
