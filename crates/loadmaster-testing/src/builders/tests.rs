//! The builders make what the API's JSON would have been read to.

use loadmaster_framework::api::{Effect, Node, Pod};

use super::*;

fn read<T: serde::de::DeserializeOwned>(json: serde_json::Value) -> T {
    serde_json::from_value(json).unwrap()
}

#[test]
fn a_pod_is_what_its_manifest_would_have_been_read_to() {
    let built = pod("a")
        .namespace("x")
        .label("app", "web")
        .priority(7)
        .scheduler_name("other")
        .gate("later")
        .request("cpu", "100m")
        .limit("memory", "1Gi")
        .host_port(80)
        .image("nginx:1")
        .container("second")
        .request("cpu", "2")
        .sidecar("mesh", [("cpu", "50m")])
        .overhead("memory", "8Mi")
        .node_selector("disk", "ssd")
        .tolerates("dedicated", "", Effect::NoSchedule)
        .node_affinity([requirement("zone", "In", ["a", "b"])])
        .preferred_pod_anti_affinity(5, near("zone", selector([("app", "web")])))
        .spread(1, "zone", expression("app", "Exists", [""; 0]))
        .claim("data")
        .nominated("n1")
        .build();
    let manifest: Pod = read(serde_json::json!({
        "metadata": {"name": "a", "namespace": "x", "uid": "x/a", "labels": {"app": "web"}},
        "spec": {
            "priority": 7,
            "schedulerName": "other",
            "schedulingGates": [{"name": "later"}],
            "containers": [
                {
                    "name": "main",
                    "image": "nginx:1",
                    "resources": {"requests": {"cpu": "0.1"}, "limits": {"memory": "1024Mi"}},
                    "ports": [{"containerPort": 80, "hostPort": 80, "protocol": "TCP"}],
                },
                {"name": "second", "resources": {"requests": {"cpu": 2}}},
            ],
            "initContainers": [{
                "name": "mesh",
                "restartPolicy": "Always",
                "resources": {"requests": {"cpu": "50m"}},
            }],
            "overhead": {"memory": "8Mi"},
            "nodeSelector": {"disk": "ssd"},
            "tolerations": [{"key": "dedicated", "operator": "Exists", "effect": "NoSchedule"}],
            "affinity": {
                "nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {
                    "nodeSelectorTerms": [{"matchExpressions": [
                        {"key": "zone", "operator": "In", "values": ["a", "b"]},
                    ]}],
                }},
                "podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{
                    "weight": 5,
                    "podAffinityTerm": {
                        "topologyKey": "zone",
                        "labelSelector": {"matchLabels": {"app": "web"}},
                    },
                }]},
            },
            "topologySpreadConstraints": [{
                "maxSkew": 1,
                "topologyKey": "zone",
                "whenUnsatisfiable": "DoNotSchedule",
                "labelSelector": {"matchExpressions": [{"key": "app", "operator": "Exists"}]},
            }],
            "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}],
        },
        "status": {"nominatedNodeName": "n1"},
    }));
    assert_eq!(built, manifest);
}

#[test]
fn a_node_is_what_its_manifest_would_have_been_read_to() {
    let built = node("n1")
        .capacity([("cpu", "4"), ("pods", "110")])
        .allocatable([("cpu", "3500m")])
        .taint("dedicated", "db", Effect::NoExecute)
        .unschedulable()
        .image("nginx:1", 1_000_000)
        .build();
    let manifest: Node = read(serde_json::json!({
        "metadata": {"name": "n1", "uid": "n1", "labels": {"kubernetes.io/hostname": "n1"}},
        "spec": {
            "unschedulable": true,
            "taints": [{"key": "dedicated", "value": "db", "effect": "NoExecute"}],
        },
        "status": {
            "capacity": {"cpu": "4", "pods": "110"},
            "allocatable": {"cpu": "3.5", "pods": "110"},
            "conditions": [{"type": "Ready", "status": "True"}],
            "images": [{"names": ["nginx:1"], "sizeBytes": 1_000_000}],
        },
    }));
    assert_eq!(built, manifest);
}

#[test]
fn pods_given_to_a_node_are_placed_on_it() {
    let info = node("n1").info([pod("a").node("elsewhere"), pod("b")]);
    let placed: Vec<_> = info.pods().iter().map(|it| (&**it.name(), it.node_name())).collect();
    let here = info.name();
    assert_eq!(placed, [("a", Some(here)), ("b", Some(here))]);
}

#[test]
fn a_bound_claim_and_its_volume_name_each_other() {
    let volume = persistent_volume("v", "1Gi").class("fast").bound_to("data").build();
    let claim = persistent_volume_claim("data", "1Gi").class("fast").bound_to("v").build();
    let reference = volume.spec.claim_ref.unwrap();
    assert_eq!(&claim.spec.volume_name, &volume.metadata.name);
    assert_eq!(
        (&reference.name, &reference.namespace, &reference.uid),
        (&claim.metadata.name, &claim.metadata.namespace, &claim.metadata.uid)
    );
}
