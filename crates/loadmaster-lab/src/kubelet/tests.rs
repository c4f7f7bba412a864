use serde_json::{Value, json};

use crate::api::DeleteOptions;
use crate::controllers::testing::World;
use crate::resources::Collection;
use crate::store::is_being_deleted;
use crate::values::{condition, condition_is_true, list};

const PODS: Collection = Collection::PODS;

fn conditions(pod: &Value) -> Vec<&str> {
    list(pod, "/status/conditions").iter().map(|it| it["type"].as_str().unwrap()).collect()
}

#[test]
fn a_node_reports_what_it_is_and_keeps_its_lease() {
    let mut world = World::new(1);
    let node = world.get(Collection::NODES, "n1").unwrap();
    assert_eq!(node["status"]["allocatable"]["cpu"], "4");
    assert_eq!(node["metadata"]["labels"]["kubernetes.io/hostname"], "n1");
    assert_eq!(conditions(&node), ["MemoryPressure", "DiskPressure", "PIDPressure", "Ready"]);
    assert_eq!(condition(&node, "Ready").unwrap()["message"], "kubelet is posting ready status");
    let renewed = |world: &World| {
        let lease = world.api.store().get(Collection::LEASES, "kube-node-lease", "n1").unwrap();
        lease["spec"]["renewTime"].as_str().unwrap().to_owned()
    };
    let first = renewed(&world);
    world.pass(60);
    assert!(renewed(&world) > first);
    assert!(condition_is_true(&world.get(Collection::NODES, "n1").unwrap(), "Ready"));
}

#[test]
fn a_node_made_by_hand_becomes_ready_too() {
    let mut world = World::new(0);
    world.make(
        Collection::NODES,
        json!({"metadata": {"name": "mine"},
        "status": {"capacity": {"cpu": "2", "memory": "1Gi", "pods": "5"}}}),
    );
    world.settle();
    let node = world.get(Collection::NODES, "mine").unwrap();
    assert!(condition_is_true(&node, "Ready"));
    assert_eq!(node["status"]["capacity"]["cpu"], "2");
    assert!(list(&node, "/spec/taints").is_empty());
}

#[test]
fn a_bound_pod_runs_and_is_ready() {
    let mut world = World::new(1);
    world.pod_on("p", "n1", |it| {
        it["spec"]["initContainers"] = json!([{"name": "i", "image": "i:1"},
            {"name": "s", "image": "i:1", "restartPolicy": "Always"}]);
    });
    world.settle();
    let pod = world.get(PODS, "p").unwrap();
    assert_eq!(pod["status"]["phase"], "Running");
    assert_eq!(
        conditions(&pod),
        ["PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled"]
    );
    assert_eq!(pod["status"]["podIPs"][0]["ip"], pod["status"]["podIP"]);
    assert_eq!(pod["status"]["podIP"], "10.128.0.2");
    let status = &pod["status"]["containerStatuses"][0];
    assert!(status["state"]["running"]["startedAt"].is_string());
    assert_eq!((&status["ready"], &status["started"]), (&json!(true), &json!(true)));
    let init = list(&pod, "/status/initContainerStatuses");
    assert_eq!(init[0]["state"]["terminated"]["reason"], "Completed");
    assert!(init[1]["state"]["running"].is_object());
}

#[test]
fn pods_get_different_addresses_and_those_on_the_host_network_the_host_s() {
    let mut world = World::new(1);
    world.pod_on("a", "n1", |_| {});
    world.pod_on("b", "n1", |_| {});
    world.pod_on("host", "n1", |it| it["spec"]["hostNetwork"] = json!(true));
    world.settle();
    let ip = |name: &str| world.get(PODS, name).unwrap()["status"]["podIP"].clone();
    assert_ne!(ip("a"), ip("b"));
    assert_eq!(ip("host"), world.get(PODS, "host").unwrap()["status"]["hostIP"]);
}

#[test]
fn a_deleted_pod_goes_at_once_or_after_its_pre_stop_sleep() {
    let mut world = World::new(1);
    world.pod_on("quick", "n1", |_| {});
    world.pod_on("slow", "n1", |it| {
        it["spec"]["containers"][0]["lifecycle"] = json!({"preStop": {"sleep": {"seconds": 10}}});
    });
    world.settle();
    world.delete(PODS, "quick", &DeleteOptions::default());
    world.delete(PODS, "slow", &DeleteOptions::default());
    world.settle();
    assert_eq!(world.pods(), ["slow"]);
    assert!(is_being_deleted(&world.get(PODS, "slow").unwrap()));
    world.pass(13);
    assert!(world.pods().is_empty());
}

#[test]
fn readiness_gates_hold_ready_back() {
    let mut world = World::new(1);
    world.pod_on("p", "n1", |it| {
        it["spec"]["readinessGates"] = json!([{"conditionType": "example.com/ok"}]);
    });
    world.settle();
    let ready = |world: &World| condition_is_true(&world.get(PODS, "p").unwrap(), "Ready");
    assert!(!ready(&world));
    world.edit(PODS, "p", |it| {
        let conditions = it["status"]["conditions"].as_array_mut().unwrap();
        conditions.push(json!({"type": "example.com/ok", "status": "True"}));
    });
    world.settle();
    assert!(ready(&world));
}

#[test]
fn a_changed_image_restarts_the_container() {
    let mut world = World::new(1);
    world.pod_on("p", "n1", |_| {});
    world.settle();
    world.edit(PODS, "p", |it| it["spec"]["containers"][0]["image"] = json!("i:2"));
    world.settle();
    let status = &world.get(PODS, "p").unwrap()["status"]["containerStatuses"][0];
    assert_eq!((&status["image"], &status["restartCount"]), (&json!("i:2"), &json!(1)));
}

#[test]
fn a_pod_starts_when_its_claims_are_bound() {
    let mut world = World::new(1);
    world.pod_on("p", "n1", |it| {
        it["spec"]["volumes"] =
            json!([{"name": "d", "persistentVolumeClaim": {"claimName": "data"}}]);
    });
    world.settle();
    let pod = world.get(PODS, "p").unwrap();
    assert_eq!(pod["status"]["phase"], "Pending");
    let waiting = &pod["status"]["containerStatuses"][0]["state"]["waiting"];
    assert_eq!(waiting["reason"], "ContainerCreating");
    world.make(
        Collection::STORAGE_CLASSES,
        json!({"metadata": {"name": "c"}, "provisioner": "x/y"}),
    );
    world.make(
        Collection::PERSISTENT_VOLUME_CLAIMS,
        json!({"metadata": {"name": "data"}, "spec": {"storageClassName": "c",
            "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}),
    );
    world.settle();
    assert_eq!(world.get(PODS, "p").unwrap()["status"]["phase"], "Running");
}

#[test]
fn a_pod_without_room_is_rejected_and_one_after_the_next_deletion_is_not() {
    let mut world = World::new(1);
    let asking = |cpu: &str| {
        let cpu = cpu.to_owned();
        move |it: &mut Value| {
            it["spec"]["containers"][0]["resources"] = json!({"requests": {"cpu": cpu}});
        }
    };
    world.pod_on("first", "n1", asking("3"));
    world.settle();
    world.pod_on("second", "n1", asking("1500m"));
    world.settle();
    let status = world.get(PODS, "second").unwrap()["status"].clone();
    assert_eq!((&status["phase"], &status["reason"]), (&json!("Failed"), &json!("OutOfcpu")));
    let message =
        "Node didn't have enough resource: cpu, requested: 1500, used: 3000, capacity: 4000";
    assert_eq!(status["message"], format!("Pod was rejected: {message}"));
    assert_eq!(world.told("OutOfcpu"), [message]);
    world.delete(PODS, "first", &DeleteOptions::default());
    world.settle();
    world.pod_on("third", "n1", asking("4"));
    world.settle();
    assert_eq!(world.get(PODS, "third").unwrap()["status"]["phase"], "Running");
}

#[test]
fn a_node_takes_as_many_pods_as_it_says() {
    let mut world = World::new(1);
    world.edit(Collection::NODES, "n1", |it| it["status"]["allocatable"]["pods"] = json!("2"));
    for name in ["a", "b", "c"] {
        world.pod_on(name, "n1", |_| {});
        world.settle();
    }
    let reason = |name: &str| world.get(PODS, name).unwrap()["status"]["reason"].clone();
    assert_eq!((reason("b"), reason("c")), (json!(null), json!("OutOfpods")));
}
