//! Claims and volumes: binding, provisioning, release and protection.
//!
//! Any class with a provisioner provisions here at once, as a cluster with the fitting driver would:
//! the volume is a `hostPath` that nothing ever mounts. `kubernetes.io/no-provisioner` means static
//! volumes, as everywhere.
//!
//! Source: `pkg/controller/volume/persistentvolume`, `pvcprotection` and `pvprotection` 1.36.

mod claims;
mod ephemeral;
mod matching;
mod persistent;

pub use claims::Claims;
pub(crate) use claims::{claims_of, is_bound};
pub use ephemeral::EphemeralVolumes;
pub use persistent::PersistentVolumes;

use serde_json::{Value, json};

use super::events::Recorder;
use crate::api::Api;
use crate::resources::Collection;
use crate::store::{Object, text};
use crate::values::list;

const RECORDER: Recorder = Recorder("persistentvolume-controller");

const BIND_COMPLETED: &str = "pv.kubernetes.io/bind-completed";
const BOUND_BY_CONTROLLER: &str = "pv.kubernetes.io/bound-by-controller";
const PROVISIONED_BY: &str = "pv.kubernetes.io/provisioned-by";
const SELECTED_NODE: &str = "volume.kubernetes.io/selected-node";

fn annotation<'a>(object: &'a Value, name: &str) -> Option<&'a str> {
    object["metadata"]["annotations"][name].as_str()
}

fn annotate(object: &mut Value, name: &str, value: &str) {
    if !object["metadata"]["annotations"].is_object() {
        object["metadata"]["annotations"] = json!({});
    }
    object["metadata"]["annotations"][name] = json!(value);
}

/// Whether a volume's `claimRef` names this claim; one without a uid waits for any of that name.
fn refers_to(volume: &Value, claim: &Value) -> bool {
    let reference = &volume["spec"]["claimRef"];
    let uid = reference["uid"].as_str().unwrap_or_default();
    reference["name"].as_str() == Some(text(claim, "name"))
        && reference["namespace"].as_str() == Some(text(claim, "namespace"))
        && (uid.is_empty() || uid == text(claim, "uid"))
}

fn has_finalizer(object: &Value, finalizer: &str) -> bool {
    list(object, "/metadata/finalizers").iter().any(|it| it == finalizer)
}

/// Takes a finalizer off; the object goes if it is being deleted and it was the last.
fn remove_finalizer(api: &Api, collection: Collection, object: &Object, finalizer: &str) {
    let (namespace, name) = (text(object, "namespace"), text(object, "name"));
    let edited = api.store().edit(collection, namespace, name, |object| {
        let mut left = list(object, "/metadata/finalizers").to_vec();
        left.retain(|it| it != finalizer);
        object["metadata"]["finalizers"] = json!(left);
    });
    if let Err(error) = edited {
        tracing::debug!(%error, "an object went before its finalizer");
    }
}

#[cfg(test)]
mod tests;
