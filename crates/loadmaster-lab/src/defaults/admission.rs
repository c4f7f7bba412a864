//! The admission plugins that change or refuse pods: `LimitRanger`, `Priority` and
//! `DefaultTolerationSeconds`, in upstream's order.

use serde_json::{Map, Value, json};
use thiserror::Error;

use super::fill::{existing, items_in, object_in};
use super::quantity::quantity_nanos;

/// What admission looks up beside the pod.
pub trait AdmissionWorld {
    /// The priority class of this name.
    fn priority_class(&self, name: &str) -> Option<Value>;
    /// The priority class with `globalDefault: true`.
    fn default_priority_class(&self) -> Option<Value>;
    /// The limit ranges of a namespace.
    fn limit_ranges(&self, namespace: &str) -> Vec<Value>;
}

/// A refusal, 403 `Forbidden`.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("pods {name:?} is forbidden: {reason}")]
pub struct Denied {
    /// The pod's name.
    pub name: String,
    /// Upstream's words.
    pub reason: String,
}

/// Does to a pod what the default admission plugins do. `create` is false on updates, where only
/// the tolerations are completed again.
///
/// # Errors
/// [`Denied`] with upstream's text.
pub fn admit_pod(pod: &mut Value, create: bool, world: &dyn AdmissionWorld) -> Result<(), Denied> {
    let metadata = &pod["metadata"];
    let text = |name: &str| metadata[name].as_str().unwrap_or_default().to_owned();
    let (name, namespace) = (text("name"), text("namespace"));
    let denied = |reason| Denied { name: name.clone(), reason };
    if create {
        for range in world.limit_ranges(&namespace) {
            apply_limit_range(pod, &range).map_err(denied)?;
        }
    }
    let Some(spec) = pod.get_mut("spec").and_then(Value::as_object_mut) else { return Ok(()) };
    if create {
        set_priority(spec, world).map_err(denied)?;
    }
    complete_tolerations(spec);
    Ok(())
}

/// `Priority`: the class decides the number and whether the pod may preempt.
fn set_priority(spec: &mut Map<String, Value>, world: &dyn AdmissionWorld) -> Result<(), String> {
    let wanted =
        spec.get("priorityClassName").and_then(Value::as_str).unwrap_or_default().to_owned();
    let class = if wanted.is_empty() {
        world.default_priority_class()
    } else {
        let none = || format!("no PriorityClass with name {wanted} was found");
        Some(world.priority_class(&wanted).ok_or_else(none)?)
    };
    let class = class.unwrap_or_else(|| json!({"value": 0}));
    if let Some(name) = class.pointer("/metadata/name") {
        spec.insert("priorityClassName".to_owned(), name.clone());
    }
    let priority = class["value"].as_i64().unwrap_or_default();
    if let Some(given) = spec.get("priority").and_then(Value::as_i64)
        && given != priority
    {
        return Err(format!(
            "the integer value of priority ({given}) must not be provided in pod spec; \
             priority admission controller computed {priority} from the given PriorityClass name"
        ));
    }
    let policy = class["preemptionPolicy"].as_str().unwrap_or("PreemptLowerPriority");
    if let Some(given) = spec.get("preemptionPolicy").and_then(Value::as_str)
        && given != policy
    {
        return Err(format!(
            "the string value of PreemptionPolicy ({given}) must not be provided in pod spec; \
             priority admission controller computed {policy} from the given PriorityClass name"
        ));
    }
    spec.insert("priority".to_owned(), priority.into());
    spec.insert("preemptionPolicy".to_owned(), policy.into());
    Ok(())
}

/// `DefaultTolerationSeconds`: five minutes on a node that is not ready or unreachable.
fn complete_tolerations(spec: &mut Map<String, Value>) {
    for key in ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"] {
        let list = spec.entry("tolerations").or_insert_with(|| json!([]));
        let Some(list) = list.as_array_mut() else { return };
        let covers = |it: &Value| {
            let text = |name: &str| it.get(name).and_then(Value::as_str).unwrap_or_default();
            (text("key") == key || text("key").is_empty())
                && (text("effect") == "NoExecute" || text("effect").is_empty())
        };
        if !list.iter().any(covers) {
            list.push(json!({"key": key, "operator": "Exists", "effect": "NoExecute",
                "tolerationSeconds": 300}));
        }
    }
}

/// `LimitRanger`: container defaults, then the bounds.
fn apply_limit_range(pod: &mut Value, range: &Value) -> Result<(), String> {
    let items =
        range.pointer("/spec/limits").and_then(Value::as_array).cloned().unwrap_or_default();
    let mut set = Vec::new();
    let mut broken = Vec::new();
    for item in items.iter().filter(|it| it["type"] == "Container") {
        let Some(spec) = pod.get_mut("spec").and_then(Value::as_object_mut) else { break };
        for list in ["initContainers", "containers"] {
            let what = if list == "containers" { "container" } else { "init container" };
            for container in items_in(spec, list) {
                let name = container.get("name").cloned().unwrap_or_default();
                let Some(resources) = object_in(container, "resources") else { continue };
                for (kind, from) in [("request", "defaultRequest"), ("limit", "default")] {
                    let names = default_resources(resources, &format!("{kind}s"), &item[from]);
                    if !names.is_empty() {
                        let name = name.as_str().unwrap_or_default();
                        set.push(format!("{} {kind} for {what} {name}", names.join(", ")));
                    }
                }
                broken.extend(broken_bounds(resources, item));
            }
        }
    }
    if !set.is_empty()
        && let Some(metadata) = pod.as_object_mut().and_then(|it| object_in(it, "metadata"))
        && let Some(annotations) = object_in(metadata, "annotations")
    {
        let text = format!("LimitRanger plugin set: {}", set.join("; "));
        annotations.insert("kubernetes.io/limit-ranger".to_owned(), text.into());
    }
    match broken.len() {
        0 => Ok(()),
        1 => Err(broken.remove(0)),
        _ => Err(format!("[{}]", broken.join(", "))),
    }
}

/// Fills absent amounts in `resources[field]` and returns their names in order.
fn default_resources(
    resources: &mut Map<String, Value>,
    field: &str,
    defaults: &Value,
) -> Vec<String> {
    let Some(defaults) = defaults.as_object().filter(|it| !it.is_empty()) else {
        return Vec::new();
    };
    let Some(amounts) = object_in(resources, field) else { return Vec::new() };
    let mut names = Vec::new();
    for (name, amount) in defaults {
        if !amounts.contains_key(name) {
            amounts.insert(name.clone(), amount.clone());
            names.push(name.clone());
        }
    }
    names
}

fn broken_bounds(resources: &mut Map<String, Value>, item: &Value) -> Vec<String> {
    let mut broken = Vec::new();
    for (bound, word) in [("min", "minimum"), ("max", "maximum")] {
        let bounds = item[bound].as_object().cloned().unwrap_or_default();
        for (name, amount) in bounds {
            let shown = amount.as_str().unwrap_or_default();
            let field = if bound == "min" { "requests" } else { "limits" };
            let what = field.trim_end_matches('s');
            let used = existing(resources, field).and_then(|it| it.get(&name)).cloned();
            let Some(used) = used else {
                broken.push(format!(
                    "{word} {name} usage per Container is {shown}.  No {what} is specified"
                ));
                continue;
            };
            let (used_nanos, bound_nanos) = (quantity_nanos(&used), quantity_nanos(&amount));
            let outside =
                if bound == "min" { used_nanos < bound_nanos } else { used_nanos > bound_nanos };
            if outside {
                let used = used.as_str().unwrap_or_default();
                broken.push(format!(
                    "{word} {name} usage per Container is {shown}, but {what} is {used}"
                ));
            }
        }
    }
    broken
}

#[cfg(test)]
mod tests;
