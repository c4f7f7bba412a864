//! What pods ask for and may take, for `/metrics/resources`.
//!
//! Source: `pkg/scheduler/metrics/resources/resources.go`, v1.36.

use std::fmt::Write as _;

use loadmaster_framework::api::{
    CPU, Pod, PodRequestOptions, Quantity, ResourceList, is_huge_page_resource_name,
    is_supported_pod_level_resource, pod_requests,
};

use super::encode::{escaped, go_float};

const LIMIT: &str = "kube_pod_resource_limit";
const LIMIT_HELP: &str = "[STABLE] Resources limit for workloads on the cluster, broken down by pod. This shows the resource usage the scheduler and kubelet expect per pod for resources along with the unit for the resource if any.";
const REQUEST: &str = "kube_pod_resource_request";
const REQUEST_HELP: &str = "[STABLE] Resources requested by workloads on the cluster, broken down by pod. This shows the resource usage the scheduler and kubelet expect per pod for resources along with the unit for the resource if any.";

/// The text for these pods; those that have ended on a node count for nothing.
pub(crate) fn text<'p>(pods: impl Iterator<Item = &'p Pod>) -> String {
    let (mut limits, mut requests) = (String::new(), String::new());
    for pod in pods.filter(|it| it.node_name().is_none() || !it.is_finished()) {
        write(&mut limits, LIMIT, pod, &pod_limits(pod));
        write(&mut requests, REQUEST, pod, &pod_requests(pod, &PodRequestOptions::default()));
    }
    let mut text = String::new();
    for (name, help, lines) in [(LIMIT, LIMIT_HELP, limits), (REQUEST, REQUEST_HELP, requests)] {
        if !lines.is_empty() {
            let _ = write!(text, "# HELP {name} {help}\n# TYPE {name} gauge\n{lines}");
        }
    }
    text
}

fn write(text: &mut String, metric: &str, pod: &Pod, amounts: &ResourceList) {
    let node = pod.node_name().map(|it| &**it).unwrap_or_default();
    let priority = pod.spec.priority.map(|it| it.to_string()).unwrap_or_default();
    for (resource, amount) in amounts.iter().filter(|(_, amount)| !amount.is_zero()) {
        let _ = writeln!(
            text,
            "{metric}{{namespace=\"{}\",node=\"{}\",pod=\"{}\",priority=\"{priority}\",\
             resource=\"{}\",scheduler=\"{}\",unit=\"{}\"}} {}",
            escaped(pod.namespace()),
            escaped(node),
            escaped(pod.name()),
            escaped(resource),
            escaped(pod.scheduler_name()),
            unit(resource),
            go_float(number(resource, amount)),
        );
    }
}

fn unit(resource: &str) -> &'static str {
    match resource {
        CPU => "cores",
        "memory" | "storage" | "ephemeral-storage" => "bytes",
        _ if is_huge_page_resource_name(resource) => "bytes",
        _ if resource.starts_with("attachable-volumes-") => "integer",
        _ => "",
    }
}

/// To a thousandth of a core, and to the unit of all else.
fn number(resource: &str, amount: &Quantity) -> f64 {
    if resource == CPU { amount.milli_value() as f64 / 1000.0 } else { amount.value() as f64 }
}

/// What a pod may take at most: as its requests, but that overhead comes on top only of what has a
/// limit (upstream: `PodLimits`).
fn pod_limits(pod: &Pod) -> ResourceList {
    let mut total = ResourceList::default();
    for container in &pod.spec.containers {
        total.add(&container.resources.limits);
    }
    let (mut sidecars, mut peak) = (ResourceList::default(), ResourceList::default());
    for container in &pod.spec.init_containers {
        let mut moment = container.resources.limits.clone();
        if container.is_sidecar() {
            total.add(&moment);
            sidecars.add(&moment);
            moment = sidecars.clone();
        } else {
            moment.add(&sidecars);
        }
        peak.set_max(&moment);
    }
    total.set_max(&peak);
    for (name, limit) in pod.spec.resources.iter().flat_map(|it| &it.limits) {
        if is_supported_pod_level_resource(name) {
            total.insert(name.clone(), limit.clone());
        }
    }
    let overhead = pod.spec.overhead.iter();
    let limited = overhead.filter(|(name, _)| total.get(name).is_some_and(|it| !it.is_zero()));
    let limited: ResourceList = limited.cloned().collect();
    total.add(&limited);
    total
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Two pods, and what kube-scheduler 1.36.2 shows of them.
    #[test]
    fn pods_are_shown_as_by_the_original() {
        let first: Pod = serde_json::from_value(json!({
            "metadata": {"name": "a", "namespace": "default"},
            "spec": {
                "priority": 0,
                "initContainers": [
                    {"name": "i", "resources": {"requests": {"cpu": "2", "memory": "1Gi"}}},
                    {"name": "s", "restartPolicy": "Always",
                     "resources": {"requests": {"cpu": "100m"}}},
                ],
                "containers": [{"name": "m", "resources": {
                    "requests": {"cpu": "250m", "memory": "64Mi", "ephemeral-storage": "1Gi",
                                 "nvidia.com/gpu": 2},
                    "limits": {"cpu": "1", "nvidia.com/gpu": 2}}}],
            },
        }))
        .unwrap();
        let second: Pod = serde_json::from_value(json!({
            "metadata": {"name": "b", "namespace": "default"},
            "spec": {
                "nodeName": "n1", "schedulerName": "other", "priority": 0,
                "resources": {"requests": {"cpu": "3"}, "limits": {"memory": "2Gi"}},
                // With the requests that the API server takes from the limits.
                "containers": [{"name": "m", "resources": {
                    "requests": {"cpu": "1500m", "memory": "1Gi", "hugepages-2Mi": "4Mi"},
                    "limits": {"memory": "1Gi", "cpu": "2", "hugepages-2Mi": "4Mi"}}}],
            },
        }))
        .unwrap();
        let mut ended = second.clone();
        ended.status.phase = loadmaster_framework::api::PodPhase::Succeeded;
        let page = text([&first, &second, &ended].into_iter());
        let lines: Vec<_> = page.lines().filter(|it| !it.starts_with('#')).collect();
        let a = r#"namespace="default",node="",pod="a",priority="0""#;
        let b = r#"namespace="default",node="n1",pod="b",priority="0""#;
        let line = |of: &str, pod: &str, resource: &str, unit: &str, amount: &str| {
            let scheduler = if pod == a { "default-scheduler" } else { "other" };
            format!(
                "kube_pod_resource_{of}{{{pod},resource=\"{resource}\",\
                 scheduler=\"{scheduler}\",unit=\"{unit}\"}} {amount}"
            )
        };
        let expected = [
            line("limit", a, "cpu", "cores", "1"),
            line("limit", a, "nvidia.com/gpu", "", "2"),
            line("limit", b, "cpu", "cores", "2"),
            line("limit", b, "hugepages-2Mi", "bytes", "4.194304e+06"),
            line("limit", b, "memory", "bytes", "2.147483648e+09"),
            line("request", a, "cpu", "cores", "2"),
            line("request", a, "ephemeral-storage", "bytes", "1.073741824e+09"),
            line("request", a, "memory", "bytes", "1.073741824e+09"),
            line("request", a, "nvidia.com/gpu", "", "2"),
            line("request", b, "cpu", "cores", "3"),
            line("request", b, "hugepages-2Mi", "bytes", "4.194304e+06"),
            line("request", b, "memory", "bytes", "1.073741824e+09"),
        ];
        assert_eq!(lines, expected);
    }
}
