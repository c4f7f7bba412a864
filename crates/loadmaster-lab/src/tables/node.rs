//! Nodes.

use serde_json::Value;

use super::text::{list, or_none, text};

/// Status, Roles, Age, Version, Internal-IP, External-IP, OS-Image, Kernel-Version,
/// Container-Runtime.
pub(super) fn cells(node: &Value, age: &str) -> Vec<Value> {
    let ready = list(node, "/status/conditions").iter().find(|it| text(it, "/type") == "Ready");
    let mut status = match ready.map(|it| text(it, "/status")) {
        Some("True") => "Ready",
        Some(_) => "NotReady",
        None => "Unknown",
    }
    .to_owned();
    if node["spec"]["unschedulable"] == true {
        status.push_str(",SchedulingDisabled");
    }
    let address = |kind| {
        let found = list(node, "/status/addresses").iter().find(|it| text(it, "/type") == kind);
        or_none(found.map(|it| text(it, "/address")).unwrap_or_default())
    };
    let info = |name: &str| text(node, &format!("/status/nodeInfo/{name}"));
    let unknown =
        |text: &str| if text.is_empty() { "<unknown>".to_owned() } else { text.to_owned() };
    let kernel = match (info("kernelVersion"), info("architecture")) {
        ("", _) => "<unknown>".to_owned(),
        (kernel, "") => kernel.to_owned(),
        (kernel, architecture) => format!("{kernel} ({architecture})"),
    };
    vec![
        status.into(),
        roles(node).into(),
        age.into(),
        info("kubeletVersion").into(),
        address("InternalIP").into(),
        address("ExternalIP").into(),
        unknown(info("osImage")).into(),
        kernel.into(),
        unknown(info("containerRuntimeVersion")).into(),
    ]
}

/// `node-role.kubernetes.io/ROLE` labels and the value of `kubernetes.io/role`, sorted.
fn roles(node: &Value) -> String {
    let labels = node["metadata"]["labels"].as_object();
    let mut roles: Vec<&str> = labels
        .into_iter()
        .flatten()
        .filter_map(|(key, value)| match key.strip_prefix("node-role.kubernetes.io/") {
            Some(role) => Some(role),
            None if key == "kubernetes.io/role" => value.as_str(),
            None => None,
        })
        .filter(|role| !role.is_empty())
        .collect();
    roles.sort_unstable();
    roles.dedup();
    or_none(&roles.join(",")).to_owned()
}
