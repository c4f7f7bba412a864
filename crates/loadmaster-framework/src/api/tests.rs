//! Decoding never fails worse than with an error, whatever the server sends.

use std::fmt::Debug;

use proptest::prelude::*;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use super::*;

/// A pod that uses most fields there are.
fn full_pod() -> Value {
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {
            "name": "p", "namespace": "ns", "uid": "u", "resourceVersion": "7", "generation": 2,
            "labels": {"app": "web"}, "annotations": {"note": "x"},
            "creationTimestamp": "2026-01-02T03:04:05Z", "deletionTimestamp": null,
            "ownerReferences": [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "r",
                                 "uid": "o", "controller": true}],
        },
        "spec": {
            "nodeName": "n", "schedulerName": "default-scheduler", "priority": -5,
            "preemptionPolicy": "Never", "schedulingGates": [{"name": "g"}],
            "nodeSelector": {"zone": "a"}, "hostNetwork": true,
            "affinity": {
                "nodeAffinity": {
                    "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{
                        "matchExpressions": [{"key": "cpu", "operator": "Gt", "values": ["4"]}],
                        "matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n"]}],
                    }]},
                    "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 3, "preference": {
                        "matchExpressions": [{"key": "disk", "operator": "Exists"}]}}],
                },
                "podAntiAffinity": {
                    "requiredDuringSchedulingIgnoredDuringExecution": [{
                        "topologyKey": "zone", "namespaces": ["ns"], "namespaceSelector": {},
                        "labelSelector": {"matchLabels": {"app": "web"}, "matchExpressions": [
                            {"key": "tier", "operator": "NotIn", "values": ["a", "b"]}]}}],
                },
            },
            "tolerations": [{"key": "k", "operator": "Equal", "value": "v", "effect": "NoSchedule"}],
            "topologySpreadConstraints": [{
                "maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule",
                "labelSelector": {"matchLabels": {"app": "web"}}, "minDomains": 2,
                "nodeAffinityPolicy": "Honor", "nodeTaintsPolicy": "Ignore",
                "matchLabelKeys": ["pod-template-hash"]}],
            "initContainers": [{"name": "i", "restartPolicy": "Always",
                                "resources": {"requests": {"cpu": "1", "example.com/gpu": "2"}}}],
            "containers": [{
                "name": "c", "image": "registry/i:1",
                "ports": [{"containerPort": 80, "hostPort": 8080, "hostIP": "::1", "protocol": "UDP"}],
                "resources": {"requests": {"cpu": "100m", "memory": "1Gi", "hugepages-2Mi": 4},
                              "limits": {"cpu": 0.5}}}],
            "overhead": {"cpu": "10m"},
            "resources": {"requests": {"cpu": "2", "memory": "1Gi"}},
            "volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "c", "readOnly": true}},
                        {"name": "e", "ephemeral": {"volumeClaimTemplate": {"spec": {
                            "accessModes": ["ReadWriteOnce"],
                            "resources": {"requests": {"storage": "1Gi"}}}}}}],
            "resourceClaims": [{"name": "d", "resourceClaimTemplateName": "t"}],
        },
        "status": {
            "phase": "Running", "nominatedNodeName": "m", "startTime": "2026-01-02T03:04:06.5Z",
            "conditions": [{"type": "PodResizePending", "status": "True", "reason": "Infeasible"}],
            "containerStatuses": [{"name": "c", "allocatedResources": {"cpu": "1"},
                                   "resources": {"requests": {"cpu": "2"}}}],
            "allocatedResources": {"cpu": "3"}, "resources": {"requests": {"memory": "1"}},
        },
    })
}

/// A node that uses most fields there are.
fn full_node() -> Value {
    json!({
        "metadata": {"name": "n", "labels": {"zone": "a", "cpu": "8"}},
        "spec": {"unschedulable": true, "taints": [
            {"key": "k", "value": "v", "effect": "NoSchedule", "timeAdded": null}]},
        "status": {
            "capacity": {"cpu": "8", "pods": "110"},
            "allocatable": {"cpu": "7500m", "memory": "16Gi", "example.com/gpu": "2"},
            "conditions": [{"type": "Ready", "status": "True"}],
            "images": [{"names": ["a:1", "a@sha256:0"], "sizeBytes": 1234}],
            "declaredFeatures": ["F"],
        },
    })
}

/// An object of the other kinds, by the fields that they have between them.
fn full_others() -> Value {
    let term = json!({"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a"]}]});
    json!({
        "metadata": {"name": "o", "labels": {"topology.kubernetes.io/zone": "a__b"}},
        "spec": {
            "selector": {"matchLabels": {"app": "web"}}, "capacity": {"storage": "10Gi"},
            "accessModes": ["ReadWriteOnce"], "claimRef": {"namespace": "ns", "name": "c"},
            "storageClassName": "s", "volumeMode": "Block", "volumeName": "v",
            "nodeAffinity": {"required": {"nodeSelectorTerms": [term]}},
            "resources": {"requests": {"storage": "1Gi"}},
            "drivers": [{"name": "d", "nodeID": "n", "topologyKeys": ["zone"],
                         "allocatable": {"count": 3}}],
            "csi": {"driver": "d", "volumeHandle": "h"}, "attachRequired": false,
            "attacher": "d", "nodeName": "n", "source": {"persistentVolumeName": "v"},
        },
        "status": {"phase": "Bound", "disruptionsAllowed": 1, "disruptedPods": {"p": null}},
        "provisioner": "d", "volumeBindingMode": "WaitForFirstConsumer",
        "allowedTopologies": [{"matchLabelExpressions": [{"key": "zone", "values": ["a"]}]}],
        "nodeTopology": {"matchLabels": {"zone": "a"}}, "storageClassName": "s",
        "capacity": "10Gi", "maximumVolumeSize": 1e9,
    })
}

/// One change to a document: which of its places, and what comes there.
#[derive(Clone, Debug)]
enum Change {
    Replace(usize, Value),
    Remove(usize),
    Repeat(usize),
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        // Eighths: their decimal form is exact, so reading it back cannot differ by rounding.
        any::<i32>().prop_map(|eighths| Value::from(f64::from(eighths) / 8.0)),
        any::<String>().prop_map(Value::from),
        "[+-]?[0-9.]{0,20}[eEinumkKMGTP]{0,2}[+-]?[0-9]{0,19}".prop_map(Value::from),
        prop::sample::select(vec![
            "",
            "In",
            "Exists",
            "Always",
            "NoExecute",
            "DoNotSchedule",
            "2026-01-01T00:00:00Z",
            "-262144-01-01T00:00:00Z",
            "9223372036854775807",
            "1e-100000000",
            "1e100000000",
        ])
        .prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map("[a-z]{0,6}", inner, 0..4)
                .prop_map(|entries| Value::Object(Map::from_iter(entries))),
        ]
    })
}

fn change() -> impl Strategy<Value = Change> {
    prop_oneof![
        3 => (any::<usize>(), value()).prop_map(|(at, value)| Change::Replace(at, value)),
        1 => any::<usize>().prop_map(Change::Remove),
        1 => any::<usize>().prop_map(Change::Repeat),
    ]
}

/// The JSON pointers of all places below the root.
fn places(value: &Value, at: &str, found: &mut Vec<String>) {
    let children: Vec<(String, &Value)> = match value {
        Value::Object(map) => {
            map.iter().map(|(key, it)| (key.replace('~', "~0").replace('/', "~1"), it)).collect()
        }
        Value::Array(list) => {
            list.iter().enumerate().map(|(at, it)| (at.to_string(), it)).collect()
        }
        _ => Vec::new(),
    };
    for (step, child) in children {
        let at = format!("{at}/{step}");
        places(child, &at, found);
        found.push(at);
    }
}

fn changed(mut document: Value, changes: &[Change]) -> Value {
    for change in changes {
        let mut found = Vec::new();
        places(&document, "", &mut found);
        let (Change::Replace(at, _) | Change::Remove(at) | Change::Repeat(at)) = change;
        let Some(pointer) = found.get(at % found.len().max(1)) else { continue };
        match change {
            Change::Replace(_, value) => *document.pointer_mut(pointer).unwrap() = value.clone(),
            Change::Remove(_) => {
                let (parent, key) = pointer.rsplit_once('/').unwrap();
                match document.pointer_mut(parent).unwrap() {
                    Value::Object(map) => {
                        map.remove(&key.replace("~1", "/").replace("~0", "~"));
                    }
                    Value::Array(list) => {
                        list.remove(key.parse().unwrap());
                    }
                    _ => {}
                }
            }
            Change::Repeat(_) => {
                if let Value::Array(list) = document.pointer_mut(pointer).unwrap() {
                    list.extend_from_within(..);
                }
            }
        }
    }
    document
}

/// Decodes a document both ways; what decodes must say the same when written and read again.
fn decode<T>(document: &Value) -> Result<Option<T>, TestCaseError>
where
    T: DeserializeOwned + Serialize + PartialEq + Debug,
{
    let Ok(object) = serde_json::from_value::<T>(document.clone()) else {
        prop_assert!(serde_json::from_str::<T>(&document.to_string()).is_err());
        return Ok(None);
    };
    let text = serde_json::to_string(&object).unwrap();
    prop_assert_eq!(&serde_json::from_str::<T>(&text).unwrap(), &object);
    Ok(Some(object))
}

proptest! {
    #[test]
    fn a_mangled_pod_is_an_error_or_a_pod_that_can_be_worked_with(
        changes in prop::collection::vec(change(), 0..6),
    ) {
        let Some(pod) = decode::<Pod>(&changed(full_pod(), &changes))? else { return Ok(()) };
        let taken = PodResources::of(&pod);
        let mut sum = taken.requests.clone();
        sum.add(&taken.requests);
        sum.sub(&taken.requests);
        prop_assert_eq!(sum.milli_cpu, taken.requests.milli_cpu);
        let affinity = pod.spec.affinity.unwrap_or_default();
        let node = affinity.node_affinity.unwrap_or_default();
        let required = RequiredNodeAffinity::new(&pod.spec.node_selector, node.required.as_ref());
        let _ = required.matches(&pod.metadata.labels, pod.spec.node_name.as_ref());
        let _ = CompiledPreferredTerms::new(&node.preferred, "");
        for term in affinity.pod_anti_affinity.unwrap_or_default().required {
            if let Ok(selector) = LabelSelector::compile_optional(term.label_selector.as_ref()) {
                let _ = (selector.matches(&pod.metadata.labels), selector.to_string());
            }
        }
        let taint = Taint { key: "k".into(), value: "v".into(), effect: Effect::NoSchedule };
        let _ = tolerations_tolerate_taint(&pod.spec.tolerations, &taint);
    }

    #[test]
    fn a_mangled_node_is_an_error_or_a_node_that_can_be_worked_with(
        changes in prop::collection::vec(change(), 0..6),
    ) {
        let Some(node) = decode::<Node>(&changed(full_node(), &changes))? else { return Ok(()) };
        let _ = Resource::from_resource_list(&node.status.allocatable);
        let _ = find_matching_untolerated_taint(&node.spec.taints, &[], |_| true);
    }

    #[test]
    fn mangled_objects_of_the_other_kinds_are_errors_or_objects(
        changes in prop::collection::vec(change(), 0..6),
    ) {
        let document = changed(full_others(), &changes);
        decode::<Namespace>(&document)?;
        decode::<Service>(&document)?;
        decode::<ReplicationController>(&document)?;
        decode::<ReplicaSet>(&document)?;
        decode::<StatefulSet>(&document)?;
        decode::<PodDisruptionBudget>(&document)?;
        decode::<PersistentVolume>(&document)?;
        decode::<PersistentVolumeClaim>(&document)?;
        decode::<StorageClass>(&document)?;
        decode::<CsiNode>(&document)?;
        decode::<CsiDriver>(&document)?;
        decode::<CsiStorageCapacity>(&document)?;
        decode::<VolumeAttachment>(&document)?;
    }

    #[test]
    fn a_cut_or_garbled_text_is_an_error(at in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let text = full_pod().to_string().into_bytes();
        let at = at.index(text.len());
        prop_assert!(serde_json::from_slice::<Pod>(&text[..at]).is_err());
        let mut garbled = text;
        garbled[at] = byte;
        let _ = serde_json::from_slice::<Pod>(&garbled);
    }
}

#[test]
fn the_full_objects_decode_without_changes() {
    // Else the tests above would test little.
    serde_json::from_value::<Pod>(full_pod()).unwrap();
    serde_json::from_value::<Node>(full_node()).unwrap();
    let others = full_others();
    serde_json::from_value::<PersistentVolume>(others.clone()).unwrap();
    serde_json::from_value::<PersistentVolumeClaim>(others.clone()).unwrap();
    serde_json::from_value::<StorageClass>(others.clone()).unwrap();
    serde_json::from_value::<CsiNode>(others.clone()).unwrap();
    serde_json::from_value::<CsiStorageCapacity>(others.clone()).unwrap();
    serde_json::from_value::<PodDisruptionBudget>(others).unwrap();
}

/// Puts a word that the API does not define in the place of each word that it does.
fn with_new_words(document: &Value) -> Vec<(String, Value)> {
    let mut found = Vec::new();
    places(document, "", &mut found);
    let word = |it: &str| {
        it.starts_with(|it: char| it.is_ascii_uppercase())
            && it.chars().all(|it| it.is_ascii_alphabetic())
    };
    let mut changed = Vec::new();
    for pointer in found {
        if document.pointer(&pointer).and_then(Value::as_str).is_some_and(word) {
            let mut document = document.clone();
            *document.pointer_mut(&pointer).unwrap() = json!("Newfangled");
            changed.push((pointer, document));
        }
    }
    changed
}

#[test]
fn words_of_a_newer_server_make_no_object_unreadable() {
    // A bound pod that was left out would have no room on its node.
    fn check<T: DeserializeOwned>(documents: Vec<(String, Value)>) {
        for (pointer, document) in documents {
            let decoded = serde_json::from_value::<T>(document);
            assert!(decoded.is_ok(), "{pointer}: {:?}", decoded.err());
        }
    }
    let pods = with_new_words(&full_pod());
    assert!(pods.len() > 10, "{pods:?}");
    check::<Pod>(pods);
    check::<Node>(with_new_words(&full_node()));
    let others = with_new_words(&full_others());
    check::<PersistentVolume>(others.clone());
    check::<PersistentVolumeClaim>(others.clone());
    check::<StorageClass>(others.clone());
    check::<PodDisruptionBudget>(others);
}

#[test]
fn a_deeply_nested_text_is_refused_or_skipped_without_exhausting_the_stack() {
    let deep = format!("{}{}", "[".repeat(200_000), "]".repeat(200_000));
    for field in ["unknown", "spec", "metadata"] {
        let text = format!(r#"{{"{field}":{deep}}}"#);
        let _ = serde_json::from_str::<Pod>(&text);
        let _ = serde_json::from_str::<PersistentVolume>(&text);
    }
    let text = format!(r#"{{"status":{{"extendedResourceClaimStatus":{deep}}}}}"#);
    assert!(serde_json::from_str::<Pod>(&text).is_err());
}
