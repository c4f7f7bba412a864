//! A pod's quality-of-service class.

use std::collections::BTreeMap;

use serde_json::Value;

use super::quantity::quantity_nanos;

/// The class of a pod: `Guaranteed` when cpu and memory of every container (or of the pod, where it
/// states its own) have limits equal to their requests, `BestEffort` when nothing states any,
/// `Burstable` otherwise.
///
/// Source: `pkg/apis/core/v1/helper/qos` 1.36.
pub fn qos_class(pod: &Value) -> &'static str {
    let spec = &pod["spec"];
    let stated = |it: &Value| it.as_object().is_some_and(|it| !it.is_empty());
    let pod_level = &spec["resources"];
    if stated(&pod_level["requests"]) || stated(&pod_level["limits"]) {
        return class_of(&[pod_level]);
    }
    let containers: Vec<&Value> = ["containers", "initContainers"]
        .iter()
        .filter_map(|list| spec[*list].as_array())
        .flatten()
        .map(|it| &it["resources"])
        .collect();
    class_of(&containers)
}

fn class_of(resources: &[&Value]) -> &'static str {
    let (mut requests, mut limits) = (BTreeMap::new(), BTreeMap::new());
    let mut guaranteed = true;
    for resources in resources {
        add(&mut requests, &resources["requests"]);
        let limited = add(&mut limits, &resources["limits"]);
        guaranteed &= limited == 2;
    }
    if requests.is_empty() && limits.is_empty() {
        "BestEffort"
    } else if guaranteed && requests == limits {
        "Guaranteed"
    } else {
        "Burstable"
    }
}

/// Adds the amounts of cpu and memory that are above zero and returns how many there were.
fn add(sums: &mut BTreeMap<&'static str, i128>, amounts: &Value) -> usize {
    let mut found = 0;
    for name in ["cpu", "memory"] {
        let amount = amounts.get(name).and_then(quantity_nanos).unwrap_or_default();
        if amount > 0 {
            let sum = sums.entry(name).or_default();
            *sum = sum.saturating_add(amount);
            found += 1;
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn class(containers: &Value) -> &'static str {
        qos_class(&json!({"spec": {"containers": containers}}))
    }

    #[test]
    fn the_class_follows_requests_and_limits() {
        let full = json!({"requests": {"cpu": "1000m", "memory": "1Gi"},
            "limits": {"cpu": "1", "memory": "1024Mi"}});
        assert_eq!(class(&json!([{"resources": {}}])), "BestEffort");
        assert_eq!(class(&json!([{"resources": full}])), "Guaranteed");
        assert_eq!(class(&json!([{"resources": full}, {"resources": {}}])), "Burstable");
        assert_eq!(class(&json!([{"resources": {"requests": {"cpu": "1"}}}])), "Burstable");
        assert_eq!(
            class(&json!([{"resources": {"requests": {"nvidia.com/gpu": "1"}}}])),
            "BestEffort"
        );
    }
}
