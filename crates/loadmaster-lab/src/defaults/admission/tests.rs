use super::*;

struct World;

impl AdmissionWorld for World {
    fn priority_class(&self, name: &str) -> Option<Value> {
        (name == "high").then(|| {
            json!({"metadata": {"name": "high"}, "value": 1000,
                "preemptionPolicy": "PreemptLowerPriority"})
        })
    }

    fn default_priority_class(&self) -> Option<Value> {
        Some(json!({"metadata": {"name": "usual"}, "value": 7, "preemptionPolicy": "Never"}))
    }

    fn limit_ranges(&self, namespace: &str) -> Vec<Value> {
        let range = json!({"spec": {"limits": [{"type": "Container", "max": {"cpu": "2"}}]}});
        if namespace == "limited" { vec![range] } else { Vec::new() }
    }
}

fn admitted(namespace: &str, spec: &Value) -> Result<Value, String> {
    let mut pod = json!({"metadata": {"name": "x", "namespace": namespace}, "spec": spec});
    admit_pod(&mut pod, true, &World).map_err(|denied| denied.to_string())?;
    Ok(pod["spec"].take())
}

#[test]
fn the_class_gives_priority_and_preemption_policy() {
    let spec = admitted("ns", &json!({"priorityClassName": "high"})).unwrap();
    assert_eq!(
        (&spec["priority"], &spec["preemptionPolicy"]),
        (&json!(1000), &json!("PreemptLowerPriority"))
    );
}

#[test]
fn without_a_class_the_global_default_is_written_in() {
    let spec = admitted("ns", &json!({})).unwrap();
    assert_eq!(
        (&spec["priorityClassName"], &spec["priority"], &spec["preemptionPolicy"]),
        (&json!("usual"), &json!(7), &json!("Never"))
    );
}

#[test]
fn an_unknown_class_and_a_contradicting_number_are_denied() {
    assert_eq!(
        admitted("ns", &json!({"priorityClassName": "nope"})),
        Err("pods \"x\" is forbidden: no PriorityClass with name nope was found".to_owned())
    );
    assert_eq!(
        admitted("ns", &json!({"priorityClassName": "high", "priority": 5})),
        Err("pods \"x\" is forbidden: the integer value of priority (5) must not be provided in \
             pod spec; priority admission controller computed 1000 from the given PriorityClass name"
            .to_owned())
    );
}

#[test]
fn tolerations_are_added_unless_covered() {
    let own = json!({"key": "node.kubernetes.io/not-ready", "operator": "Exists"});
    let spec = admitted("ns", &json!({"tolerations": [own]})).unwrap();
    assert_eq!(
        spec["tolerations"],
        json!([own, {"key": "node.kubernetes.io/unreachable", "operator": "Exists",
            "effect": "NoExecute", "tolerationSeconds": 300}])
    );
    let all = json!([{"operator": "Exists"}]);
    assert_eq!(admitted("ns", &json!({"tolerations": all})).unwrap()["tolerations"], all);
}

#[test]
fn an_update_completes_tolerations_and_leaves_the_priority() {
    let mut pod = json!({"metadata": {"name": "x"}, "spec": {"priority": 3}});
    admit_pod(&mut pod, false, &World).unwrap();
    assert_eq!(pod["spec"]["priority"], 3);
    assert_eq!(pod["spec"]["tolerations"].as_array().unwrap().len(), 2);
}

#[test]
fn a_limit_above_the_maximum_is_denied() {
    let spec = json!({"containers": [{"name": "c", "resources": {"limits": {"cpu": "3"}}}]});
    assert_eq!(
        admitted("limited", &spec),
        Err("pods \"x\" is forbidden: maximum cpu usage per Container is 2, but limit is 3"
            .to_owned())
    );
}
