//! Faults that users of kube-scheduler have reported, from a configuration to a placement.

use loadmaster_framework::{
    Candidates, Cycle, CycleState, FieldError, Filter, Gates, Hooks, NodeInfo, Outcome, Plugin,
    PreFilter, Status,
};
use loadmaster_testing::{
    Harness,
    builders::{NodeBuilder, near, node, pod, pod_disruption_budget, selector},
};

const CAPACITY: [(&str, &str); 3] = [("cpu", "4"), ("memory", "8Gi"), ("pods", "110")];

fn nodes() -> [NodeBuilder; 2] {
    [
        node("n1").capacity(CAPACITY).label("zone", "a"),
        node("n2").capacity(CAPACITY).label("zone", "b"),
    ]
}

/// A configuration of one profile with these `plugins`.
fn config(plugins: &str) -> Harness {
    let yaml = format!(
        "apiVersion: kubescheduler.config.k8s.io/v1\n\
         kind: KubeSchedulerConfiguration\n\
         profiles:\n\
         - schedulerName: default-scheduler\n  \
           plugins: {plugins}\n"
    );
    Harness::of_config(&yaml, loadmaster_plugins::registry()).nodes(nodes())
}

/// kubernetes#122066: the plugin was made twice, and every pod failed with a score of 300.
#[test]
fn a_plugin_of_multi_point_that_the_score_section_overrides_is_one_plugin_with_that_weight() {
    let harness = config(
        "{multiPoint: {disabled: [{name: '*'}], enabled: [{name: PrioritySort}, \
         {name: DefaultBinder}, {name: PodTopologySpread, weight: 2}, {name: TaintToleration}]}, \
         score: {enabled: [{name: PodTopologySpread, weight: 5}, {name: TaintToleration, weight: 7}]}}",
    );
    let placement = harness.place(pod("p").label("app", "web").preferred_spread(
        1,
        "zone",
        selector([("app", "web")]),
    ));
    let weighted = [("n1", 500), ("n2", 500)];
    assert_eq!(placement.scores("PodTopologySpread"), weighted, "{placement}");
    assert_eq!(placement.scores("TaintToleration"), [("n1", 700), ("n2", 700)]);
    assert_eq!(placement.trial().points[0].plugins.len(), 2);
}

/// kubernetes#121630: a PreScore that skips, with every Score disabled, brought the process down.
#[test]
fn all_scores_can_be_disabled_while_pre_score_stays() {
    let placement = config(
        "{multiPoint: {disabled: [{name: '*'}], enabled: [{name: PrioritySort}, \
         {name: DefaultBinder}, {name: NodeAffinity}]}, score: {disabled: [{name: '*'}]}}",
    )
    .place(pod("p"));
    assert!(placement.node().is_some(), "{placement}");
    assert_eq!(placement.message(), None);
}

/// Refuses the pod in PreFilter, and after it a plugin that keeps state there.
struct RefusesFirst;

impl Plugin for RefusesFirst {
    const NAME: &'static str = "RefusesFirst";
    type Args = ();

    fn build((): (), _: &Gates) -> Result<Hooks, FieldError> {
        Ok(Hooks::of(Self).pre_filter().into())
    }
}

impl PreFilter for RefusesFirst {
    fn pre_filter(&self, _: Cycle<'_>, _: &mut CycleState) -> Outcome<Candidates> {
        Err(Status::unschedulable("not now"))
    }
}

/// Wants a node for itself, and keeps state in PreFilter that its Filter cannot do without.
struct Remembers;

#[derive(Clone, Debug)]
struct Remembered;

impl Plugin for Remembers {
    const NAME: &'static str = "Remembers";
    type Args = ();

    fn build((): (), _: &Gates) -> Result<Hooks, FieldError> {
        Ok(Hooks::of(Self).pre_filter().filter().into())
    }
}

impl PreFilter for Remembers {
    fn pre_filter(&self, _: Cycle<'_>, state: &mut CycleState) -> Outcome<Candidates> {
        state.put(Remembered);
        Ok(Candidates::All)
    }
}

impl Filter for Remembers {
    fn filter(&self, _: Cycle<'_>, state: &CycleState, node: &NodeInfo) -> Outcome {
        state.get::<Remembered>()?;
        if node.pods().is_empty() { Ok(()) } else { Err(Status::unschedulable("node is taken")) }
    }
}

/// kubernetes#119770: the plugins behind one that is Unschedulable were not run, and preemption
/// worked on state that was not there.
#[test]
fn pre_filters_behind_a_refusal_run_so_that_preemption_has_their_state() {
    use loadmaster_plugins::in_tree::default_preemption::DefaultPreemption;
    let placement = Harness::new()
        .plugin::<RefusesFirst>()
        .plugin::<Remembers>()
        .plugin::<DefaultPreemption>()
        .nodes(nodes())
        .pods([pod("low").node("n1").started(1)])
        .place(pod("p").priority(10));
    assert_eq!(placement.victims(), ["default/low"], "{placement}");
}

/// kubernetes#128307: the node whose victims a budget guards was taken.
#[test]
fn preemption_takes_the_node_where_it_does_least_harm() {
    use loadmaster_plugins::in_tree::{
        default_preemption::DefaultPreemption, node_resources_fit::NodeResourcesFit,
    };
    let harness = || {
        Harness::new()
            .plugin::<NodeResourcesFit>()
            .plugin::<DefaultPreemption>()
            .nodes(nodes())
            .object(pod_disruption_budget("guard", selector([("app", "db")]), 0))
    };
    let low = |name: &str, node: &str| pod(name).request("cpu", "4").node(node).started(1);
    let high = || pod("p").request("cpu", "4").priority(100);
    let guarded = harness()
        .pods([low("a", "n1").label("app", "db"), low("b", "n2").label("app", "web")])
        .place(high());
    assert_eq!(guarded.victims(), ["default/b"]);
    let important =
        harness().pods([low("a", "n1").priority(9), low("b", "n2").priority(8)]).place(high());
    assert_eq!(important.victims(), ["default/b"]);
}

/// kubernetes#82796: a region with two nodes, on one of them a pod with affinity; the incoming pod
/// has none.
#[test]
fn scores_by_affinity_of_others_reach_nodes_without_pods() {
    use loadmaster_plugins::in_tree::inter_pod_affinity::InterPodAffinity;
    let web = || near("region", selector([("app", "web")]));
    let region = |name: &str, region: &str| node(name).label("region", region);
    let placement = Harness::new()
        .plugin::<InterPodAffinity>()
        .nodes([region("n1", "r1"), region("n2", "r1"), region("n3", "r2")])
        .pods([pod("a").preferred_pod_affinity(10, web()).node("n1")])
        .place(pod("p").label("app", "web"));
    assert_eq!(placement.scores("InterPodAffinity"), [("n1", 100), ("n2", 100), ("n3", 0)]);
}
