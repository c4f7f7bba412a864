//! `matchLabelKeys` and `mismatchLabelKeys`: the pod's own values merged into selectors, so that a
//! scheduler needs to read selectors only (KEP-3243, KEP-3633).

use serde_json::{Map, Value, json};

use super::fill::{existing, items_in};

/// Merges the pod's values into the selectors of its spread constraints and affinity terms. Done
/// once, on creation.
pub(super) fn merge_label_keys(pod: &mut Map<String, Value>) {
    let labels =
        pod.get("metadata").and_then(|it| it["labels"].as_object()).cloned().unwrap_or_default();
    let Some(spec) = existing(pod, "spec") else { return };
    for constraint in items_in(spec, "topologySpreadConstraints") {
        merge(constraint, "matchLabelKeys", "In", &labels);
    }
    let Some(affinity) = existing(spec, "affinity") else { return };
    for name in ["podAffinity", "podAntiAffinity"] {
        let Some(affinity) = existing(affinity, name) else { continue };
        for term in items_in(affinity, "requiredDuringSchedulingIgnoredDuringExecution") {
            merge(term, "matchLabelKeys", "In", &labels);
            merge(term, "mismatchLabelKeys", "NotIn", &labels);
        }
        for weighted in items_in(affinity, "preferredDuringSchedulingIgnoredDuringExecution") {
            if let Some(term) = existing(weighted, "podAffinityTerm") {
                merge(term, "matchLabelKeys", "In", &labels);
                merge(term, "mismatchLabelKeys", "NotIn", &labels);
            }
        }
    }
}

fn merge(term: &mut Map<String, Value>, keys: &str, operator: &str, labels: &Map<String, Value>) {
    let keys = term.get(keys).and_then(Value::as_array).cloned().unwrap_or_default();
    // Without a selector the keys select nothing, and validation refuses them.
    let Some(selector) = existing(term, "labelSelector") else { return };
    for key in keys.iter().filter_map(Value::as_str) {
        let Some(value) = labels.get(key) else { continue };
        let wanted = json!({"key": key, "operator": operator, "values": [value]});
        let list = selector.entry("matchExpressions").or_insert_with(|| json!([]));
        if let Some(list) = list.as_array_mut() {
            list.push(wanted);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pod_s_own_values_join_the_selectors() {
        let mut pod = json!({"metadata": {"labels": {"hash": "7", "app": "a"}}, "spec": {
            "topologySpreadConstraints": [
                {"labelSelector": {"matchLabels": {"app": "a"}}, "matchLabelKeys": ["hash", "none"]}],
            "affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [
                {"labelSelector": {}, "mismatchLabelKeys": ["app"]}]}}}});
        merge_label_keys(pod.as_object_mut().unwrap());
        assert_eq!(
            pod["spec"]["topologySpreadConstraints"][0]["labelSelector"],
            json!({"matchLabels": {"app": "a"},
                "matchExpressions": [{"key": "hash", "operator": "In", "values": ["7"]}]})
        );
        assert_eq!(
            pod.pointer("/spec/affinity/podAntiAffinity/requiredDuringSchedulingIgnoredDuringExecution/0/labelSelector"),
            Some(&json!({"matchExpressions": [{"key": "app", "operator": "NotIn", "values": ["a"]}]}))
        );
    }
}
