//! What every cluster begins with.

use std::net::SocketAddr;

use serde_json::{Value, json};

use crate::api::Api;
use crate::auth::rbac::create_default_roles;
use crate::resources::Collection;

/// Namespaces that exist from the start.
const NAMESPACES: [&str; 4] = ["default", "kube-node-lease", "kube-public", "kube-system"];

/// Creates the namespaces, the system's priority classes, the service of the API server, the
/// default roles and what says whom to trust.
pub(super) fn create(api: &Api, https: SocketAddr) {
    for name in NAMESPACES {
        make(api, Collection::NAMESPACES, "", json!({"metadata": {"name": name}}));
    }
    for (name, value, purpose) in [
        (
            "system-cluster-critical",
            2_000_000_000,
            "system critical pods that must run in the cluster, but can be moved to another node if necessary.",
        ),
        (
            "system-node-critical",
            2_000_001_000,
            "system critical pods that must not be moved from their current node.",
        ),
    ] {
        let class = json!({
            "metadata": {"name": name},
            "value": value,
            "description": format!("Used for {purpose}"),
        });
        make(api, Collection::PRIORITY_CLASSES, "", class);
    }
    let service = json!({
        "metadata": {"name": "kubernetes", "labels": {
            "component": "apiserver", "provider": "kubernetes"}},
        "spec": {
            "clusterIP": "10.96.0.1",
            "ports": [{"name": "https", "port": 443, "targetPort": https.port()}],
        },
    });
    make(api, Collection::SERVICES, "default", service);
    create_default_roles(api);
    // What a server that delegates authentication to this one reads: whose certificates to trust.
    let trust = json!({
        "metadata": {"name": "extension-apiserver-authentication"},
        "data": {
            "client-ca-file": api.auth().authority().ca_pem(),
            "requestheader-allowed-names": "[\"front-proxy-client\"]",
            "requestheader-client-ca-file": api.auth().front_proxy().ca_pem(),
            "requestheader-extra-headers-prefix": "[\"X-Remote-Extra-\"]",
            "requestheader-group-headers": "[\"X-Remote-Group\"]",
            "requestheader-username-headers": "[\"X-Remote-User\"]",
        },
    });
    make(api, Collection::CONFIG_MAPS, "kube-system", trust);
}

fn make(api: &Api, collection: Collection, namespace: &str, object: Value) {
    if let Err(status) = api.create(collection.resource(), namespace, object, false) {
        tracing::error!(%collection, %status, "cannot create what a cluster begins with");
    }
}
