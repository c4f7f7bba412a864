//! Binding a pod to a node.

use serde_json::{Map, Value, json};

use super::Api;
use super::update::precondition_failed;
use crate::resources::{Collection, Resource};
use crate::status::{Details, Status};
use crate::store::{Object, StoreError, Write, is_being_deleted, rfc3339, text};

/// Node labels that a bound pod gets (`PodTopologyLabels`).
const TOPOLOGY: [&str; 2] = ["topology.kubernetes.io/zone", "topology.kubernetes.io/region"];

impl Api {
    /// Puts a pod onto the node that a `Binding` names, in one write.
    ///
    /// The node need not exist: the real server accepts that too.
    ///
    /// # Errors
    /// 400 when the binding is for another pod, 404, 409 when the pod is bound, gated, going or not
    /// the one that is meant, 500 for an impossible target.
    pub fn bind(
        &self,
        namespace: &str,
        name: &str,
        binding: &Value,
        dry_run: bool,
    ) -> Result<(), Status> {
        let pods = Collection::PODS.resource();
        if text(binding, "name") != name {
            return Err(Status::bad_request("name in URL does not match name in Binding object"));
        }
        let given = text(binding, "namespace");
        if !given.is_empty() && given != namespace {
            return Err(Status::bad_request(
                "the namespace of the provided object does not match the namespace sent on the \
                 request",
            ));
        }
        let node = target(binding)?;
        let labels = self.topology_labels(node);
        let now = rfc3339(self.store.now());
        let bound = |pod: &Object| -> Result<Value, Status> {
            check(pods, pod, name, binding)?;
            Ok(bound(pod, node, binding, &labels, &now))
        };
        if dry_run {
            let pod = self.store.get(Collection::PODS, namespace, name);
            let pod = pod.ok_or_else(|| Status::not_found(pods, name))?;
            return bound(&pod).map(|_| ());
        }
        self.store.update(Collection::PODS, namespace, name, |pod| {
            bound(pod).map(Write::PutAsIs).map_err(StoreError::from)
        })?;
        Ok(())
    }

    fn topology_labels(&self, node: &str) -> Map<String, Value> {
        let Some(node) = self.store.get(Collection::NODES, "", node) else { return Map::new() };
        TOPOLOGY
            .iter()
            .filter_map(|key| {
                let value = node["metadata"]["labels"].get(key)?;
                Some(((*key).to_owned(), value.clone()))
            })
            .collect()
    }
}

fn target(binding: &Value) -> Result<&str, Status> {
    let kind = binding["target"]["kind"].as_str().unwrap_or_default();
    if !kind.is_empty() && kind != "Node" {
        return Err(Status::internal(
            // The real server prints this kind whatever was sent.
            "target.kind: Unsupported value: \"Pod\": supported values: \"Node\", \"<empty>\"",
        ));
    }
    match binding["target"]["name"].as_str() {
        Some(name) if !name.is_empty() => Ok(name),
        _ => Err(Status::internal("target.name: Required value")),
    }
}

fn check(pods: &'static Resource, pod: &Value, name: &str, binding: &Value) -> Result<(), Status> {
    let namespace = text(pod, "namespace");
    for (field, what) in [("uid", "UID"), ("resourceVersion", "ResourceVersion")] {
        let (given, actual) = (text(binding, field), text(pod, field));
        if !given.is_empty() && given != actual {
            let fault = format!("{what} in precondition: {given}, {what} in object meta: {actual}");
            return Err(precondition_failed(pods, namespace, name, &fault));
        }
    }
    let refuse = |why: &str| {
        let message = format!("Operation cannot be fulfilled on pods/binding {name:?}: {why}");
        let details = Details {
            name: name.to_owned(),
            kind: "pods/binding".to_owned(),
            ..Details::default()
        };
        Err(Status::new(409, "Conflict", message).with_details(details))
    };
    if is_being_deleted(pod) {
        return refuse(&format!("pod {name} is being deleted, cannot be assigned to a host"));
    }
    if let Some(node) = pod["spec"]["nodeName"].as_str().filter(|it| !it.is_empty()) {
        return refuse(&format!("pod {name} is already assigned to node {node:?}"));
    }
    if pod["spec"]["schedulingGates"].as_array().is_some_and(|it| !it.is_empty()) {
        return refuse(&format!("pod {name} has non-empty .spec.schedulingGates"));
    }
    Ok(())
}

fn bound(
    pod: &Value,
    node: &str,
    binding: &Value,
    topology: &Map<String, Value>,
    now: &str,
) -> Value {
    let mut next = pod.clone();
    next["spec"]["nodeName"] = json!(node);
    let scheduled = json!({
        "type": "PodScheduled",
        "status": "True",
        "lastProbeTime": null,
        "lastTransitionTime": now,
    });
    if !next["status"].is_object() {
        next["status"] = json!({});
    }
    if let Some(status) = next["status"].as_object_mut() {
        status.remove("nominatedNodeName");
        let conditions = status.entry("conditions").or_insert_with(|| json!([]));
        if let Some(list) = conditions.as_array_mut() {
            match list.iter_mut().find(|it| it["type"] == "PodScheduled") {
                Some(condition) => *condition = scheduled,
                None => list.push(scheduled),
            }
        }
    }
    if let Some(annotations) = binding["metadata"]["annotations"].as_object() {
        merge(&mut next["metadata"], "annotations", annotations);
    }
    merge(&mut next["metadata"], "labels", topology);
    next
}

fn merge(metadata: &mut Value, field: &str, entries: &Map<String, Value>) {
    if entries.is_empty() {
        return;
    }
    if !metadata[field].is_object() {
        metadata[field] = json!({});
    }
    for (key, value) in entries {
        metadata[field][key] = value.clone();
    }
}
