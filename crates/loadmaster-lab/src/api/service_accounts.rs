//! `ServiceAccount` admission: whose pods are, and how they prove it.
//!
//! Source: `plugin/pkg/admission/serviceaccount` 1.36.

use serde_json::{Value, json};

use super::Api;
use super::tokens::POD_LIFETIME;
use crate::resources::{Collection, Resource};
use crate::status::Status;
use crate::store::{Object, generate_name, text};
use crate::values::list;

/// The account of pods that name none.
const DEFAULT: &str = "default";
/// Where containers find the token, the authority's certificate and their namespace.
const MOUNT_PATH: &str = "/var/run/secrets/kubernetes.io/serviceaccount";
/// The beginning of the volume's name.
const VOLUME: &str = "kube-api-access-";

impl Api {
    /// Gives a new pod its account and, unless one of them wants none, a volume with its token.
    pub(super) fn admit_service_account(
        &self,
        resource: &Resource,
        pod: &mut Value,
    ) -> Result<(), Status> {
        if !self.service_accounts || resource.collection != Collection::PODS {
            return Ok(());
        }
        let namespace = text(pod, "namespace").to_owned();
        let name = match pod["spec"]["serviceAccountName"].as_str() {
            Some(name) if !name.is_empty() => name.to_owned(),
            _ => DEFAULT.to_owned(),
        };
        let Some(account) = self.account(&namespace, &name) else {
            let why = format!(
                "error looking up service account {namespace}/{name}: serviceaccount {name:?} not \
                 found"
            );
            return Err(Status::forbidden(resource, text(pod, "name"), &why));
        };
        let Some(spec) = pod.get_mut("spec").filter(|it| it.is_object()) else { return Ok(()) };
        spec["serviceAccountName"] = json!(name);
        spec["serviceAccount"] = json!(name);
        let wants = |it: &Value| it["automountServiceAccountToken"].as_bool();
        if wants(spec).or_else(|| wants(&account)).unwrap_or(true) {
            mount_token(spec);
        }
        if list(spec, "/imagePullSecrets").is_empty() && !account["imagePullSecrets"].is_null() {
            spec["imagePullSecrets"] = account["imagePullSecrets"].clone();
        }
        Ok(())
    }

    /// The account. A namespace's default one is made here where its controller has not come round
    /// to it: the original waits a second for it.
    fn account(&self, namespace: &str, name: &str) -> Option<Object> {
        let accounts = Collection::SERVICE_ACCOUNTS;
        let found = self.store.get(accounts, namespace, name);
        if found.is_some() || name != DEFAULT {
            return found;
        }
        let account = json!({"metadata": {"name": DEFAULT, "namespace": namespace}});
        let made = self.store.create(accounts, account);
        // Its controller was faster.
        made.ok().or_else(|| self.store.get(accounts, namespace, name))
    }
}

/// Adds the volume, and a mount of it to every container that has nothing at its path.
fn mount_token(spec: &mut Value) {
    let existing = list(spec, "/volumes").iter().find_map(|it| {
        it["name"].as_str().filter(|name| name.starts_with(VOLUME)).map(str::to_owned)
    });
    let name = existing.clone().unwrap_or_else(|| generate_name(VOLUME));
    let mut mounted = false;
    for containers in ["initContainers", "containers"] {
        for container in spec[containers].as_array_mut().into_iter().flatten() {
            if list(container, "/volumeMounts").iter().any(|it| it["mountPath"] == MOUNT_PATH) {
                continue;
            }
            let mount = json!({"name": name, "readOnly": true, "mountPath": MOUNT_PATH});
            push(container, "volumeMounts", mount);
            mounted = true;
        }
    }
    if mounted && existing.is_none() {
        push(spec, "volumes", token_volume(&name));
    }
}

fn push(object: &mut Value, member: &str, item: Value) {
    if object[member].is_null() {
        object[member] = json!([]);
    }
    if let Some(items) = object[member].as_array_mut() {
        items.push(item);
    }
}

fn token_volume(name: &str) -> Value {
    json!({"name": name, "projected": {"defaultMode": 0o644, "sources": [
        {"serviceAccountToken": {"expirationSeconds": POD_LIFETIME, "path": "token"}},
        {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
        {"downwardAPI": {"items": [{"path": "namespace",
            "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"}}]}},
    ]}})
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::store::Store;

    fn api() -> Api {
        let api = Api::new(Arc::new(Store::new())).with_service_accounts();
        make(&api, Collection::NAMESPACES, json!({"metadata": {"name": "ns"}}));
        api
    }

    fn make(api: &Api, collection: Collection, object: Value) -> Object {
        try_make(api, collection, object).unwrap()
    }

    fn try_make(api: &Api, collection: Collection, object: Value) -> Result<Object, Status> {
        let resource = collection.resource();
        api.create(resource, if resource.namespaced { "ns" } else { "" }, object, false)
    }

    fn pod(spec: impl Into<Value>) -> Value {
        let mut pod = json!({"metadata": {"name": "p"}, "spec": {
            "initContainers": [{"name": "i", "image": "i:1"}],
            "containers": [{"name": "c", "image": "i:1"}]}});
        for (member, value) in spec.into().as_object().unwrap() {
            pod["spec"][member] = value.clone();
        }
        pod
    }

    #[test]
    fn a_pod_gets_the_default_account_and_its_token() {
        let made = make(&api(), Collection::PODS, pod(json!({})));
        let spec = &made["spec"];
        assert_eq!(
            (&spec["serviceAccountName"], &spec["serviceAccount"]),
            (&json!("default"), &json!("default"))
        );
        let volume = spec["volumes"][0]["name"].as_str().unwrap();
        assert!(volume.starts_with(VOLUME) && volume.len() == VOLUME.len() + 5, "{volume}");
        let sources = &spec["volumes"][0]["projected"]["sources"];
        assert_eq!(sources[0]["serviceAccountToken"]["expirationSeconds"], 3607);
        for containers in ["initContainers", "containers"] {
            assert_eq!(
                spec[containers][0]["volumeMounts"],
                json!([{"name": volume, "readOnly": true, "mountPath": MOUNT_PATH}])
            );
        }
    }

    #[test]
    fn the_pod_decides_about_its_token_before_its_account_does() {
        let api = api();
        let account = json!({"metadata": {"name": "shy"}, "automountServiceAccountToken": false,
            "imagePullSecrets": [{"name": "pull"}]});
        make(&api, Collection::SERVICE_ACCOUNTS, account);
        let shy = make(&api, Collection::PODS, pod(json!({"serviceAccountName": "shy"})));
        assert_eq!(
            (&shy["spec"]["volumes"], &shy["spec"]["serviceAccount"]),
            (&Value::Null, &json!("shy"))
        );
        assert_eq!(shy["spec"]["imagePullSecrets"], json!([{"name": "pull"}]));
        let spec = json!({"serviceAccountName": "shy", "automountServiceAccountToken": true});
        let mut bold = pod(spec);
        bold["metadata"]["name"] = json!("q");
        assert!(make(&api, Collection::PODS, bold)["spec"]["volumes"][0]["projected"].is_object());
    }

    #[test]
    fn a_mount_of_ones_own_keeps_the_token_out() {
        let own = json!([{"name": "mine", "mountPath": MOUNT_PATH}]);
        let spec = json!({"initContainers": [], "volumes": [{"name": "mine", "emptyDir": {}}],
            "containers": [{"name": "c", "image": "i:1", "volumeMounts": own}]});
        let made = make(&api(), Collection::PODS, pod(spec));
        assert_eq!(list(&made, "/spec/volumes").len(), 1);
        assert_eq!(made["spec"]["containers"][0]["volumeMounts"][0]["name"], "mine");
    }

    #[test]
    fn a_missing_account_is_named() {
        let refused = try_make(&api(), Collection::PODS, pod(json!({"serviceAccountName": "no"})));
        assert_eq!(
            refused.unwrap_err().message,
            "pods \"p\" is forbidden: error looking up service account ns/no: serviceaccount \"no\" \
             not found"
        );
    }
}
