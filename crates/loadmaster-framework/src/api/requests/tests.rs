use super::*;

fn pod(json: &str) -> Pod {
    serde_json::from_str(json).unwrap()
}

fn list(json: &str) -> ResourceList {
    serde_json::from_str(json).unwrap()
}

/// The requests of a pod with this specification, as a new pod.
fn asked(spec: &str) -> ResourceList {
    pod_requests(&pod(&format!(r#"{{"spec":{spec}}}"#)), &PodRequestOptions::default())
}

fn container(name: &str, requests: &str) -> String {
    format!(r#"{{"name":"{name}","resources":{{"requests":{requests}}}}}"#)
}

fn sidecar(name: &str, requests: &str) -> String {
    format!(r#"{{"name":"{name}","restartPolicy":"Always","resources":{{"requests":{requests}}}}}"#)
}

#[test]
fn containers_add_up_and_the_largest_init_container_counts_alone() {
    let init = container("i", r#"{"cpu":"4","memory":"1Gi"}"#);
    let small = container("j", r#"{"cpu":"1","memory":"3Gi"}"#);
    let a = container("a", r#"{"cpu":"1","memory":"1Gi"}"#);
    let b = container("b", r#"{"cpu":"500m","example.com/gpu":"1"}"#);
    let spec = format!(r#"{{"initContainers":[{init},{small}],"containers":[{a},{b}]}}"#);
    assert_eq!(asked(&spec), list(r#"{"cpu":"4","memory":"3Gi","example.com/gpu":"1"}"#));
}

#[test]
fn a_sidecar_counts_beside_the_containers() {
    // kubernetes#127868: 1 + 1 cores, not the larger of the two.
    let spec = format!(
        r#"{{"initContainers":[{}],"containers":[{}]}}"#,
        sidecar("s", r#"{"cpu":"1"}"#),
        container("a", r#"{"cpu":"1"}"#)
    );
    assert_eq!(asked(&spec), list(r#"{"cpu":"2"}"#));
}

#[test]
fn an_init_container_runs_beside_the_sidecars_started_before_it_only() {
    let init = container("i", r#"{"cpu":"5"}"#);
    let side = sidecar("s", r#"{"cpu":"2"}"#);
    let app = container("a", r#"{"cpu":"1"}"#);
    let of = |first: &str, second: &str| {
        asked(&format!(r#"{{"initContainers":[{first},{second}],"containers":[{app}]}}"#))
    };
    // Sidecar first: 2 + 5. Init first: max(5, 2 + 1).
    assert_eq!(of(&side, &init), list(r#"{"cpu":"7"}"#));
    assert_eq!(of(&init, &side), list(r#"{"cpu":"5"}"#));
}

#[test]
fn a_finished_init_container_still_counts() {
    // kubernetes#124282: by design.
    let it = pod(&format!(
        r#"{{"spec":{{"nodeName":"n","initContainers":[{}],"containers":[{}]}},
            "status":{{"phase":"Running","initContainerStatuses":[{{"name":"i","state":{{"terminated":{{"exitCode":0}}}}}}]}}}}"#,
        container("i", r#"{"cpu":"4"}"#),
        container("a", r#"{"cpu":"1"}"#)
    ));
    assert_eq!(PodResources::of(&it).requests.milli_cpu, 4000);
}

#[test]
fn pod_level_requests_replace_the_sum_for_what_they_can_cover() {
    let spec = format!(
        r#"{{"containers":[{}],"overhead":{{"cpu":"1","memory":"1Mi"}},
            "resources":{{"requests":{{"cpu":"3","hugepages-2Mi":"4Mi","example.com/gpu":"9"}}}}}}"#,
        container("a", r#"{"cpu":"8","memory":"1Gi","example.com/gpu":"1"}"#)
    );
    let expected = r#"{"cpu":"4","memory":"1025Mi","hugepages-2Mi":"4Mi","example.com/gpu":"1"}"#;
    assert_eq!(asked(&spec), list(expected));
    let it = pod(&format!(r#"{{"spec":{spec}}}"#));
    let skipping = PodRequestOptions {
        skip_pod_level: true,
        exclude_overhead: true,
        ..PodRequestOptions::default()
    };
    let expected = r#"{"cpu":"8","memory":"1Gi","example.com/gpu":"1"}"#;
    assert_eq!(pod_requests(&it, &skipping), list(expected));
    assert!(is_pod_level_requests_set(&it));
    let other = pod(r#"{"spec":{"resources":{"requests":{"example.com/gpu":"9"}}}}"#);
    assert!(!is_pod_level_requests_set(&other));
}

/// A pod on a node whose container asks for 3 cores; `allocated` and `actual` are in its status.
fn resized(allocated: &str, actual: &str, condition: &str) -> Pod {
    pod(&format!(
        r#"{{"spec":{{"nodeName":"n","containers":[{}]}},"status":{{"conditions":[{condition}],
            "containerStatuses":[{{"name":"a","allocatedResources":{allocated},
                                   "resources":{{"requests":{actual}}}}}]}}}}"#,
        container("a", r#"{"cpu":"3"}"#)
    ))
}

#[test]
fn a_pod_being_resized_counts_with_the_most_of_asked_allocated_and_actual() {
    let cpu = |allocated: &str, actual: &str, condition: &str| {
        PodResources::of(&resized(allocated, actual, condition)).requests.milli_cpu
    };
    assert_eq!(cpu(r#"{"cpu":"1"}"#, r#"{"cpu":"2"}"#, ""), 3000);
    assert_eq!(cpu(r#"{"cpu":"5"}"#, r#"{"cpu":"4"}"#, ""), 5000);
    assert_eq!(cpu(r#"{"cpu":"1"}"#, r#"{"cpu":"4"}"#, ""), 4000);
    let deferred = r#"{"type":"PodResizePending","status":"True","reason":"Deferred"}"#;
    assert_eq!(cpu(r#"{"cpu":"1"}"#, r#"{"cpu":"2"}"#, deferred), 3000);
    let infeasible = r#"{"type":"PodResizePending","status":"True","reason":"Infeasible"}"#;
    assert_eq!(cpu(r#"{"cpu":"1"}"#, r#"{"cpu":"2"}"#, infeasible), 2000);
    assert_eq!(cpu(r#"{"cpu":"2"}"#, r#"{"cpu":"1"}"#, infeasible), 2000);
}

#[test]
fn without_actual_resources_in_the_status_the_specification_counts() {
    let it = pod(&format!(
        r#"{{"spec":{{"containers":[{}]}},"status":{{"containerStatuses":[
            {{"name":"a","allocatedResources":{{"cpu":"9"}}}}]}}}}"#,
        container("a", r#"{"cpu":"3"}"#)
    ));
    assert_eq!(PodResources::of(&it).requests.milli_cpu, 3000);
    // A new pod's status is not looked at.
    let it = resized(r#"{"cpu":"9"}"#, r#"{"cpu":"9"}"#, "");
    assert_eq!(pod_requests(&it, &PodRequestOptions::default()), list(r#"{"cpu":"3"}"#));
}

#[test]
fn the_status_of_a_sidecar_counts_but_not_that_of_another_init_container() {
    let spec = |init: &str| {
        pod(&format!(
            r#"{{"spec":{{"initContainers":[{init}],"containers":[{}]}},
                "status":{{"initContainerStatuses":[{{"name":"i","resources":{{"requests":{{"cpu":"7"}}}}}}]}}}}"#,
            container("a", r#"{"cpu":"1"}"#)
        ))
    };
    let of = |init: &str| PodResources::of(&spec(init)).requests.milli_cpu;
    assert_eq!(of(&sidecar("i", r#"{"cpu":"2"}"#)), 8000);
    assert_eq!(of(&container("i", r#"{"cpu":"2"}"#)), 2000);
}

#[test]
fn pod_level_requests_being_resized_count_with_the_most_too() {
    let of = |condition: &str| {
        let it = pod(&format!(
            r#"{{"spec":{{"containers":[{}],"resources":{{"requests":{{"cpu":"3","memory":"1Gi"}}}}}},
                "status":{{"conditions":[{condition}],"allocatedResources":{{"cpu":"2"}},
                           "resources":{{"requests":{{"cpu":"1"}}}}}}}}"#,
            container("a", r#"{"cpu":"1"}"#)
        ));
        let requests = PodResources::of(&it).requests;
        (requests.milli_cpu, requests.memory)
    };
    assert_eq!(of(""), (3000, 1 << 30));
    // As upstream, what the node has told nothing of is then nothing.
    assert_eq!(of(r#"{"type":"PodResizePending","reason":"Infeasible"}"#), (2000, 0));
}

#[test]
fn containers_without_requests_count_with_defaults_in_the_non_zero_amounts() {
    let non_zero = |spec: &str| {
        let it = PodResources::of(&pod(&format!(r#"{{"spec":{spec}}}"#)));
        (it.requests.milli_cpu, it.non_zero.milli_cpu, it.non_zero.memory >> 20)
    };
    let none = container("a", "{}");
    let both = container("b", r#"{"cpu":"1","memory":"64Mi"}"#);
    let zero = container("c", r#"{"cpu":"0","memory":"0"}"#);
    assert_eq!(non_zero(&format!(r#"{{"containers":[{none},{both}]}}"#)), (1000, 1100, 264));
    assert_eq!(non_zero(&format!(r#"{{"containers":[{zero}]}}"#)), (0, 0, 0));
    // An init container gets the defaults too: max(100m, 50m), max(200Mi, 64Mi).
    let small = container("d", r#"{"cpu":"50m","memory":"64Mi"}"#);
    let init = format!(r#"{{"initContainers":[{none}],"containers":[{small}]}}"#);
    assert_eq!(non_zero(&init), (50, 100, 200));
    // With pod-level requests only what nobody asks for gets a default.
    let level = format!(
        r#"{{"containers":[{none}],"resources":{{"requests":{{"cpu":"2"}}}},"overhead":{{"cpu":"1"}}}}"#
    );
    assert_eq!(non_zero(&level), (3000, 3000, 200));
}

#[test]
fn amounts_of_several_containers_are_exact_before_they_are_cut() {
    let half = container("a", r#"{"cpu":"0.5m"}"#);
    let spec = format!(r#"{{"containers":[{half},{half}]}}"#);
    assert_eq!(asked(&spec), list(r#"{"cpu":"1m"}"#));
    let huge = container("a", r#"{"memory":"9223372036854775807"}"#);
    let it = pod(&format!(r#"{{"spec":{{"containers":[{huge},{huge}]}}}}"#));
    assert_eq!(PodResources::of(&it).requests.memory, i128::from(i64::MAX));
}

#[test]
fn defaults_can_be_asked_for_whatever_the_pod_level_says() {
    let options = PodRequestOptions { skip_pod_level: true, ..PodRequestOptions::on_node() };
    let options = options.with_non_zero_defaults();
    let it = pod(r#"{"spec":{"containers":[{"name":"a"}],"resources":{"requests":{"cpu":"9"}}}}"#);
    assert_eq!(pod_requests(&it, &options), list(r#"{"cpu":"100m","memory":"200Mi"}"#));
}
