//! The controller of volumes.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::{PROVISIONED_BY, annotation, has_finalizer, refers_to, remove_finalizer};
use crate::api::{Api, DeleteOptions};
use crate::controllers::runner::{Controller, Key};
use crate::resources::Collection;
use crate::status::Status;
use crate::store::{Object, is_being_deleted, text};

/// Tells whether volumes are free, bound or released, and removes those that shall not be kept.
#[derive(Clone, Copy, Debug)]
pub struct PersistentVolumes;

const CLAIMS: Collection = Collection::PERSISTENT_VOLUME_CLAIMS;
const VOLUMES: Collection = Collection::PERSISTENT_VOLUMES;
const PROTECTION: &str = "kubernetes.io/pv-protection";

impl Controller for PersistentVolumes {
    fn watches(&self) -> Vec<Collection> {
        vec![VOLUMES, CLAIMS]
    }

    fn keys(&self, api: &Api, collection: Collection, object: &Value) -> Vec<Key> {
        if collection == VOLUMES {
            return vec![Key::of(object)];
        }
        let (volumes, _) = api.store().list(VOLUMES, None);
        volumes.iter().filter(|it| refers_to(it, object)).map(|it| Key::of(it)).collect()
    }

    fn reconcile(
        &mut self,
        api: &Api,
        key: &Key,
        now: Timestamp,
    ) -> Result<Option<Timestamp>, Status> {
        let Some(volume) = api.store().get(VOLUMES, "", &key.name) else { return Ok(None) };
        let phase = phase_of(api, &volume);
        if is_being_deleted(&volume) {
            if phase != "Bound" && has_finalizer(&volume, PROTECTION) {
                remove_finalizer(api, VOLUMES, &volume, PROTECTION);
            }
            return Ok(None);
        }
        let provisioned = annotation(&volume, PROVISIONED_BY).is_some();
        let policy = &volume["spec"]["persistentVolumeReclaimPolicy"];
        if phase == "Released" && provisioned && policy == "Delete" {
            let uid = Some(text(&volume, "uid").to_owned());
            let options = DeleteOptions { uid, ..DeleteOptions::default() };
            api.delete(VOLUMES.resource(), "", &key.name, &options)?;
            return Ok(None);
        }
        let time = now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
        let edited = api.store().edit(VOLUMES, "", &key.name, |volume| {
            if volume["status"]["phase"] != phase {
                volume["status"]["phase"] = json!(phase);
                volume["status"]["lastPhaseTransitionTime"] = json!(time);
            }
        });
        if let Err(error) = edited {
            tracing::debug!(%error, "a volume went while it was written");
        }
        Ok(None)
    }
}

/// A volume without a claim is available, one whose claim is gone is released.
fn phase_of(api: &Api, volume: &Object) -> &'static str {
    let reference = &volume["spec"]["claimRef"];
    let part = |name: &str| reference[name].as_str().unwrap_or_default();
    if part("uid").is_empty() {
        return "Available";
    }
    match api.store().get(CLAIMS, part("namespace"), part("name")) {
        Some(claim) if refers_to(volume, &claim) => {
            let tied = claim["spec"]["volumeName"] == volume["metadata"]["name"];
            if tied { "Bound" } else { "Available" }
        }
        _ => "Released",
    }
}
