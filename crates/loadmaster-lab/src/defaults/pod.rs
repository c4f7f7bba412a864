//! Defaults of pods and of pod templates.

use serde_json::{Map, Value, json};

use super::fill::{existing, fill, fill_number, fill_text, items_in, object_in};
use super::quantity::canonical_quantity;
use super::requests::containers_requests;

type Object = Map<String, Value>;

/// Defaults of a pod: those of a template, and those that a template leaves to its pods.
pub(super) fn default_pod(pod: &mut Object) {
    let Some(spec) = object_in(pod, "spec") else { return };
    default_pod_spec(spec);
    fill(spec, "enableServiceLinks", true);
    for list in ["containers", "initContainers"] {
        for container in items_in(spec, list) {
            if let Some(resources) = existing(container, "resources") {
                requests_from_limits(resources);
            }
        }
    }
    pod_level_requests(spec);
}

/// Defaults of a template's pod spec.
pub(super) fn default_pod_spec(spec: &mut Object) {
    fill_text(spec, "restartPolicy", "Always");
    fill(spec, "terminationGracePeriodSeconds", 30);
    fill_text(spec, "dnsPolicy", "ClusterFirst");
    fill(spec, "securityContext", json!({}));
    fill_text(spec, "schedulerName", "default-scheduler");
    // The old name of the field follows the new one.
    if let Some(account) = spec.get("serviceAccountName").cloned() {
        spec.insert("serviceAccount".to_owned(), account);
    }
    let host_network = spec.get("hostNetwork") == Some(&Value::Bool(true));
    for list in ["containers", "initContainers", "ephemeralContainers"] {
        for container in items_in(spec, list) {
            default_container(container, host_network);
        }
    }
    for volume in items_in(spec, "volumes") {
        default_volume(volume);
    }
}

fn default_container(container: &mut Object, host_network: bool) {
    fill(container, "resources", json!({}));
    fill_text(container, "terminationMessagePath", "/dev/termination-log");
    fill_text(container, "terminationMessagePolicy", "File");
    let image = container.get("image").and_then(Value::as_str).unwrap_or_default();
    let policy = pull_policy(image);
    fill_text(container, "imagePullPolicy", policy);
    for port in items_in(container, "ports") {
        fill_text(port, "protocol", "TCP");
        if host_network {
            let number = port.get("containerPort").and_then(Value::as_i64).unwrap_or_default();
            fill_number(port, "hostPort", number);
        }
    }
    for name in ["livenessProbe", "readinessProbe", "startupProbe"] {
        if let Some(probe) = existing(container, name) {
            default_probe(probe);
        }
    }
    if let Some(lifecycle) = existing(container, "lifecycle") {
        for name in ["postStart", "preStop"] {
            if let Some(handler) = existing(lifecycle, name) {
                default_http_get(handler);
            }
        }
    }
    for variable in items_in(container, "env") {
        if let Some(source) = existing(variable, "valueFrom") {
            default_field_ref(source);
        }
    }
}

fn default_probe(probe: &mut Object) {
    fill_number(probe, "timeoutSeconds", 1);
    fill_number(probe, "periodSeconds", 10);
    fill_number(probe, "successThreshold", 1);
    fill_number(probe, "failureThreshold", 3);
    default_http_get(probe);
    if let Some(grpc) = existing(probe, "grpc") {
        fill(grpc, "service", "");
    }
}

fn default_http_get(handler: &mut Object) {
    if let Some(get) = existing(handler, "httpGet") {
        fill_text(get, "path", "/");
        fill_text(get, "scheme", "HTTP");
    }
}

fn default_field_ref(source: &mut Object) {
    if let Some(field) = existing(source, "fieldRef") {
        fill_text(field, "apiVersion", "v1");
    }
}

/// The tag `latest`, also when it is left out, may change; every other image is taken as it is.
fn pull_policy(image: &str) -> &'static str {
    let name = image.rsplit('/').next().unwrap_or(image);
    let (name, digest) = name.split_once('@').map_or((name, None), |(name, it)| (name, Some(it)));
    match (name.split_once(':'), digest) {
        (Some((_, "latest")), _) | (None, None) => "Always",
        _ => "IfNotPresent",
    }
}

fn default_volume(volume: &mut Object) {
    if volume.keys().all(|name| name == "name") {
        volume.insert("emptyDir".to_owned(), json!({}));
    }
    for name in ["configMap", "secret", "downwardAPI", "projected"] {
        if let Some(source) = existing(volume, name) {
            fill(source, "defaultMode", 420);
        }
    }
    if let Some(path) = existing(volume, "hostPath") {
        fill(path, "type", "");
    }
    if let Some(source) = existing(volume, "downwardAPI") {
        items_in(source, "items").for_each(default_field_ref);
    }
    if let Some(projected) = existing(volume, "projected") {
        for source in items_in(projected, "sources") {
            if let Some(token) = existing(source, "serviceAccountToken") {
                fill(token, "expirationSeconds", 3600);
            }
            if let Some(downward) = existing(source, "downwardAPI") {
                items_in(downward, "items").for_each(default_field_ref);
            }
        }
    }
    if let Some(template) =
        existing(volume, "ephemeral").and_then(|it| existing(it, "volumeClaimTemplate"))
    {
        fill(template, "metadata", json!({}));
        if let Some(claim) = existing(template, "spec") {
            fill_text(claim, "volumeMode", "Filesystem");
        }
    }
}

/// A limit without a request is also the request.
fn requests_from_limits(resources: &mut Object) {
    let limits = resources.get("limits").and_then(Value::as_object).cloned().unwrap_or_default();
    if limits.is_empty() {
        return;
    }
    if let Some(requests) = object_in(resources, "requests") {
        for (name, limit) in limits {
            fill(requests, &name, limit);
        }
    }
}

/// Pod-level requests: what the containers ask for together, else the pod-level limit.
fn pod_level_requests(spec: &mut Object) {
    let in_use = |it: &Value| it.as_object().is_some_and(|it| !it.is_empty());
    let Some(resources) = spec.get("resources") else { return };
    if !["requests", "limits"].iter().any(|name| resources.get(name).is_some_and(in_use)) {
        return;
    }
    let asked: Vec<(String, String)> = containers_requests(spec)
        .into_iter()
        .filter(|(name, _)| name == "cpu" || name == "memory")
        .filter_map(|(name, nanos)| Some((name, canonical_quantity(&format!("{nanos}n"), true)?)))
        .collect();
    let Some(resources) = existing(spec, "resources") else { return };
    if let Some(requests) = object_in(resources, "requests") {
        for (name, amount) in asked {
            fill(requests, &name, amount);
        }
    }
    requests_from_limits(resources);
}
