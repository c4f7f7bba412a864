//! The deployment, and what keeps one of several copies running.

use serde_json::{Value, json};

use super::{
    command::{CONFIG_FILE, Deployed, POD_IP},
    objects::{Object, labels, metadata},
};

/// Where the configuration is mounted: a folder, since a file by itself would not follow changes.
const CONFIG_FOLDER: &str = "/etc/loadmaster";
/// HTTPS, by the flags' default.
const PORT: u16 = 10259;
/// The user that an image without a shell calls `nonroot`.
const NONROOT: u32 = 65532;

/// What one copy asks for. Of a release build on 500 nodes, measured on 30 November 2026 (x86-64, two
/// busy cores at 2.8 GHz, the lab cluster): 12 MiB and 0.2 thousandths of a core without pods, 94 MiB
/// after 5000 pods, each of which took 3.6 ms. At the 50 calls a second of the client's default rate
/// that is 180 thousandths of a core.
pub(super) const REQUESTS: [(&str, &str); 2] = [("cpu", "200m"), ("memory", "128Mi")];

pub(super) fn deployment(deployed: &Deployed) -> Object {
    Object::new(json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": metadata(deployed),
        "spec": {
            "replicas": deployed.replicas,
            "selector": {"matchLabels": labels(deployed)},
            "strategy": strategy(deployed),
            "template": {
                "metadata": {"labels": labels(deployed)},
                "spec": pod(deployed),
            },
        },
    }))
}

/// Without an election the old copy must be gone before the new one starts.
fn strategy(deployed: &Deployed) -> Value {
    if deployed.elects {
        json!({"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}})
    } else {
        json!({"type": "Recreate"})
    }
}

fn pod(deployed: &Deployed) -> Value {
    let mut pod = json!({
        "serviceAccountName": deployed.name,
        "automountServiceAccountToken": true,
        "nodeSelector": {"kubernetes.io/os": "linux"},
        // Fourteen seconds are what an end may take.
        "terminationGracePeriodSeconds": 20,
        "securityContext": {
            "runAsNonRoot": true,
            "runAsUser": NONROOT,
            "runAsGroup": NONROOT,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "containers": [container(deployed)],
        "volumes": [{"name": "config", "configMap": {"name": deployed.name}}],
    });
    if deployed.namespace == "kube-system" {
        pod["priorityClassName"] = json!("system-cluster-critical");
    }
    if deployed.replicas > 1 {
        pod["affinity"] = apart(deployed);
    }
    pod
}

/// Copies on one node would fall together. A cluster of one node runs them all the same.
fn apart(deployed: &Deployed) -> Value {
    json!({"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{
        "weight": 100,
        "podAffinityTerm": {
            "topologyKey": "kubernetes.io/hostname",
            "labelSelector": {"matchLabels": labels(deployed)},
        },
    }]}})
}

fn container(deployed: &Deployed) -> Value {
    let mut args = vec![
        format!("--config={CONFIG_FOLDER}/{CONFIG_FILE}"),
        format!("--bind-address={}", deployed.bind_address),
    ];
    args.extend(deployed.flags.iter().cloned());
    let requests: Value =
        REQUESTS.iter().map(|(name, amount)| ((*name).to_owned(), json!(amount))).collect();
    let mut container = json!({
        "name": "scheduler",
        "image": deployed.image,
        "args": args,
        "ports": [{"name": "https", "containerPort": PORT, "protocol": "TCP"}],
        "startupProbe": probe("/livez", 2, 30),
        "livenessProbe": probe("/livez", 10, 8),
        "readinessProbe": probe("/readyz", 5, 3),
        "resources": {"requests": requests},
        "securityContext": {
            "allowPrivilegeEscalation": false,
            "readOnlyRootFilesystem": true,
            "capabilities": {"drop": ["ALL"]},
        },
        "volumeMounts": [{"name": "config", "mountPath": CONFIG_FOLDER, "readOnly": true}],
    });
    if deployed.bind_address == POD_IP {
        let own = json!({"fieldRef": {"fieldPath": "status.podIP"}});
        container["env"] = json!([{"name": "POD_IP", "valueFrom": own}]);
    }
    container
}

fn probe(path: &str, period: u8, failures: u8) -> Value {
    json!({
        "httpGet": {"path": path, "port": "https", "scheme": "HTTPS"},
        "periodSeconds": period,
        "timeoutSeconds": 5,
        "failureThreshold": failures,
    })
}

/// Drains take one copy at a time.
pub(super) fn disruption_budget(deployed: &Deployed) -> Option<Object> {
    (deployed.replicas > 1).then(|| {
        Object::new(json!({
            "apiVersion": "policy/v1",
            "kind": "PodDisruptionBudget",
            "metadata": metadata(deployed),
            "spec": {"maxUnavailable": 1, "selector": {"matchLabels": labels(deployed)}},
        }))
    })
}
