//! The controller of claims.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::{
    BIND_COMPLETED, BOUND_BY_CONTROLLER, PROVISIONED_BY, RECORDER, SELECTED_NODE, annotate,
    annotation, has_finalizer, matching, refers_to, remove_finalizer,
};
use crate::api::Api;
use crate::controllers::events::Severity;
use crate::controllers::replica_set::is_finished;
use crate::controllers::runner::{Controller, Key};
use crate::resources::Collection;
use crate::status::Status;
use crate::store::{Object, is_being_deleted, text};
use crate::values::list;

/// Binds claims to volumes, provisions what is missing, and keeps claims that pods use.
#[derive(Clone, Copy, Debug)]
pub struct Claims;

const CLAIMS: Collection = Collection::PERSISTENT_VOLUME_CLAIMS;
const VOLUMES: Collection = Collection::PERSISTENT_VOLUMES;
const PROTECTION: &str = "kubernetes.io/pvc-protection";
const NO_PROVISIONER: &str = "kubernetes.io/no-provisioner";

impl Controller for Claims {
    fn watches(&self) -> Vec<Collection> {
        vec![CLAIMS, VOLUMES, Collection::STORAGE_CLASSES, Collection::PODS]
    }

    fn keys(&self, api: &Api, collection: Collection, object: &Value) -> Vec<Key> {
        match collection {
            CLAIMS => vec![Key::of(object)],
            // A pod that goes may have been the last that used a claim.
            Collection::PODS => claims_of(object),
            // A volume or class that comes may serve any claim that waits.
            _ => {
                let (claims, _) = api.store().list(CLAIMS, None);
                let waiting = |it: &&Object| !is_bound(it) || refers_to(object, it);
                claims.iter().filter(waiting).map(|it| Key::of(it)).collect()
            }
        }
    }

    fn reconcile(
        &mut self,
        api: &Api,
        key: &Key,
        now: Timestamp,
    ) -> Result<Option<Timestamp>, Status> {
        let Some(claim) = api.store().get(CLAIMS, &key.namespace, &key.name) else {
            return Ok(None);
        };
        if is_being_deleted(&claim) {
            if has_finalizer(&claim, PROTECTION) && !is_used(api, &claim) {
                remove_finalizer(api, CLAIMS, &claim, PROTECTION);
            }
            return Ok(None);
        }
        if is_bound(&claim) {
            note_loss(api, &claim);
            return Ok(None);
        }
        match find(api, &claim) {
            Found::Volume(volume) => bind(api, &claim, &volume),
            Found::Provisioner(class) => provision(api, &claim, &class, now)?,
            Found::Wait(reason, message) => {
                RECORDER.record_once(api, &claim, Severity::Normal, reason, message, now);
            }
        }
        Ok(None)
    }
}

/// What there is for a claim.
enum Found {
    Volume(Object),
    Provisioner(Object),
    Wait(&'static str, &'static str),
}

/// Whether the claim and its volume are tied to each other.
pub(crate) fn is_bound(claim: &Value) -> bool {
    annotation(claim, BIND_COMPLETED).is_some()
}

/// The claims that a pod names, ephemeral ones included.
pub(crate) fn claims_of(pod: &Value) -> Vec<Key> {
    let namespace = text(pod, "namespace");
    let volumes = list(pod, "/spec/volumes").iter();
    volumes
        .filter_map(|volume| match volume["persistentVolumeClaim"]["claimName"].as_str() {
            Some(name) => Some(name.to_owned()),
            None if volume["ephemeral"].is_object() => {
                Some(format!("{}-{}", text(pod, "name"), volume["name"].as_str()?))
            }
            None => None,
        })
        .map(|name| Key::new(namespace, &name))
        .collect()
}

fn is_used(api: &Api, claim: &Value) -> bool {
    let (pods, _) = api.store().list(Collection::PODS, Some(text(claim, "namespace")));
    let key = Key::of(claim);
    pods.iter().any(|pod| !is_finished(pod) && claims_of(pod).contains(&key))
}

/// A bound claim whose volume is gone has lost its data.
fn note_loss(api: &Api, claim: &Object) {
    let volume = claim["spec"]["volumeName"].as_str().unwrap_or_default();
    let there = api.store().get(VOLUMES, "", volume).is_some_and(|it| refers_to(&it, claim));
    if !there {
        edit_claim(api, claim, |claim| claim["status"]["phase"] = json!("Lost"));
    }
}

fn find(api: &Api, claim: &Value) -> Found {
    let (volumes, _) = api.store().list(VOLUMES, None);
    if let Some(name) = claim["spec"]["volumeName"].as_str().filter(|it| !it.is_empty()) {
        // The claim asks for one volume by name.
        let named = volumes.iter().find(|it| text(it, "name") == name);
        return match named {
            Some(volume) if volume["spec"]["claimRef"].is_null() || refers_to(volume, claim) => {
                Found::Volume(volume.clone())
            }
            _ => Found::Wait(
                "FailedBinding",
                "volume is not there or already bound to another claim",
            ),
        };
    }
    if let Some(volume) = volumes.iter().find(|it| refers_to(it, claim)) {
        return Found::Volume(volume.clone());
    }
    let class = claim["spec"]["storageClassName"].as_str().unwrap_or_default();
    let class = api.store().get(Collection::STORAGE_CLASSES, "", class);
    let delayed =
        class.as_ref().is_some_and(|it| it["volumeBindingMode"] == "WaitForFirstConsumer");
    if delayed && annotation(claim, SELECTED_NODE).is_none() {
        return Found::Wait(
            "WaitForFirstConsumer",
            "waiting for first consumer to be created before binding",
        );
    }
    if let Some(volume) = matching::best(&volumes, claim) {
        return Found::Volume(volume);
    }
    match class {
        Some(class) if class["provisioner"] != NO_PROVISIONER => Found::Provisioner(class),
        Some(_) => Found::Wait("FailedBinding", "no persistent volumes available for this claim"),
        None => Found::Wait(
            "FailedBinding",
            "no persistent volumes available for this claim and no storage class is set",
        ),
    }
}

/// Ties a claim and a volume to each other.
fn bind(api: &Api, claim: &Object, volume: &Object) {
    let by_controller = volume["spec"]["claimRef"].is_null();
    let reference = json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim",
        "name": text(claim, "name"), "namespace": text(claim, "namespace"),
        "uid": text(claim, "uid"), "resourceVersion": text(claim, "resourceVersion")});
    let bound = api.store().edit(VOLUMES, "", text(volume, "name"), |volume| {
        if volume["spec"]["claimRef"]["uid"].as_str().is_none_or(str::is_empty) {
            volume["spec"]["claimRef"] = reference.clone();
        }
        if by_controller {
            annotate(volume, BOUND_BY_CONTROLLER, "yes");
        }
        volume["status"]["phase"] = json!("Bound");
    });
    let Ok(volume) = bound else { return };
    let chosen = claim["spec"]["volumeName"].as_str().is_none_or(str::is_empty);
    edit_claim(api, claim, |claim| {
        claim["spec"]["volumeName"] = volume["metadata"]["name"].clone();
        annotate(claim, BIND_COMPLETED, "yes");
        if chosen {
            annotate(claim, BOUND_BY_CONTROLLER, "yes");
        }
        claim["status"] = json!({"phase": "Bound", "accessModes": volume["spec"]["accessModes"],
            "capacity": volume["spec"]["capacity"]});
    });
}

fn edit_claim(api: &Api, claim: &Object, change: impl FnMut(&mut Value)) {
    let (namespace, name) = (text(claim, "namespace"), text(claim, "name"));
    if let Err(error) = api.store().edit(CLAIMS, namespace, name, change) {
        tracing::debug!(%error, "a claim went while it was written");
    }
}

/// Makes a volume for a claim, as the class's driver would.
fn provision(api: &Api, claim: &Object, class: &Object, now: Timestamp) -> Result<(), Status> {
    let name = format!("pvc-{}", text(claim, "uid"));
    let provisioner = class["provisioner"].as_str().unwrap_or_default();
    let mut volume = json!({
        "metadata": {"name": name, "annotations": {PROVISIONED_BY: provisioner}},
        "spec": {"capacity": {"storage": claim["spec"]["resources"]["requests"]["storage"]},
            "accessModes": claim["spec"]["accessModes"],
            "volumeMode": claim["spec"]["volumeMode"],
            "persistentVolumeReclaimPolicy": class["reclaimPolicy"],
            "storageClassName": text(class, "name"),
            "hostPath": {"path": format!("/lab/{name}")},
            "claimRef": {"apiVersion": "v1", "kind": "PersistentVolumeClaim",
                "name": text(claim, "name"), "namespace": text(claim, "namespace"),
                "uid": text(claim, "uid")}},
    });
    if let Some(node) = annotation(claim, SELECTED_NODE)
        && let Some(affinity) = topology_of(api, node, class)
    {
        volume["spec"]["nodeAffinity"] = affinity;
    }
    if api.store().get(VOLUMES, "", &name).is_none() {
        api.create(VOLUMES.resource(), "", volume, false)?;
    }
    edit_claim(api, claim, |claim| {
        annotate(claim, "volume.kubernetes.io/storage-provisioner", provisioner);
    });
    let message = format!("Successfully provisioned volume {name}");
    RECORDER.record_once(api, claim, Severity::Normal, "ProvisioningSucceeded", &message, now);
    Ok(())
}

/// The part of the cluster where a provisioned volume can be reached: the node's values of the keys
/// that the class allows, if it allows some.
fn topology_of(api: &Api, node: &str, class: &Value) -> Option<Value> {
    let node = api.store().get(Collection::NODES, "", node)?;
    let mut terms: Vec<Value> = Vec::new();
    for expression in list(class, "/allowedTopologies/0/matchLabelExpressions") {
        let key = expression["key"].as_str()?;
        let value = node["metadata"]["labels"][key].as_str()?;
        terms.push(json!({"key": key, "operator": "In", "values": [value]}));
    }
    (!terms.is_empty())
        .then(|| json!({"required": {"nodeSelectorTerms": [{"matchExpressions": terms}]}}))
}
