use loadmaster_framework::{ClusterEvent, Object, QueueingHint};
use serde_json::{Value, json};

use super::*;
use crate::test_kit::{Cluster, cycle, hint, pod as pod_info};

const GIB: i64 = 1 << 30;

fn node(name: &str, mut allocatable: Value) -> Value {
    if allocatable.get("pods").is_none() {
        allocatable["pods"] = json!("110");
    }
    json!({"metadata": {"name": name}, "status": {"allocatable": allocatable}})
}

fn container(requests: Value) -> Value {
    json!({"name": "c", "resources": {"requests": requests}})
}

fn pod(name: &str, requests: Value) -> Value {
    json!({"metadata": {"name": name, "uid": name}, "spec": {"containers": [container(requests)]}})
}

#[track_caller]
fn check(cluster: &Cluster, args: Value, pod: Value, expected: &[&str]) {
    cluster.check::<NodeResourcesFit>(args, pod).is(expected);
}

/// The worked example of the page.
#[test]
fn what_is_short_is_named_and_the_rest_is_scored_by_room() {
    let big = json!({"cpu": "4", "memory": "8Gi"});
    let cluster = Cluster::new(&[node("n1", big.clone()), node("n2", big)])
        .place("n1", pod("a", json!({"cpu": "3", "memory": "2Gi"})));
    let pod = pod("p", json!({"cpu": "2", "memory": "2Gi"}));
    check(&cluster, json!(null), pod, &["n1 Unschedulable: Insufficient cpu", "n2 62"]);
}

#[test]
fn reasons_come_in_a_fixed_order_and_more_than_the_whole_node_is_beyond_preemption() {
    let cluster = Cluster::new(&[
        node(
            "small",
            json!({"cpu": "1", "memory": "1Gi", "ephemeral-storage": "1Gi", "pods": "1"}),
        ),
        node(
            "large",
            json!({
                "cpu": "4", "memory": "8Gi", "ephemeral-storage": "8Gi", "pods": "1",
                "hugepages-2Mi": "4Mi", "b.example.com/x": "2", "a.example.com/x": "2",
            }),
        ),
    ])
    .place("small", pod("a", json!({})))
    .place(
        "large",
        pod(
            "b",
            json!({
                "cpu": "4", "memory": "8Gi", "ephemeral-storage": "8Gi", "hugepages-2Mi": "4Mi",
                "b.example.com/x": "2", "a.example.com/x": "2",
            }),
        ),
    );
    let wants_all = pod(
        "p",
        json!({
            "cpu": "2", "memory": "2Gi", "ephemeral-storage": "2Gi", "hugepages-2Mi": "2Mi",
            "b.example.com/x": "1", "a.example.com/x": "1",
        }),
    );
    let reasons = "Too many pods, Insufficient cpu, Insufficient memory, \
                   Insufficient ephemeral-storage, Insufficient a.example.com/x, \
                   Insufficient b.example.com/x, Insufficient hugepages-2Mi";
    check(
        &cluster,
        json!(null),
        wants_all,
        &[
            &format!("small UnschedulableAndUnresolvable: {reasons}"),
            &format!("large Unschedulable: {reasons}"),
        ],
    );
    // The number of pods alone is never beyond preemption.
    check(
        &cluster,
        json!(null),
        pod("p", json!({})),
        &["small Unschedulable: Too many pods", "large Unschedulable: Too many pods"],
    );
}

#[test]
fn ignored_resources_and_groups_are_not_looked_at() {
    let cluster = Cluster::new(&[node("n", json!({"cpu": "1"}))]);
    let wants = |name: &str| pod("p", json!({name: "1"}));
    let args = json!({
        "ignoredResources": ["example.com/gpu", "hugepages-2Mi"],
        "ignoredResourceGroups": ["fpga.example.com"],
    });
    for free in ["example.com/gpu", "fpga.example.com/a", "fpga.example.com/b"] {
        // The defaults of 100 millicores of 1 core are 90 points; there is no memory.
        check(&cluster, args.clone(), wants(free), &["n 90"]);
    }
    for looked_at in ["example.com/other", "hugepages-2Mi"] {
        let refused = format!("n UnschedulableAndUnresolvable: Insufficient {looked_at}");
        check(&cluster, args.clone(), wants(looked_at), &[&refused]);
    }
}

/// kubernetes#102134: the request does not fit 64 bits.
#[test]
fn a_request_beyond_64_bits_does_not_fit() {
    let cluster = Cluster::new(&[node("n", json!({"cpu": "4", "memory": "8Gi"}))]);
    let refused = &["n UnschedulableAndUnresolvable: Insufficient memory"];
    check(&cluster, json!(null), pod("p", json!({"memory": "50E"})), refused);
}

/// kubernetes#141328: sums of pods bound by hand do not wrap around, and are exact again later.
#[test]
fn sums_beyond_64_bits_neither_wrap_nor_stick() {
    let huge = |name| pod(name, json!({"memory": i64::MAX.to_string()}));
    let cluster = Cluster::new(&[node("n", json!({"cpu": "4", "memory": "8Gi"}))])
        .place("n", huge("a"))
        .place("n", huge("b"));
    let small = pod("p", json!({"memory": "1"}));
    check(&cluster, json!(null), small.clone(), &["n Unschedulable: Insufficient memory"]);

    let mut info = (*cluster.snapshot().nodes()[0]).clone();
    info.remove_pod("a");
    assert_eq!(info.requested().memory, i128::from(i64::MAX));
    info.remove_pod("b");
    let wanted = requests(&pod_info(small));
    assert_eq!(fits(&wanted, &info), Ok(()));
}

/// kubernetes#142112: 10^17 bytes times 100 does not fit 64 bits.
#[test]
fn scores_of_huge_nodes_do_not_overflow() {
    let cluster = Cluster::new(&[node("n", json!({"memory": "100P"}))]);
    let args = |kind: &str| json!({"scoringStrategy": {"type": kind, "resources": [{"name": "memory", "weight": 1}]}});
    let byte = pod("p", json!({"memory": "1"}));
    check(&cluster, args("LeastAllocated"), byte.clone(), &["n 99"]);
    check(&cluster, args("MostAllocated"), byte, &["n 0"]);
    check(&cluster, args("MostAllocated"), pod("p", json!({"memory": "50P"})), &["n 50"]);
}

/// kubernetes#127868: sidecars run beside the containers.
#[test]
fn sidecars_add_to_containers() {
    let cluster =
        Cluster::new(&[node("n", json!({"cpu": "1500m"})), node("m", json!({"cpu": "2"}))]);
    let mut sidecar = container(json!({"cpu": "1"}));
    sidecar["restartPolicy"] = json!("Always");
    let pod = json!({"spec": {"initContainers": [sidecar], "containers": [container(json!({"cpu": "1"}))]}});
    let verdicts = cluster.check::<NodeResourcesFit>(json!(null), pod);
    verdicts.is(&["n UnschedulableAndUnresolvable: Insufficient cpu", "m 0"]);
}

/// kubernetes#89092, #90177: the largest moment counts, also for the score.
#[test]
fn init_containers_count_in_the_score() {
    let cluster = Cluster::new(&[node("n", json!({"cpu": "8"}))]);
    let pod = json!({"spec": {
        "initContainers": [container(json!({"cpu": "4"}))],
        "containers": [container(json!({"cpu": "1"}))],
    }});
    check(&cluster, json!(null), pod, &["n 50"]);
}

/// volcano#1333, kubernetes#124282: an init container counts while the pod is on the node, also when
/// it has long finished.
#[test]
fn a_placed_pod_keeps_what_its_init_containers_asked_for() {
    let first = json!({"metadata": {"uid": "a"}, "spec": {
        "initContainers": [container(json!({"cpu": "6"}))],
        "containers": [container(json!({"cpu": "1"}))],
    }, "status": {"phase": "Running"}});
    let cluster = Cluster::new(&[node("n", json!({"cpu": "8"}))]).place("n", first);
    let second = pod("b", json!({"cpu": "4"}));
    check(&cluster, json!(null), second, &["n Unschedulable: Insufficient cpu"]);
}

#[test]
fn strategies_weigh_resources_and_leave_out_what_does_not_count() {
    let cluster =
        Cluster::new(&[node("n", json!({"cpu": "4", "memory": "8Gi", "example.com/gpu": "4"}))])
            .place("n", pod("a", json!({"cpu": "1", "memory": "2Gi", "example.com/gpu": "1"})));
    let args = |kind: &str, shape: Value| {
        let mut strategy = json!({"type": kind, "resources": [
            {"name": "cpu", "weight": 1},
            {"name": "memory", "weight": 3},
            {"name": "example.com/gpu", "weight": 2},
            {"name": "example.com/absent", "weight": 9},
        ]});
        if !shape.is_null() {
            strategy["requestedToCapacityRatio"] = json!({"shape": shape});
        }
        json!({"scoringStrategy": strategy})
    };
    let gpu = pod("p", json!({"cpu": "1", "memory": "2Gi", "example.com/gpu": "2"}));
    // Used after: cpu 50 %, memory 50 %, gpu 75 %.
    check(&cluster, args("LeastAllocated", Value::Null), gpu.clone(), &["n 41"]); // (50+150+50)/6
    check(&cluster, args("MostAllocated", Value::Null), gpu.clone(), &["n 58"]); // (50+150+150)/6
    let line = json!([{"utilization": 0, "score": 0}, {"utilization": 100, "score": 10}]);
    check(&cluster, args("RequestedToCapacityRatio", line), gpu.clone(), &["n 58"]); // 350/6 = 58.3
    // Without a request for it, the extended resource does not count: (50 + 150) / 4.
    let plain = pod("p", json!({"cpu": "1", "memory": "2Gi"}));
    check(&cluster, args("LeastAllocated", Value::Null), plain.clone(), &["n 50"]);
    // Resources without points have no weight here, and the mean is rounded: only gpu counts.
    let late = json!([{"utilization": 50, "score": 0}, {"utilization": 100, "score": 9}]);
    check(&cluster, args("RequestedToCapacityRatio", late.clone()), gpu, &["n 45"]);
    check(&cluster, args("RequestedToCapacityRatio", late), plain, &["n 0"]);
}

#[test]
fn containers_without_requests_count_a_little_and_pod_level_requests_do_not_count_in_the_score() {
    let cluster =
        Cluster::new(&[node("n", json!({"cpu": "1", "memory": (2000 << 20).to_string()}))]);
    let two = json!({"spec": {"containers": [{"name": "a"}, {"name": "b"}]}});
    check(&cluster, json!(null), two, &["n 80"]); // 200m of 1000m, 400 MiB of 2000 MiB
    let pod_level = json!({"spec": {
        "containers": [{"name": "a"}],
        "resources": {"requests": {"cpu": "1", "memory": "1000Mi"}},
    }});
    check(&cluster, json!(null), pod_level, &["n 90"]);
}

#[test]
fn filter_and_score_alone_find_the_same() {
    let cluster = Cluster::new(&[node("n", json!({"cpu": "4", "memory": "8Gi"}))]);
    let hooks = crate::test_kit::build::<NodeResourcesFit>(&json!(null));
    let (pod, snapshot) =
        (pod_info(pod("p", json!({"cpu": "2", "memory": "2Gi"}))), cluster.snapshot());
    let (cx, state) = (cycle(&pod, &snapshot), CycleState::default());
    let n = &snapshot.nodes()[0];
    assert_eq!(hooks.filter.unwrap().filter(cx, &state, n), Ok(()));
    assert_eq!(hooks.score.unwrap().score(cx, &state, n), Ok(62));
}

#[test]
fn a_pod_that_asks_for_less_helps_only_with_what_is_lacked() {
    let waiting = pod_info(pod("p", json!({"cpu": "1"})));
    let on_node = |requests: Value| {
        let mut json = pod("other", requests);
        json["spec"]["nodeName"] = json!("n");
        Object::from(serde_json::from_value::<Pod>(json).unwrap())
    };
    let event = ClusterEvent::new(EventResource::AssignedPod, ActionType::UPDATE_POD_SCALE_DOWN);
    let says = |before: Value, after: Value| {
        hint::<NodeResourcesFit>(&waiting, event, Some(&on_node(before)), Some(&on_node(after)))
    };
    let both = json!({"cpu": "2", "memory": 4 * GIB});
    assert_eq!(says(both.clone(), json!({"cpu": "1", "memory": 4 * GIB})), Ok(QueueingHint::Queue));
    assert_eq!(says(both, json!({"cpu": "2", "memory": GIB})), Ok(QueueingHint::Skip));
}
