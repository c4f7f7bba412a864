//! What a pod needs of its node.
//!
//! Source: `k8s.io/component-helpers/resource` 1.36.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::quantity::quantity_nanos;

/// Amounts by resource, in billionths.
pub type Amounts = BTreeMap<String, i128>;

/// What a pod needs altogether: its containers, or what the pod states for itself, and its
/// overhead.
pub fn pod_requests(pod: &Value) -> Amounts {
    let spec = pod["spec"].as_object().cloned().unwrap_or_default();
    let mut requests = containers_requests(&spec);
    // What the pod states for all of its containers counts instead of their sum.
    requests.extend(amounts(&pod["spec"]["resources"]["requests"]));
    for (name, overhead) in amounts(&pod["spec"]["overhead"]) {
        let amount = requests.entry(name).or_default();
        *amount = amount.saturating_add(overhead);
    }
    requests
}

/// What the containers need together: the larger of the running ones' sum and any init container's
/// need, sidecars counted in both.
pub(super) fn containers_requests(spec: &Map<String, Value>) -> Amounts {
    let (mut sidecars, mut start_up) = (Amounts::new(), Amounts::new());
    for container in containers(spec, "initContainers") {
        let own = amounts(&container["resources"]["requests"]);
        let mut peak = sidecars.clone();
        add(&mut peak, &own);
        for (name, amount) in peak {
            let most = start_up.entry(name).or_default();
            *most = amount.max(*most);
        }
        if container["restartPolicy"] == "Always" {
            add(&mut sidecars, &own);
        }
    }
    let mut requests = sidecars;
    for container in containers(spec, "containers") {
        add(&mut requests, &amounts(&container["resources"]["requests"]));
    }
    for (name, amount) in start_up {
        let most = requests.entry(name).or_default();
        *most = amount.max(*most);
    }
    requests
}

fn containers<'a>(spec: &'a Map<String, Value>, list: &str) -> &'a [Value] {
    spec.get(list).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

/// The amounts of a resource list; what is no quantity does not count.
pub fn amounts(list: &Value) -> Amounts {
    let list = list.as_object().into_iter().flatten();
    list.filter_map(|(name, amount)| Some((name.clone(), quantity_nanos(amount)?))).collect()
}

/// Adds amounts to others, up to the largest that can be held.
pub fn add(sums: &mut Amounts, amounts: &Amounts) {
    for (name, amount) in amounts {
        let sum = sums.entry(name.clone()).or_default();
        *sum = sum.saturating_add(*amount);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const UNIT: i128 = 1_000_000_000;

    fn cpu(spec: &Value) -> Option<i128> {
        pod_requests(&json!({"spec": spec})).get("cpu").map(|it| it / UNIT)
    }

    fn asks(cpu: &str) -> Value {
        json!({"resources": {"requests": {"cpu": cpu}}})
    }

    #[test]
    fn init_containers_count_by_their_peak_and_sidecars_go_on_running() {
        let sidecar = json!({"restartPolicy": "Always", "resources": {"requests": {"cpu": "1"}}});
        assert_eq!(cpu(&json!({"containers": [asks("1"), asks("2")]})), Some(3));
        assert_eq!(
            cpu(&json!({"containers": [asks("1")], "initContainers": [asks("4")]})),
            Some(4)
        );
        assert_eq!(
            cpu(&json!({"containers": [asks("1")], "initContainers": [sidecar, asks("3")]})),
            Some(4)
        );
        assert_eq!(cpu(&json!({"containers": [asks("1")], "initContainers": [sidecar]})), Some(2));
        assert_eq!(cpu(&json!({"containers": [{}]})), None);
    }

    #[test]
    fn the_pod_s_own_requests_replace_the_sum_and_overhead_comes_on_top() {
        let spec = json!({"containers": [asks("1")], "overhead": {"cpu": "1"},
            "resources": {"requests": {"cpu": "5"}}});
        assert_eq!(cpu(&spec), Some(6));
    }
}
