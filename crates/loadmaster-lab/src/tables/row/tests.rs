//! Expected cells are rows that kube-apiserver 1.36 answered.

use super::*;
use crate::tables::columns;

fn now() -> Timestamp {
    "2026-11-29T16:29:07Z".parse().unwrap()
}

fn cells_of(kind: &str, mut object: Value) -> Value {
    object["kind"] = json!(kind);
    object["metadata"]["creationTimestamp"] = json!("2026-11-29T16:28:32Z");
    let cells = cells(kind, &object, now());
    assert_eq!(columns(kind).as_array().unwrap().len(), cells.len(), "{kind}");
    Value::Array(cells)
}

#[test]
fn deployments_and_replica_sets() {
    let spec = json!({"replicas": 3, "selector": {"matchLabels": {"app": "web"}}, "template":
        {"spec": {"containers": [{"name": "pause", "image": "registry.k8s.io/pause:3.10"}]}}});
    let status =
        json!({"replicas": 3, "readyReplicas": 3, "updatedReplicas": 3, "availableReplicas": 3});
    let object = json!({"metadata": {"name": "web"}, "spec": spec, "status": status});
    assert_eq!(
        cells_of("Deployment", object.clone()),
        json!(["web", "3/3", 3, 3, "35s", "pause", "registry.k8s.io/pause:3.10", "app=web"])
    );
    assert_eq!(
        cells_of("ReplicaSet", object),
        json!(["web", 3, 3, 3, "35s", "pause", "registry.k8s.io/pause:3.10", "app=web"])
    );
}

#[test]
fn nodes() {
    let mut node = json!({"metadata": {"name": "wire-n1", "labels": {
            "node-role.kubernetes.io/worker": "", "kubernetes.io/role": "edge"}},
        "status": {"conditions": [{"type": "Ready", "status": "True"}],
            "addresses": [{"type": "InternalIP", "address": "192.0.2.11"}],
            "nodeInfo": {"kubeletVersion": "v1.36.2", "osImage": "Lab Linux",
                "kernelVersion": "6.1.0", "architecture": "amd64",
                "containerRuntimeVersion": "fake://1.0"}}});
    assert_eq!(
        cells_of("Node", node.clone()),
        json!([
            "wire-n1",
            "Ready",
            "edge,worker",
            "35s",
            "v1.36.2",
            "192.0.2.11",
            "<none>",
            "Lab Linux",
            "6.1.0 (amd64)",
            "fake://1.0"
        ])
    );
    node["spec"]["unschedulable"] = json!(true);
    node["status"] = json!({});
    node["metadata"]["labels"] = json!({});
    assert_eq!(
        cells_of("Node", node),
        json!([
            "wire-n1",
            "Unknown,SchedulingDisabled",
            "<none>",
            "35s",
            "",
            "<none>",
            "<none>",
            "<unknown>",
            "<unknown>",
            "<unknown>"
        ])
    );
}

#[test]
fn kinds_of_few_cells() {
    let cases = [
        ("Namespace", json!({"status": {"phase": "Active"}}), json!(["x", "Active", "35s"])),
        ("Lease", json!({"spec": {"holderIdentity": "me"}}), json!(["x", "me", "35s"])),
        (
            "PriorityClass",
            json!({"value": 2_000_000_000, "preemptionPolicy": "PreemptLowerPriority"}),
            json!(["x", 2_000_000_000, false, "35s", "PreemptLowerPriority"]),
        ),
        (
            "PodDisruptionBudget",
            json!({"spec": {"minAvailable": 1}, "status": {"disruptionsAllowed": 0}}),
            json!(["x", "1", "N/A", 0, "35s"]),
        ),
        ("ConfigMap", json!({"data": {"a": "1"}}), json!(["x", 1, "35s"])),
        ("Secret", json!({"type": "Opaque"}), json!(["x", "Opaque", 0, "35s"])),
        ("ServiceAccount", json!({}), json!(["x", "35s"])),
        ("LimitRange", json!({}), json!(["x", "2026-11-29T16:28:32Z"])),
        ("CSINode", json!({"spec": {"drivers": [{}]}}), json!(["x", 1, "35s"])),
        ("ResourceClaim", json!({}), json!(["x", "pending", "35s"])),
        (
            "Service",
            json!({"spec": {"type": "ClusterIP", "clusterIP": "10.0.0.97",
                "ports": [{"port": 80, "protocol": "TCP"}], "selector": {"app": "x"}}}),
            json!(["x", "ClusterIP", "10.0.0.97", "<none>", "80/TCP", "35s", "app=x"]),
        ),
        (
            "PersistentVolumeClaim",
            json!({"spec": {"storageClassName": "none", "volumeMode": "Filesystem"},
                "status": {"phase": "Pending"}}),
            json!(["x", "Pending", "", "", "", "none", "<unset>", "35s", "Filesystem"]),
        ),
        (
            "ResourceQuota",
            json!({"status": {"hard": {"count/configmaps": "50", "pods": "100"},
                "used": {"count/configmaps": "2", "pods": "17"}}}),
            json!(["x", "count/configmaps: 2/50, pods: 17/100", "", "35s"]),
        ),
        (
            "Job",
            json!({"spec": {"completions": 1, "parallelism": 1}, "status":
                {"startTime": "2026-11-29T16:28:37Z"}}),
            json!(["x", "Running", "0/1", "30s", "35s", "", "", "<none>"]),
        ),
        ("StatefulSet", json!({"spec": {"replicas": 1}}), json!(["x", "0/1", "35s", "", ""])),
    ];
    for (kind, mut object, wanted) in cases {
        object["metadata"] = json!({"name": "x"});
        assert_eq!(cells_of(kind, object), wanted, "{kind}");
    }
}

#[test]
fn every_printer_fills_its_columns() {
    for kind in [
        "Pod",
        "Node",
        "Event",
        "DaemonSet",
        "CronJob",
        "PersistentVolume",
        "StorageClass",
        "CSIDriver",
        "VolumeAttachment",
        "CSIStorageCapacity",
        "DeviceClass",
    ] {
        cells_of(kind, json!({"metadata": {"name": "x"}}));
    }
}

#[test]
fn a_row_carries_metadata_everything_or_nothing() {
    let pod = json!({"metadata": {"name": "x"}, "status": {"phase": "Succeeded"}});
    let with = |include| row("Pod", &pod, include, now());
    let finished = json!([{"type": "Completed", "status": "True", "reason": "Succeeded",
        "message": "The pod has completed successfully."}]);
    assert_eq!(
        (&with(IncludeObject::Metadata)["object"], &with(IncludeObject::Metadata)["conditions"]),
        (
            &json!({"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1",
            "metadata": {"name": "x"}}),
            &finished
        )
    );
    assert_eq!(with(IncludeObject::Object)["object"], pod);
    assert_eq!(with(IncludeObject::None)["object"], Value::Null);
}

#[test]
fn bindings_show_the_role_and_who_has_it() {
    let binding = json!({"metadata": {"name": "b"}, "roleRef": {"kind": "ClusterRole", "name": "view"},
        "subjects": [{"kind": "User", "name": "eve"}, {"kind": "User", "name": "bob"},
            {"kind": "ServiceAccount", "name": "robot", "namespace": "ns"}]});
    let expected = json!(["b", "ClusterRole/view", "35s", "eve, bob", "", "ns/robot"]);
    assert_eq!(cells_of("ClusterRoleBinding", binding.clone()), expected);
    assert_eq!(cells_of("RoleBinding", binding), expected);
}
