use serde_json::{Value, json};

use crate::controllers::testing::World;
use crate::resources::Collection;
use crate::store::{Object, text};
use crate::values::{condition, number};

use super::share;

const DEPLOYMENTS: Collection = Collection::DEPLOYMENTS;
const SETS: Collection = Collection::REPLICA_SETS;

fn web(world: &World) -> Object {
    world.get(DEPLOYMENTS, "web").unwrap()
}

fn progress(world: &World) -> String {
    let web = web(world);
    condition(&web, "Progressing").unwrap()["reason"].as_str().unwrap().to_owned()
}

fn set_image(world: &World, image: &str) {
    world.edit(DEPLOYMENTS, "web", |it| {
        it["spec"]["template"]["spec"]["containers"][0]["image"] = json!(image);
    });
}

/// Replicas by image, oldest revision first.
fn sets(world: &World) -> Vec<(String, i64)> {
    let mut sets = world.list(SETS);
    sets.sort_by_key(|it| super::sets::revision_of(it));
    let image = |it: &Value| it["spec"]["template"]["spec"]["containers"][0]["image"].clone();
    sets.iter()
        .map(|it| (image(it).as_str().unwrap().to_owned(), number(it, "/spec/replicas")))
        .collect()
}

#[test]
fn a_new_deployment_makes_a_set_named_by_its_template() {
    let mut world = World::new(1);
    world.deployment(2, |_| {});
    world.settle();
    let set = world.list(SETS).remove(0);
    let hash = set["metadata"]["labels"]["pod-template-hash"].as_str().unwrap().to_owned();
    assert_eq!(text(&set, "name"), format!("web-{hash}"));
    assert_eq!(set["metadata"]["labels"], json!({"app": "web", "pod-template-hash": hash}));
    assert_eq!(set["spec"]["selector"], json!({"matchLabels": set["metadata"]["labels"]}));
    assert_eq!(set["spec"]["template"]["metadata"]["labels"], set["metadata"]["labels"]);
    assert_eq!(
        set["metadata"]["annotations"],
        json!({"deployment.kubernetes.io/desired-replicas": "2",
            "deployment.kubernetes.io/max-replicas": "3",
            "deployment.kubernetes.io/revision": "1"})
    );
    let deployment = web(&world);
    assert_eq!(
        deployment["metadata"]["annotations"],
        json!({"deployment.kubernetes.io/revision": "1"})
    );
    assert_eq!(
        world.told("ScalingReplicaSet"),
        [format!("Scaled up replica set web-{hash} from 0 to 2")]
    );
    let available = condition(&deployment, "Available").unwrap();
    assert_eq!(
        (&available["status"], &available["reason"], &available["message"]),
        (
            &json!("False"),
            &json!("MinimumReplicasUnavailable"),
            &json!("Deployment does not have minimum availability.")
        )
    );
    assert_eq!(progress(&world), "ReplicaSetUpdated");
}

#[test]
fn a_deployment_whose_pods_run_is_complete() {
    let mut world = World::new(1);
    world.deployment(2, |_| {});
    world.run();
    let mut status = web(&world)["status"].clone();
    let conditions = status.as_object_mut().unwrap().remove("conditions").unwrap();
    assert_eq!(
        status,
        json!({"observedGeneration": 1, "replicas": 2, "updatedReplicas": 2, "readyReplicas": 2,
            "availableReplicas": 2, "terminatingReplicas": 0})
    );
    let name = text(&world.list(SETS)[0], "name").to_owned();
    let texts: Vec<(&Value, &Value)> =
        conditions.as_array().unwrap().iter().map(|it| (&it["reason"], &it["message"])).collect();
    assert_eq!(
        texts,
        [
            (&json!("MinimumReplicasAvailable"), &json!("Deployment has minimum availability.")),
            (
                &json!("NewReplicaSetAvailable"),
                &json!(format!("ReplicaSet \"{name}\" has successfully progressed."))
            )
        ]
    );
}

#[test]
fn scaling_changes_the_set() {
    let mut world = World::new(1);
    world.deployment(2, |_| {});
    world.run();
    world.edit(DEPLOYMENTS, "web", |it| it["spec"]["replicas"] = json!(5));
    world.run();
    assert_eq!(sets(&world), [("i:1".to_owned(), 5)]);
    assert_eq!(world.pods().len(), 5);
    assert_eq!(web(&world)["status"]["availableReplicas"], 5);
    world.edit(DEPLOYMENTS, "web", |it| it["spec"]["replicas"] = json!(0));
    world.run();
    assert!(world.pods().is_empty());
}

#[test]
fn an_update_rolls_within_surge_and_unavailability() {
    let mut world = World::new(1);
    world.deployment(4, |_| {});
    world.run();
    set_image(&world, "i:2");
    world.settle();
    // One above and one below four: 25 % of each, while no new pod is available.
    assert_eq!(sets(&world), [("i:1".to_owned(), 3), ("i:2".to_owned(), 2)]);
    world.run();
    assert_eq!(sets(&world), [("i:1".to_owned(), 0), ("i:2".to_owned(), 4)]);
    assert_eq!(web(&world)["metadata"]["annotations"]["deployment.kubernetes.io/revision"], "2");
    assert_eq!(progress(&world), "NewReplicaSetAvailable");
    assert_eq!(world.pods().len(), 4);
}

#[test]
fn going_back_reuses_the_old_set_under_a_new_revision() {
    let mut world = World::new(1);
    world.deployment(1, |_| {});
    world.run();
    set_image(&world, "i:2");
    world.run();
    set_image(&world, "i:1");
    world.run();
    assert_eq!(sets(&world), [("i:2".to_owned(), 0), ("i:1".to_owned(), 1)]);
    let newest = world.list(SETS).into_iter().find(|it| number(it, "/spec/replicas") == 1).unwrap();
    let annotations = &newest["metadata"]["annotations"];
    assert_eq!(annotations["deployment.kubernetes.io/revision"], "3");
    assert_eq!(annotations["deployment.kubernetes.io/revision-history"], "1");
}

#[test]
fn recreate_waits_for_the_old_pods_to_go() {
    let mut world = World::new(1);
    world.deployment(2, |it| it["spec"]["strategy"] = json!({"type": "Recreate"}));
    world.run();
    // A kubelet that does not answer keeps the old pods.
    world.edit(Collection::NODES, "n1", |it| {
        it["metadata"]["annotations"][crate::kubelet::STOPPED] = json!("stopped");
    });
    set_image(&world, "i:2");
    world.settle();
    assert_eq!(sets(&world), [("i:1".to_owned(), 0)]);
    world.edit(Collection::NODES, "n1", |it| it["metadata"]["annotations"] = json!({}));
    world.run();
    assert_eq!(sets(&world), [("i:1".to_owned(), 0), ("i:2".to_owned(), 2)]);
}

#[test]
fn scaling_in_the_middle_of_a_rollout_is_shared_by_size() {
    let mut world = World::new(1);
    world.deployment(10, |it| {
        it["spec"]["strategy"] = json!({"type": "RollingUpdate",
            "rollingUpdate": {"maxSurge": 3, "maxUnavailable": 2}});
    });
    world.run();
    // The new pods find no node: eight old ones stay, five new ones wait.
    set_image(&world, "i:2");
    world.settle();
    assert_eq!(sets(&world), [("i:1".to_owned(), 8), ("i:2".to_owned(), 5)]);
    // The example of upstream's documentation: of five more, three go to the old set and two to
    // the new one.
    world.edit(DEPLOYMENTS, "web", |it| it["spec"]["replicas"] = json!(15));
    world.settle();
    assert_eq!(sets(&world), [("i:1".to_owned(), 11), ("i:2".to_owned(), 7)]);
}

#[test]
fn a_paused_deployment_scales_but_does_not_roll() {
    let mut world = World::new(1);
    world.deployment(1, |_| {});
    world.run();
    world.edit(DEPLOYMENTS, "web", |it| it["spec"]["paused"] = json!(true));
    set_image(&world, "i:2");
    world.edit(DEPLOYMENTS, "web", |it| it["spec"]["replicas"] = json!(2));
    world.run();
    assert_eq!(sets(&world), [("i:1".to_owned(), 2)]);
    assert_eq!(progress(&world), "DeploymentPaused");
    world.edit(DEPLOYMENTS, "web", |it| {
        it["spec"].as_object_mut().unwrap().remove("paused");
    });
    world.run();
    assert_eq!(sets(&world), [("i:1".to_owned(), 0), ("i:2".to_owned(), 2)]);
}

#[test]
fn only_so_many_old_sets_are_kept() {
    let mut world = World::new(1);
    world.deployment(1, |it| it["spec"]["revisionHistoryLimit"] = json!(1));
    for image in ["i:1", "i:2", "i:3", "i:4"] {
        set_image(&world, image);
        world.run();
    }
    assert_eq!(sets(&world), [("i:3".to_owned(), 0), ("i:4".to_owned(), 1)]);
}

#[test]
fn a_rollout_that_does_not_move_exceeds_its_deadline() {
    let mut world = World::new(0);
    world.deployment(1, |it| it["spec"]["progressDeadlineSeconds"] = json!(60));
    world.settle();
    world.pass(59);
    assert_eq!(progress(&world), "ReplicaSetUpdated");
    world.pass(2);
    assert_eq!(progress(&world), "ProgressDeadlineExceeded");
}

#[test]
fn percentages_round_up_for_surge_and_down_for_unavailability() {
    assert_eq!((share(&json!("25%"), 10, true), share(&json!("25%"), 10, false)), (3, 2));
    assert_eq!((share(&json!("100%"), 3, true), share(&json!(2), 10, false)), (3, 2));
}
