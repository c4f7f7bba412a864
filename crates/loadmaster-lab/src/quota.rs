//! Resource quotas: what objects use up, and what a namespace may use.
//!
//! Pods are counted by number and by requests and limits, every other kind by number, claims by
//! their size as well. Source: `pkg/quota/v1/evaluator/core` 1.36.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::defaults::{canonical_quantity, qos_class, quantity_nanos};
use crate::resources::{Collection, RESOURCES, Resource, Verbs};
use crate::store::{Object, Store};
use crate::values::list;

/// Amounts by what a quota calls them (`pods`, `requests.cpu`, `count/jobs.batch`), in billionths.
pub(crate) type Usage = BTreeMap<String, i128>;

const NANOS: i128 = 1_000_000_000;

/// Resources that quotas also know without `requests.` before them.
const PLAIN: [&str; 3] = ["cpu", "memory", "ephemeral-storage"];

/// Kinds that quotas also count by their plural alone.
const COUNTED: [&str; 6] = [
    "configmaps",
    "persistentvolumeclaims",
    "replicationcontrollers",
    "resourcequotas",
    "secrets",
    "services",
];

/// What one object uses up.
pub(crate) fn usage(resource: &Resource, object: &Value) -> Usage {
    let mut usage = Usage::from([(format!("count/{}", resource.group_resource()), NANOS)]);
    if COUNTED.contains(&resource.plural) && resource.group.is_empty() {
        usage.insert(resource.plural.to_owned(), NANOS);
    }
    match resource.collection {
        Collection::PODS if !is_finished(object) => {
            usage.insert("pods".to_owned(), NANOS);
            for (name, nanos) in effective(object, "requests") {
                if PLAIN.contains(&name.as_str()) {
                    usage.insert(name.clone(), nanos);
                }
                usage.insert(format!("requests.{name}"), nanos);
            }
            for (name, nanos) in effective(object, "limits") {
                usage.insert(format!("limits.{name}"), nanos);
            }
        }
        Collection::PERSISTENT_VOLUME_CLAIMS => {
            let size = &object["spec"]["resources"]["requests"]["storage"];
            usage.insert("requests.storage".to_owned(), quantity_nanos(size).unwrap_or(0));
        }
        _ => {}
    }
    usage
}

fn is_finished(pod: &Value) -> bool {
    matches!(pod["status"]["phase"].as_str(), Some("Succeeded" | "Failed"))
}

/// What a pod asks for: its containers together or its largest init container, and its overhead; or
/// what is said for the pod as a whole.
fn effective(pod: &Value, which: &str) -> Usage {
    let amounts = |resources: &Value| -> Usage {
        let map = resources[which].as_object().into_iter().flatten();
        map.map(|(name, it)| (name.clone(), quantity_nanos(it).unwrap_or(0))).collect()
    };
    let mut sum = Usage::new();
    for container in list(pod, "/spec/containers") {
        add(&mut sum, &amounts(&container["resources"]));
    }
    for container in list(pod, "/spec/initContainers") {
        let wanted = amounts(&container["resources"]);
        if container["restartPolicy"] == "Always" {
            add(&mut sum, &wanted);
        } else {
            for (name, nanos) in wanted {
                let slot = sum.entry(name).or_insert(0);
                *slot = (*slot).max(nanos);
            }
        }
    }
    sum.extend(amounts(&pod["spec"]["resources"]));
    let mut overhead = amounts(&json!({which: pod["spec"]["overhead"]}));
    // Overhead raises a limit and sets none.
    overhead.retain(|name, _| which == "requests" || sum.contains_key(name));
    add(&mut sum, &overhead);
    sum
}

fn add(sum: &mut Usage, more: &Usage) {
    for (name, nanos) in more {
        let slot = sum.entry(name.clone()).or_insert(0);
        *slot = slot.saturating_add(*nanos);
    }
}

/// What the existing objects of a kind use up of a quota.
fn used(store: &Store, resource: &Resource, quota: &Value, namespace: &str) -> Usage {
    let mut sum = Usage::new();
    let (objects, _) = store.list(resource.collection, Some(namespace));
    for object in objects.iter().filter(|it| concerns(quota, resource, it)) {
        add(&mut sum, &usage(resource, object));
    }
    sum
}

/// Refuses a new object for which a quota of its namespace has not enough left.
///
/// # Errors
/// Upstream's explanation.
pub(crate) fn check(
    store: &Store,
    quotas: &[Object],
    resource: &Resource,
    object: &Value,
) -> Result<(), String> {
    let wanted = usage(resource, object);
    for quota in quotas.iter().filter(|it| concerns(it, resource, object)) {
        let name = quota["metadata"]["name"].as_str().unwrap_or_default();
        let hard = &quota["spec"]["hard"];
        if resource.collection == Collection::PODS {
            let missing = unsaid(hard, object);
            if !missing.is_empty() {
                return Err(format!("failed quota: {name}: must specify {}", missing.join("; ")));
            }
        }
        let namespace = object["metadata"]["namespace"].as_str().unwrap_or_default();
        let used = used(store, resource, quota, namespace);
        let [mut requested, mut in_use, mut limited] = [const { Vec::new() }; 3];
        for (key, limit) in hard.as_object().into_iter().flatten() {
            let Some(more) = wanted.get(key).filter(|it| **it > 0) else { continue };
            let before = used.get(key).copied().unwrap_or(0);
            if quantity_nanos(limit).is_some_and(|it| before.saturating_add(*more) > it) {
                requested.push(format!("{key}={}", amount(*more, limit)));
                in_use.push(format!("{key}={}", amount(before, limit)));
                limited.push(format!("{key}={}", limit.as_str().unwrap_or_default()));
            }
        }
        if !requested.is_empty() {
            return Err(format!(
                "exceeded quota: {name}, requested: {}, used: {}, limited: {}",
                requested.join(","),
                in_use.join(","),
                limited.join(",")
            ));
        }
    }
    Ok(())
}

/// Resources that a quota limits and a container says nothing about, with the containers.
fn unsaid(hard: &Value, pod: &Value) -> Vec<String> {
    let mut missing = Vec::new();
    for key in hard.as_object().into_iter().flatten().map(|it| it.0.as_str()) {
        let (which, name) = match key.split_once('.') {
            Some((which @ ("requests" | "limits"), name)) => (which, name),
            _ => ("requests", key),
        };
        if !["cpu", "memory"].contains(&name) {
            continue;
        }
        let silent: Vec<&str> = list(pod, "/spec/containers")
            .iter()
            .chain(list(pod, "/spec/initContainers"))
            .filter(|it| it["resources"][which][name].is_null())
            .filter(|_| pod["spec"]["resources"][which][name].is_null())
            .filter_map(|it| it["name"].as_str())
            .collect();
        if !silent.is_empty() {
            missing.push(format!("{key} for: {}", silent.join(",")));
        }
    }
    missing
}

/// Whether an object is within a quota's scopes; only pods have any.
fn concerns(quota: &Value, resource: &Resource, object: &Value) -> bool {
    let plain = list(quota, "/spec/scopes").iter().filter_map(Value::as_str);
    let plain = plain.map(|scope| (scope, "Exists", &Value::Null));
    let selected = list(quota, "/spec/scopeSelector/matchExpressions").iter().map(|it| {
        (
            it["scopeName"].as_str().unwrap_or_default(),
            it["operator"].as_str().unwrap_or_default(),
            &it["values"],
        )
    });
    plain.chain(selected).all(|(scope, operator, values)| {
        resource.collection == Collection::PODS && in_scope(object, scope, operator, values)
    })
}

fn in_scope(pod: &Value, scope: &str, operator: &str, values: &Value) -> bool {
    let terminating = pod["spec"]["activeDeadlineSeconds"].as_i64().is_some();
    match scope {
        "BestEffort" => qos_class(pod) == "BestEffort",
        "NotBestEffort" => qos_class(pod) != "BestEffort",
        "Terminating" => terminating,
        "NotTerminating" => !terminating,
        "PriorityClass" => {
            let class = pod["spec"]["priorityClassName"].as_str().unwrap_or_default();
            let listed = values.as_array().is_some_and(|it| it.iter().any(|it| it == class));
            match operator {
                "In" => listed,
                "NotIn" => !listed,
                "Exists" => !class.is_empty(),
                _ => class.is_empty(),
            }
        }
        _ => false,
    }
}

/// The `status` of a quota.
pub(crate) fn status(store: &Store, quota: &Value) -> Value {
    let namespace = quota["metadata"]["namespace"].as_str().unwrap_or_default();
    let hard = quota["spec"]["hard"].as_object();
    let keys: Vec<&String> = hard.into_iter().flatten().map(|it| it.0).collect();
    let mut sum = Usage::new();
    for resource in RESOURCES.iter().filter(|it| is_counted(it)) {
        let name = resource.group_resource();
        let pods = resource.collection == Collection::PODS;
        let claims = resource.collection == Collection::PERSISTENT_VOLUME_CLAIMS;
        let asked = |key: &str| {
            key == name
                || key.strip_prefix("count/") == Some(&name)
                || (claims && key == "requests.storage")
                || (pods && !key.starts_with("count/") && !COUNTED.contains(&key))
        };
        if keys.iter().any(|it| asked(it)) {
            add(&mut sum, &used(store, resource, quota, namespace));
        }
    }
    let used: serde_json::Map<String, Value> = hard
        .into_iter()
        .flatten()
        .map(|(key, limit)| (key.clone(), json!(amount(sum.get(key).copied().unwrap_or(0), limit))))
        .collect();
    json!({"hard": quota["spec"]["hard"], "used": used})
}

/// Kinds that a quota can count.
pub(crate) fn is_counted(resource: &Resource) -> bool {
    let noise = [Collection::EVENTS, Collection::LEASES].contains(&resource.collection);
    resource.namespaced && resource.verbs == Verbs::Stored && !noise
}

/// An amount written like another quantity: with binary suffixes if that has them.
fn amount(nanos: i128, like: &Value) -> String {
    let whole = nanos % NANOS == 0;
    let binary = like.as_str().is_some_and(|it| it.ends_with('i'));
    let text = match nanos / NANOS {
        units if whole && binary && units % 1024 == 0 => format!("{}Ki", units / 1024),
        units if whole => units.to_string(),
        _ => format!("{nanos}n"),
    };
    canonical_quantity(&text, true).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pod(cpu: &str, memory: &str) -> Value {
        json!({"metadata": {"namespace": "ns"}, "spec": {"containers": [
            {"name": "c", "resources": {"requests": {"cpu": cpu, "memory": memory}}}]}})
    }

    fn shown(usage: &Usage, key: &str, like: &str) -> String {
        amount(usage[key], &json!(like))
    }

    #[test]
    fn a_pod_uses_what_its_containers_ask_for_and_its_largest_init_container() {
        let mut asking = pod("250m", "64Mi");
        asking["spec"]["initContainers"] =
            json!([{"name": "i", "resources": {"requests": {"cpu": "1"}}}]);
        asking["spec"]["overhead"] = json!({"cpu": "50m"});
        let usage = usage(Collection::PODS.resource(), &asking);
        assert_eq!(shown(&usage, "requests.cpu", "1"), "1050m");
        assert_eq!(shown(&usage, "memory", "1Gi"), "64Mi");
        assert_eq!(shown(&usage, "pods", "1"), "1");
        assert!(!usage.contains_key("limits.cpu"));
    }

    #[test]
    fn a_finished_pod_uses_nothing_but_its_place() {
        let mut done = pod("1", "1Gi");
        done["status"]["phase"] = json!("Succeeded");
        let usage = usage(Collection::PODS.resource(), &done);
        assert_eq!(usage.keys().collect::<Vec<_>>(), ["count/pods"]);
    }

    #[test]
    fn containers_that_say_nothing_about_a_limited_resource_are_named() {
        let hard = json!({"requests.cpu": "1", "limits.memory": "1Gi", "pods": "1"});
        assert_eq!(unsaid(&hard, &pod("1", "1Gi")), ["limits.memory for: c"]);
    }

    #[test]
    fn scopes_choose_the_pods_that_count() {
        let quota = json!({"spec": {"scopeSelector": {"matchExpressions": [
            {"scopeName": "PriorityClass", "operator": "In", "values": ["high"]}]}}});
        let pods = Collection::PODS.resource();
        let mut chosen = pod("1", "1Gi");
        assert!(!concerns(&quota, pods, &chosen));
        chosen["spec"]["priorityClassName"] = json!("high");
        assert!(concerns(&quota, pods, &chosen));
        let best_effort = json!({"spec": {"scopes": ["BestEffort"]}});
        assert!(!concerns(&best_effort, pods, &chosen));
    }
}
