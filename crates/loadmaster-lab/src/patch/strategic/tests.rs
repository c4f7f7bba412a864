//! Expected values are kube-apiserver 1.36's answers to the same patches.

use super::*;
use serde_json::json;

fn merged(
    api_version: &str,
    kind: &str,
    current: &Value,
    patch: Value,
) -> Result<Value, PatchError> {
    let Value::Object(patch) = patch else { panic!("a patch is an object") };
    strategic_merge(api_version, kind, current, patch)
}

/// Patches the pod spec of a deployment's template and returns the patched spec.
fn template(current: Value, patch: Value) -> Result<Value, PatchError> {
    let wrap = |spec: Value| json!({"spec": {"template": {"spec": spec}}});
    let mut deployment = merged("apps/v1", "Deployment", &wrap(current), wrap(patch))?;
    Ok(deployment["spec"]["template"]["spec"].take())
}

fn two_containers() -> Value {
    json!({"containers": [
        {"name": "a", "image": "a:1", "args": ["1", "2"],
            "env": [{"name": "X", "value": "1"}, {"name": "Y", "value": "2"}]},
        {"name": "b", "image": "b:1"}]})
}

fn names(spec: &Value) -> Vec<&str> {
    let containers = spec["containers"].as_array().unwrap();
    containers.iter().map(|it| it["name"].as_str().unwrap()).collect()
}

#[test]
fn a_listed_item_is_merged_in_place() {
    let patched =
        template(two_containers(), json!({"containers": [{"name": "b", "image": "b:2"}]})).unwrap();
    assert_eq!(names(&patched), ["a", "b"]);
    assert_eq!(patched["containers"][1], json!({"name": "b", "image": "b:2"}));
}

#[test]
fn a_new_item_comes_first() {
    let patched =
        template(two_containers(), json!({"containers": [{"name": "c", "image": "c:1"}]})).unwrap();
    assert_eq!(names(&patched), ["c", "a", "b"]);
}

#[test]
fn set_element_order_gives_the_order() {
    let patch = json!({"$setElementOrder/containers": [{"name": "c"}, {"name": "b"}, {"name": "a"}],
        "containers": [{"name": "c", "image": "c:2"}]});
    let patched = template(two_containers(), patch).unwrap();
    assert_eq!(names(&patched), ["c", "b", "a"]);
    assert!(patched.get("$setElementOrder/containers").is_none());
}

#[test]
fn set_element_order_keeps_the_server_s_own_items_near_their_neighbours() {
    let current = json!({"containers": [{"name": "a"}, {"name": "server"}, {"name": "b"}]});
    let patch = json!({"$setElementOrder/containers": [{"name": "a"}, {"name": "b"}],
        "containers": [{"name": "b", "image": "b:2"}]});
    assert_eq!(names(&template(current, patch).unwrap()), ["a", "server", "b"]);
}

#[test]
fn a_list_that_contradicts_its_set_element_order_is_refused() {
    let patch = json!({"$setElementOrder/containers": [{"name": "a"}],
        "containers": [{"name": "b", "image": "b:2"}]});
    let refusal = template(two_containers(), patch).unwrap_err();
    assert!(refusal.to_string().contains("doesn't match $setElementOrder list"), "{refusal}");
}

#[test]
fn patch_delete_removes_an_item_and_merges_go_on_inside_items() {
    let patch = json!({"containers": [{"name": "a",
        "env": [{"name": "X", "$patch": "delete"}, {"name": "Z", "value": "9"}]}]});
    let patched = template(two_containers(), patch).unwrap();
    assert_eq!(
        patched["containers"][0]["env"],
        json!([{"name": "Z", "value": "9"}, {"name": "Y", "value": "2"}])
    );
}

#[test]
fn lists_without_a_merge_key_are_replaced() {
    let current = json!({"containers": [{"name": "a", "args": ["1", "2"]}],
        "tolerations": [{"key": "t1", "operator": "Exists"}]});
    let patch = json!({"containers": [{"name": "a", "args": ["3"]}],
        "tolerations": [{"key": "t2", "operator": "Exists"}]});
    assert_eq!(template(current, patch.clone()).unwrap(), patch);
}

#[test]
fn patch_replace_as_an_item_replaces_the_list() {
    let patch = json!({"containers": [{"$patch": "replace"}, {"name": "only", "image": "o:1"}]});
    let patched = template(two_containers(), patch).unwrap();
    assert_eq!(patched["containers"], json!([{"name": "only", "image": "o:1"}]));
}

#[test]
fn retain_keys_drops_the_other_members() {
    let volume = template(
        json!({"volumes": [{"name": "v", "emptyDir": {}}]}),
        json!({"volumes": [{"name": "v", "$retainKeys": ["name", "hostPath"],
            "hostPath": {"path": "/x"}}]}),
    );
    assert_eq!(volume, Ok(json!({"volumes": [{"name": "v", "hostPath": {"path": "/x"}}]})));

    let strategy = merged(
        "apps/v1",
        "Deployment",
        &json!({"spec": {"strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}}}}),
        json!({"spec": {"strategy": {"$retainKeys": ["type"], "type": "Recreate"}}}),
    );
    assert_eq!(strategy, Ok(json!({"spec": {"strategy": {"type": "Recreate"}}})));
}

#[test]
fn retain_keys_that_leave_out_a_patched_member_are_refused() {
    let refusal = template(json!({}), json!({"$retainKeys": ["a"], "containers": []})).unwrap_err();
    assert_eq!(refusal.code(), 400);
}

#[test]
fn an_item_without_its_merge_key_is_named() {
    let refusal =
        template(two_containers(), json!({"containers": [{"image": "q:1"}]})).unwrap_err();
    assert_eq!(
        (refusal.code(), refusal.to_string().as_str()),
        (500, "map: map[image:q:1] does not contain declared merge key: name")
    );
}

#[test]
fn null_deletes_a_member_and_is_not_stored_where_there_is_none() {
    let current = json!({"metadata": {"labels": {"l": "1"}}});
    let patch = json!({"metadata": {"labels": {"l": null}}, "spec": {"nodeSelector": {"a": null}}});
    assert_eq!(
        merged("v1", "Pod", &current, patch),
        Ok(json!({"metadata": {"labels": {}}, "spec": {"nodeSelector": {}}}))
    );
}

#[test]
fn finalizers_merge_as_a_set_and_values_can_be_deleted() {
    let current = json!({"metadata": {"finalizers": ["a/a", "b/b"]}});
    let patch = json!({"metadata": {
        "$deleteFromPrimitiveList/finalizers": ["a/a"], "finalizers": ["c/c"]}});
    assert_eq!(
        merged("v1", "ConfigMap", &current, patch),
        Ok(json!({"metadata": {"finalizers": ["c/c", "b/b"]}}))
    );
}

#[test]
fn conditions_merge_by_type_with_the_new_one_first() {
    let current = json!({"status": {"conditions": [{"type": "Ready", "status": "False"}]}});
    let patch = json!({"status": {"conditions": [
        {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}]}});
    assert_eq!(
        merged("v1", "Pod", &current, patch),
        Ok(json!({"status": {"conditions": [
            {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"},
            {"type": "Ready", "status": "False"}]}}))
    );
}

#[test]
fn taints_are_replaced_and_a_budget_s_selector_too() {
    let current = json!({"spec": {"taints": [{"key": "a", "effect": "NoSchedule"}]}});
    let patch = json!({"spec": {"taints": [{"key": "c", "effect": "NoExecute"}]}});
    assert_eq!(merged("v1", "Node", &current, patch.clone()), Ok(patch));

    let current = json!({"spec": {"selector": {"matchLabels": {"a": "b"}}}});
    let patch = json!({"spec": {"selector": {"matchLabels": {"c": "d"}}}});
    assert_eq!(merged("policy/v1", "PodDisruptionBudget", &current, patch.clone()), Ok(patch));
}

#[test]
fn patch_directives_in_maps_replace_and_delete() {
    let current = json!({"spec": {"nodeSelector": {"a": "1", "b": "2"}}});
    let replace = json!({"spec": {"nodeSelector": {"$patch": "replace", "c": "3"}}});
    assert_eq!(
        merged("v1", "Pod", &current, replace),
        Ok(json!({"spec": {"nodeSelector": {"c": "3"}}}))
    );
    let delete = json!({"spec": {"nodeSelector": {"$patch": "delete"}}});
    assert_eq!(merged("v1", "Pod", &current, delete), Ok(json!({"spec": {"nodeSelector": {}}})));
}

#[test]
fn a_kind_outside_the_schema_merges_its_metadata_and_known_lists() {
    let current = json!({"metadata": {"finalizers": ["a"]},
        "spec": {"drivers": [{"name": "x", "nodeID": "1"}]}});
    let patch = json!({"metadata": {"finalizers": ["b"]}, "spec": {"drivers": [{"name": "y"}]}});
    assert_eq!(
        merged("storage.k8s.io/v1", "CSINode", &current, patch),
        Ok(json!({"metadata": {"finalizers": ["b", "a"]},
            "spec": {"drivers": [{"name": "y"}, {"name": "x", "nodeID": "1"}]}}))
    );
}
