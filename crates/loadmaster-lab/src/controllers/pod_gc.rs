//! Pods whose node does not exist any more.
//!
//! Source: `pkg/controller/podgc` 1.36.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::runner::{Controller, Key};
use super::taint_eviction::mark_disrupted;
use crate::api::{Api, DeleteOptions};
use crate::resources::Collection;
use crate::status::Status;
use crate::store::{Object, text};

/// The controller that removes pods of lost nodes.
#[derive(Debug, Default)]
pub struct PodGc {
    /// Since when a node that pods name has been missing.
    missing: BTreeMap<String, Timestamp>,
}

/// A node may come back within this time and finds its pods again.
const QUARANTINE: SignedDuration = SignedDuration::from_secs(40);

impl Controller for PodGc {
    fn watches(&self) -> Vec<Collection> {
        vec![Collection::PODS, Collection::NODES]
    }

    /// Keys are the names of nodes that do not exist.
    fn keys(&self, api: &Api, collection: Collection, object: &Value) -> Vec<Key> {
        let node = match collection {
            Collection::NODES => text(object, "name"),
            _ => object["spec"]["nodeName"].as_str().unwrap_or_default(),
        };
        let matters = !node.is_empty()
            && (self.missing.contains_key(node)
                || api.store().get(Collection::NODES, "", node).is_none());
        matters.then(|| Key::new("", node)).into_iter().collect()
    }

    fn reconcile(
        &mut self,
        api: &Api,
        key: &Key,
        now: Timestamp,
    ) -> Result<Option<Timestamp>, Status> {
        let (pods, _) = api.store().list(Collection::PODS, None);
        let lost: Vec<&Object> =
            pods.iter().filter(|it| it["spec"]["nodeName"] == key.name.as_str()).collect();
        if lost.is_empty() || api.store().get(Collection::NODES, "", &key.name).is_some() {
            self.missing.remove(&key.name);
            return Ok(None);
        }
        let end = *self.missing.entry(key.name.clone()).or_insert(now) + QUARANTINE;
        if end > now {
            return Ok(Some(end));
        }
        for pod in lost {
            remove(api, pod, now)?;
        }
        Ok(None)
    }
}

fn remove(api: &Api, pod: &Object, now: Timestamp) -> Result<(), Status> {
    let (namespace, name) = (text(pod, "namespace"), text(pod, "name"));
    if !super::replica_set::is_finished(pod) {
        mark_disrupted(api, pod, "DeletionByPodGC", "PodGC: node no longer exists", now);
        let failed = api.store().edit(Collection::PODS, namespace, name, |pod| {
            pod["status"]["phase"] = json!("Failed");
        });
        if let Err(error) = failed {
            tracing::debug!(%error, "a pod went before it was failed");
        }
    }
    let options = DeleteOptions::now(text(pod, "uid"));
    match api.delete(Collection::PODS.resource(), namespace, name, &options) {
        Err(status) if status.code != 404 && status.code != 409 => Err(status),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests;
