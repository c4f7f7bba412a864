//! Claims of ephemeral volumes, which live and die with their pods.
//!
//! Source: `pkg/controller/volume/ephemeral` 1.36.

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::api::Api;
use crate::controllers::runner::{Controller, Key};
use crate::resources::Collection;
use crate::status::Status;
use crate::store::{is_being_deleted, text};
use crate::values::list;

/// Makes the claims that pods' ephemeral volumes ask for.
#[derive(Clone, Copy, Debug)]
pub struct EphemeralVolumes;

const CLAIMS: Collection = Collection::PERSISTENT_VOLUME_CLAIMS;

impl Controller for EphemeralVolumes {
    fn watches(&self) -> Vec<Collection> {
        vec![Collection::PODS]
    }

    fn keys(&self, _: &Api, _: Collection, object: &Value) -> Vec<Key> {
        let has_any = list(object, "/spec/volumes").iter().any(|it| it["ephemeral"].is_object());
        has_any.then(|| Key::of(object)).into_iter().collect()
    }

    fn reconcile(
        &mut self,
        api: &Api,
        key: &Key,
        _: Timestamp,
    ) -> Result<Option<Timestamp>, Status> {
        let found = api.store().get(Collection::PODS, &key.namespace, &key.name);
        let Some(pod) = found.filter(|it| !is_being_deleted(it)) else { return Ok(None) };
        for volume in list(&pod, "/spec/volumes").iter().filter(|it| it["ephemeral"].is_object()) {
            let name = format!("{}-{}", key.name, volume["name"].as_str().unwrap_or_default());
            if api.store().get(CLAIMS, &key.namespace, &name).is_none() {
                let claim = claim_for(&pod, &name, &volume["ephemeral"]["volumeClaimTemplate"]);
                api.create(CLAIMS.resource(), &key.namespace, claim, false)?;
            }
        }
        Ok(None)
    }
}

fn claim_for(pod: &Value, name: &str, template: &Value) -> Value {
    let mut metadata = json!({"name": name, "ownerReferences": [{"apiVersion": "v1", "kind": "Pod",
        "name": text(pod, "name"), "uid": text(pod, "uid"), "controller": true,
        "blockOwnerDeletion": true}]});
    for member in ["labels", "annotations"] {
        if let Some(value) = template["metadata"].get(member) {
            metadata[member] = value.clone();
        }
    }
    json!({"metadata": metadata, "spec": template["spec"]})
}
