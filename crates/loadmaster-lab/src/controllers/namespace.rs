//! Namespaces: what each one contains from the start, and what is left to do when it goes.
//!
//! Source: `pkg/controller/namespace` 1.36.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::runner::{Controller, Key};
use crate::api::{Api, DeleteOptions};
use crate::resources::{Collection, RESOURCES};
use crate::status::Status;
use crate::store::{Object, is_being_deleted, text};
use crate::values::list;

/// The controller of namespaces.
#[derive(Clone, Copy, Debug)]
pub struct Namespaces;

impl Controller for Namespaces {
    fn watches(&self) -> Vec<Collection> {
        let mut watched = namespaced();
        watched.push(Collection::NAMESPACES);
        watched
    }

    fn keys(&self, api: &Api, collection: Collection, object: &Value) -> Vec<Key> {
        if collection == Collection::NAMESPACES {
            return vec![Key::of(object)];
        }
        // Content matters only to a namespace that waits for it to go.
        let namespace = text(object, "namespace");
        match api.store().get(Collection::NAMESPACES, "", namespace) {
            Some(found) if is_being_deleted(&found) => vec![Key::of(&found)],
            _ => Vec::new(),
        }
    }

    fn reconcile(
        &mut self,
        api: &Api,
        key: &Key,
        now: Timestamp,
    ) -> Result<Option<Timestamp>, Status> {
        let Some(namespace) = api.store().get(Collection::NAMESPACES, "", &key.name) else {
            return Ok(None);
        };
        if is_being_deleted(&namespace) {
            empty(api, &namespace, now);
            return Ok(None);
        }
        furnish(api, &key.name)?;
        Ok(None)
    }
}

/// The collections whose objects live in namespaces.
fn namespaced() -> Vec<Collection> {
    let mut collections: Vec<Collection> =
        RESOURCES.iter().filter(|it| it.namespaced).map(|it| it.collection).collect();
    collections.sort_unstable();
    collections.dedup();
    collections
}

/// Every namespace has a default service account and the cluster's root certificate.
fn furnish(api: &Api, namespace: &str) -> Result<(), Status> {
    let account = json!({"metadata": {"name": "default"}});
    let description = "Contains a CA bundle that can be used to verify the kube-apiserver when \
                       using internal endpoints such as the internal service IP or \
                       kubernetes.default.svc. No other usage is guaranteed across distributions \
                       of Kubernetes clusters.";
    let certificate = json!({"metadata": {"name": "kube-root-ca.crt",
        "annotations": {"kubernetes.io/description": description}}, "data": {"ca.crt": api.auth().authority().ca_pem()}});
    for (collection, object) in
        [(Collection::SERVICE_ACCOUNTS, account), (Collection::CONFIG_MAPS, certificate)]
    {
        let name = text(&object, "name").to_owned();
        if api.store().get(collection, namespace, &name).is_none() {
            api.create(collection.resource(), namespace, object, false)?;
        }
    }
    Ok(())
}

/// Deletes everything in a namespace, says what is left, and lets it go when nothing is.
fn empty(api: &Api, namespace: &Object, now: Timestamp) {
    let name = text(namespace, "name");
    let mut left = Vec::new();
    for collection in namespaced() {
        let (objects, _) = api.store().list(collection, Some(name));
        for object in objects.iter().filter(|it| !is_being_deleted(it)) {
            let options = DeleteOptions {
                uid: Some(text(object, "uid").to_owned()),
                ..DeleteOptions::default()
            };
            let deleted = api.delete(collection.resource(), name, text(object, "name"), &options);
            if let Err(status) = deleted {
                tracing::debug!(%collection, error = %status.message, "content was not deleted");
            }
        }
        let (objects, _) = api.store().list(collection, Some(name));
        if !objects.is_empty() {
            left.push((collection, objects));
        }
    }
    let done = left.is_empty();
    let conditions = conditions(&left, &now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string());
    let written = api.store().edit(Collection::NAMESPACES, "", name, |namespace| {
        let before = list(namespace, "/status/conditions").to_vec();
        let merged: Vec<Value> = conditions.iter().map(|it| keep_time(&before, it)).collect();
        namespace["status"]["phase"] = json!("Terminating");
        namespace["status"]["conditions"] = json!(merged);
        if done && let Some(spec) = namespace["spec"].as_object_mut() {
            spec.remove("finalizers");
        }
    });
    if let Err(error) = written {
        tracing::debug!(%error, "a namespace went while it was emptied");
    }
}

/// A condition whose status did not change keeps its time.
fn keep_time(before: &[Value], condition: &Value) -> Value {
    let mut condition = condition.clone();
    let same = |it: &&Value| it["type"] == condition["type"] && it["status"] == condition["status"];
    if let Some(before) = before.iter().find(same) {
        condition["lastTransitionTime"] = before["lastTransitionTime"].clone();
    }
    condition
}

fn conditions(left: &[(Collection, Vec<Object>)], now: &str) -> [Value; 5] {
    let condition = |kind: &str, fault: Option<(&str, String)>, reason: &str, message: &str| {
        let (status, reason, message) = match fault {
            Some((reason, message)) => ("True", reason, message),
            None => ("False", reason, message.to_owned()),
        };
        json!({"type": kind, "status": status, "lastTransitionTime": now, "reason": reason,
            "message": message})
    };
    let remaining = (!left.is_empty()).then(|| {
        let parts: Vec<String> = left
            .iter()
            .map(|(collection, objects)| {
                format!("{collection}. has {} resource instances", objects.len())
            })
            .collect();
        ("SomeResourcesRemain", format!("Some resources are remaining: {}", parts.join(", ")))
    });
    let finalizers = finalizers_left(left);
    let finalizers = (!finalizers.is_empty()).then(|| {
        let text = "Some content in the namespace has finalizers remaining";
        ("SomeFinalizersRemain", format!("{text}: {}", finalizers.join(", ")))
    });
    [
        condition(
            "NamespaceDeletionDiscoveryFailure",
            None,
            "ResourcesDiscovered",
            "All resources successfully discovered",
        ),
        condition(
            "NamespaceDeletionGroupVersionParsingFailure",
            None,
            "ParsedGroupVersions",
            "All legacy kube types successfully parsed",
        ),
        condition(
            "NamespaceDeletionContentFailure",
            None,
            "ContentDeleted",
            "All content successfully deleted, may be waiting on finalization",
        ),
        condition(
            "NamespaceContentRemaining",
            remaining,
            "ContentRemoved",
            "All content successfully removed",
        ),
        condition(
            "NamespaceFinalizersRemaining",
            finalizers,
            "ContentHasNoFinalizers",
            "All content-preserving finalizers finished",
        ),
    ]
}

/// `FINALIZER in N resource instances`, by finalizer.
fn finalizers_left(left: &[(Collection, Vec<Object>)]) -> Vec<String> {
    let mut counts = std::collections::BTreeMap::<&str, usize>::new();
    for object in left.iter().flat_map(|(_, objects)| objects) {
        for finalizer in list(object, "/metadata/finalizers").iter().filter_map(Value::as_str) {
            *counts.entry(finalizer).or_default() += 1;
        }
    }
    counts.iter().map(|(name, count)| format!("{name} in {count} resource instances")).collect()
}

#[cfg(test)]
mod tests;
