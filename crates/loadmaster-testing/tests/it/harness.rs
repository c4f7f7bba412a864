//! The harness, with plugins of the course.

use loadmaster_framework::Point;
use loadmaster_plugins::academy::{cache_locality::CacheLocality, concentrate::Concentrate};
use loadmaster_testing::{
    Harness,
    builders::{NodeBuilder, PodBuilder, node, pod},
};
use serde_json::json;

fn nodes() -> [NodeBuilder; 3] {
    ["n1", "n2", "n3"].map(node)
}

fn web(name: &str) -> PodBuilder {
    pod(name).label("app", "web").label("team", "x")
}

#[test]
fn a_placement_shows_each_nodes_verdict_and_points() {
    let placement = Harness::new()
        .plugin::<CacheLocality>()
        .plugin::<Concentrate>()
        .weight("Concentrate", 10)
        .nodes(nodes())
        .nodes([node("n3").label("cache/drained", "true")])
        .pods([web("a").node("n2")])
        .place(web("p"));
    assert_eq!(
        placement.to_string(),
        "n1: 0 CacheLocality=0 Concentrate=0\n\
         n2 <-: 1000 CacheLocality=0 Concentrate=1000\n\
         n3: UnschedulableAndUnresolvable[CacheLocality] [\"node is draining its cache\"]\n"
    );
    assert_eq!((placement.node(), placement.total("n2")), (Some("n2"), Some(1000)));
    assert_eq!((placement.total("n3"), placement.message()), (None, None));
}

#[test]
fn a_pod_that_fits_nowhere_is_told_why() {
    let rejecting = json!({"rejectEverything": true});
    let placement =
        Harness::new().plugin_with::<Concentrate>(&rejecting).nodes(nodes()).place(web("p"));
    let reason = "Concentrate: every node is refused (rejectEverything is set)";
    assert_eq!(placement.node(), None);
    assert_eq!(placement.message(), Some(format!("0/3 nodes are available: 3 {reason}.")));
    assert_eq!(placement.reasons("n2"), [reason]);
}

#[test]
fn a_plugin_can_be_enabled_at_some_of_its_points() {
    let placement = Harness::new()
        .plugin_with::<Concentrate>(&json!({"labelKey": "team", "rejectEverything": true}))
        .only_at("Concentrate", &[Point::Score])
        .nodes(nodes())
        .pods([web("a").node("n3")])
        .place(web("p"));
    assert_eq!(placement.scores("Concentrate"), [("n1", 0), ("n2", 0), ("n3", 100)]);
}

#[test]
fn scheduled_pods_are_there_for_those_that_follow() {
    let mut harness = Harness::new().plugin::<Concentrate>().nodes(nodes());
    let first = harness.schedule(web("a"));
    let home = first.node().unwrap().to_owned();
    assert_eq!(harness.place(web("b")).score("Concentrate", &home), 100);
    let second = harness.schedule(web("b"));
    assert_eq!(second.node(), Some(&*home));
}
