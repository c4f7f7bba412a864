use crate::api::DeleteOptions;
use crate::controllers::testing::World;
use crate::resources::Collection;

#[test]
fn pods_of_a_node_that_stays_away_are_removed() {
    let mut world = World::new(2);
    world.pod_on("lost", "n1", |_| {});
    world.pod_on("kept", "n2", |_| {});
    world.settle();
    world.delete(Collection::NODES, "n1", &DeleteOptions::default());
    world.pass(39);
    assert_eq!(world.pods(), ["kept", "lost"]);
    world.pass(2);
    assert_eq!(world.pods(), ["kept"]);
}

#[test]
fn a_node_that_comes_back_finds_its_pods() {
    let mut world = World::new(1);
    world.pod_on("lost", "n1", |_| {});
    world.settle();
    world.delete(Collection::NODES, "n1", &DeleteOptions::default());
    world.pass(20);
    let again = crate::kubelet::node("n1", None, &crate::kubelet::NodeTemplate::default());
    world.make(Collection::NODES, again);
    world.pass(60);
    assert_eq!(world.pods(), ["lost"]);
}
