use std::collections::BTreeMap;

use loadmaster_framework::{
    ActionType, Candidates, CycleState, NodeInfo, Object, PodInfo,
    api::{LabelSelector, Pod, PodAffinityTerm, Text},
};
use loadmaster_testing::builders::{
    NodeBuilder, PodBuilder, expression, namespace, near, node, pod, selector,
};
use proptest::prelude::*;

use super::{InterPodAffinity, filtering::Required};
use crate::in_tree::trial::Trial;

const ZONE: &str = "topology.kubernetes.io/zone";
const HOST: &str = "kubernetes.io/hostname";

fn trial(nodes: impl IntoIterator<Item = NodeInfo>) -> Trial {
    Trial::of::<InterPodAffinity>(nodes)
}

fn app(name: &str) -> LabelSelector {
    selector([("app", name)])
}

/// A pod labelled `app=name` and called so.
fn of_app(name: &str) -> PodBuilder {
    pod(name).label("app", name)
}

/// A node in `zone`, with its host name.
fn zoned(name: &str, zone: &str) -> NodeBuilder {
    node(name).label(ZONE, zone).label(HOST, name)
}

fn empty(name: &str, zone: &str) -> NodeInfo {
    zoned(name, zone).info::<Pod>([])
}

fn holding(name: &str, zone: &str, pods: impl IntoIterator<Item = PodBuilder>) -> NodeInfo {
    zoned(name, zone).info(pods.into_iter().map(PodBuilder::build))
}

/// The term, in namespaces that `namespaces` selects.
fn in_namespaces(mut term: PodAffinityTerm, namespaces: LabelSelector) -> PodAffinityTerm {
    term.namespace_selector = Some(namespaces);
    term
}

const NOT_NEAR: &str = "Unresolvable: node(s) didn't match pod affinity rules";
const TOO_NEAR: &str = "Unschedulable: node(s) didn't match pod anti-affinity rules";
const NOT_WANTED: &str = "Unschedulable: node(s) didn't satisfy existing pods anti-affinity rules";

fn verdicts(trial: &Trial, pod: &PodInfo) -> Vec<String> {
    trial.verdicts(pod).into_iter().map(|(_, it)| it).collect()
}

#[test]
fn the_page_example_holds() {
    let trial = trial([holding("a", "z1", [of_app("cache")]), empty("b", "z1"), empty("c", "z2")]);
    let new = pod("new")
        .pod_affinity(near(ZONE, app("cache")))
        .pod_anti_affinity(near(HOST, app("cache")));
    assert_eq!(verdicts(&trial, &new.info()), [TOO_NEAR, "", NOT_NEAR]);
}

#[test]
fn a_placed_pods_anti_affinity_keeps_the_pod_away() {
    let shy = of_app("shy").pod_anti_affinity(near(ZONE, app("web")));
    let trial = trial([holding("a", "z1", [shy]), empty("b", "z1"), empty("c", "z2")]);
    assert_eq!(verdicts(&trial, &of_app("web").info()), [NOT_WANTED, NOT_WANTED, ""]);
    assert_eq!(verdicts(&trial, &of_app("web").namespace("other").info()), ["", "", ""]);
    assert_eq!(trial.pre_filter(&of_app("db").info()).0, Ok(Candidates::Skip));
}

#[test]
fn a_node_without_the_topology_has_nothing_near() {
    let trial = trial([
        holding("a", "z1", [of_app("cache")]),
        node("bare").info([of_app("cache").build()]),
    ]);
    let wants = pod("new").pod_affinity(near(ZONE, app("cache"))).info();
    assert_eq!(verdicts(&trial, &wants), ["", NOT_NEAR]);
    let avoids = pod("new").pod_anti_affinity(near(ZONE, app("cache"))).info();
    assert_eq!(verdicts(&trial, &avoids), [TOO_NEAR, ""]);
}

/// k/k#62567.
#[test]
fn affinity_terms_must_find_one_pod_and_anti_affinity_terms_stand_alone() {
    let both = || pod("both").label("app", "cache").label("tier", "hot");
    let trial = trial([
        holding("a", "z1", [of_app("cache"), pod("hot").label("tier", "hot")]),
        holding("b", "z2", [both()]),
        empty("c", "z3"),
    ]);
    let hot = || selector([("tier", "hot")]);
    let wants = pod("new").pod_affinity(near(ZONE, app("cache"))).pod_affinity(near(HOST, hot()));
    assert_eq!(verdicts(&trial, &wants.info()), [NOT_NEAR, "", NOT_NEAR]);
    let avoids = pod("new")
        .pod_anti_affinity(near(ZONE, app("cache")))
        .pod_anti_affinity(near(HOST, selector([("tier", "cold")])));
    assert_eq!(verdicts(&trial, &avoids.info()), [TOO_NEAR, TOO_NEAR, ""]);
}

/// k/k#62232.
#[test]
fn the_first_pod_of_a_group_goes_wherever_the_topology_is() {
    let first = pod("new")
        .label("app", "web")
        .label("tier", "front")
        .pod_affinity(near(ZONE, app("web")))
        .pod_affinity(near(HOST, selector([("tier", "front")])));
    let alone = trial([empty("a", "z1"), node("bare").info::<Pod>([])]);
    assert_eq!(verdicts(&alone, &first.clone().info()), ["", NOT_NEAR]);
    // As soon as there is one, the next must join it.
    let placed = first.clone().with(|it| it.metadata.name = "old".into());
    let joined = trial([holding("a", "z1", [placed]), empty("b", "z2")]);
    assert_eq!(verdicts(&joined, &first.clone().info()), ["", NOT_NEAR]);
    // A pod that is not of the group it wants has nowhere to go.
    let stranger = pod("new").label("app", "db").pod_affinity(near(ZONE, app("web")));
    assert_eq!(verdicts(&alone, &stranger.info()), [NOT_NEAR, NOT_NEAR]);
}

/// k/k#141526: both pods in `workload-a`, the term about every namespace but that.
#[test]
fn a_namespace_selector_is_asked_about_the_labels_of_the_namespace() {
    let name = "kubernetes.io/metadata.name";
    let elsewhere = || expression(name, "NotIn", ["workload-a"]);
    let term = || in_namespaces(near(ZONE, app("web")), elsewhere());
    let web = |space: &str| of_app("web").namespace(space.to_owned());
    let new = || web("workload-a").pod_anti_affinity(term());
    let with = |space: &str| {
        trial([holding("a", "z1", [web(space)])])
            .knowing(namespace("workload-a", [(name, "workload-a")]))
            .knowing(namespace("workload-b", [(name, "workload-b")]))
    };
    assert_eq!(verdicts(&with("workload-a"), &new().info()), [""]);
    assert_eq!(verdicts(&with("workload-b"), &new().info()), [TOO_NEAR]);
    // What is not known has no labels, for the pod's own terms and for those of others.
    assert_eq!(verdicts(&with("unknown"), &new().info()), [TOO_NEAR]);
    let mut listed = term();
    listed.namespaces = vec!["workload-a".into()];
    let new = web("workload-a").pod_anti_affinity(listed);
    assert_eq!(verdicts(&with("workload-a"), &new.info()), [TOO_NEAR]);
}

#[test]
fn a_namespace_selector_that_needs_a_label_takes_in_the_namespaces_that_have_it() {
    let cluster = || {
        trial([holding("a", "z1", [of_app("cache").namespace("blue")])])
            .knowing(namespace("blue", [("team", "blue")]))
            .knowing(namespace("default", [("team", "red")]))
    };
    let wants = |namespaces| {
        let term = in_namespaces(near(ZONE, app("cache")), namespaces);
        verdicts(&cluster(), &pod("new").pod_affinity(term).info())
    };
    assert_eq!(wants(selector([("team", "blue")])), [""]);
    assert_eq!(wants(selector([("team", "red")])), [NOT_NEAR]);
    assert_eq!(wants(LabelSelector::default()), [""], "an empty one is about all namespaces");
}

#[test]
fn a_placed_pods_namespace_selector_is_asked_about_the_pods_namespace() {
    let term = in_namespaces(near(ZONE, app("web")), selector([("team", "blue")]));
    let trial = trial([holding("a", "z1", [of_app("shy").pod_anti_affinity(term)])])
        .knowing(namespace("blue", [("team", "blue")]));
    assert_eq!(verdicts(&trial, &of_app("web").namespace("blue").info()), [NOT_WANTED]);
    assert_eq!(verdicts(&trial, &of_app("web").info()), [""]);
}

#[test]
fn a_term_that_cannot_be_understood_refuses_the_pod() {
    let trial = trial([empty("a", "z1")]);
    let wrong = pod("new").pod_affinity(near(ZONE, expression("app", "Near", ["web"])));
    let (outcome, _) = trial.pre_filter(&wrong.info());
    let status = outcome.unwrap_err();
    assert_eq!(status.code().as_str(), "UnschedulableAndUnresolvable");
    assert_eq!(
        status.message(),
        "parsing pod: requiredAffinityTerms: \"Near\" is not a valid label selector operator"
    );
}

#[test]
fn without_terms_on_either_side_filter_and_score_are_skipped() {
    let trial = trial([holding("a", "z1", [of_app("web")])]);
    assert_eq!(trial.pre_filter(&pod("new").info()).0, Ok(Candidates::Skip));
    assert_eq!(trial.scores(&pod("new").info()), None);
}

#[test]
fn preferences_add_up_by_topology_and_are_brought_to_a_hundred() {
    let trial = trial([
        holding("a", "z1", [of_app("cache"), of_app("noise")]),
        empty("b", "z1"),
        empty("c", "z2"),
    ]);
    let new = pod("new")
        .preferred_pod_affinity(60, near(ZONE, app("cache")))
        .preferred_pod_anti_affinity(25, near(HOST, app("noise")))
        .preferred_pod_anti_affinity(10, near(ZONE, app("noise")));
    // a 60-25-10, b 60-10, c 0.
    assert_eq!(trial.scores(&new.info()), Some(vec![50, 100, 0]));
}

#[test]
fn preferences_are_scaled_in_floats_and_cut_as_upstream_does() {
    let trial = trial([
        holding("a", "z1", [of_app("x")]),
        holding("b", "z2", [of_app("y")]),
        empty("c", "z3"),
    ]);
    let new = pod("new")
        .preferred_pod_affinity(29, near(ZONE, app("x")))
        .preferred_pod_affinity(50, near(ZONE, app("y")));
    // 100·(29/50) is 57.99… in binary floating point.
    assert_eq!(trial.scores(&new.info()), Some(vec![57, 100, 0]));
}

/// k/k#82796: the pod has no affinity, and in its region only one node's pod has.
#[test]
fn a_pod_without_terms_is_scored_by_those_of_placed_pods() {
    let fond = of_app("fond").preferred_pod_affinity(5, near(ZONE, app("web")));
    let trial = trial([
        holding("a", "z1", [fond, of_app("plain")]),
        holding("b", "z1", [of_app("other")]),
        empty("c", "z2"),
    ]);
    assert_eq!(trial.scores(&of_app("web").info()), Some(vec![100, 100, 0]));
}

fn with_weight(weight: i32, ignore: bool, nodes: Vec<NodeInfo>) -> Trial {
    let args = serde_json::json!({
        "hardPodAffinityWeight": weight, "ignorePreferredTermsOfExistingPods": ignore,
    });
    Trial::with_args::<InterPodAffinity>(&args, nodes)
}

#[test]
fn a_placed_pods_required_affinity_counts_the_configured_weight() {
    let nodes = || {
        let needy = of_app("needy").pod_affinity(near(ZONE, app("web")));
        let fond = of_app("fond").preferred_pod_affinity(40, near(ZONE, app("web")));
        vec![holding("a", "z1", [needy]), holding("b", "z2", [fond]), empty("c", "z3")]
    };
    let scores = |weight| with_weight(weight, false, nodes()).scores(&of_app("web").info());
    assert_eq!(scores(80), Some(vec![100, 50, 0]));
    assert_eq!(scores(0), Some(vec![0, 100, 0]));
}

#[test]
fn preferred_terms_of_placed_pods_can_be_left_out() {
    let nodes = || {
        let fond = of_app("fond").preferred_pod_affinity(40, near(ZONE, app("web")));
        vec![holding("a", "z1", [fond]), holding("b", "z2", [of_app("cache")])]
    };
    let trial = with_weight(1, true, nodes());
    assert_eq!(trial.scores(&of_app("web").info()), None);
    let own = of_app("web").preferred_pod_affinity(20, near(ZONE, app("cache")));
    assert_eq!(trial.scores(&own.info()), Some(vec![100, 0]));
}

#[test]
fn points_whose_earlier_point_did_not_run_answer_the_same() {
    let trial = trial([holding("a", "z1", [of_app("cache")]), empty("b", "z2")]);
    let empty = CycleState::default();
    let wants = pod("new").pod_affinity(near(ZONE, app("cache"))).info();
    assert!(trial.filter(&wants, &empty, "a").is_ok());
    assert!(trial.filter(&wants, &empty, "b").is_err());
    let likes = pod("new").preferred_pod_affinity(5, near(ZONE, app("cache"))).info();
    assert_eq!(trial.scores_from(&likes, &empty, trial.snapshot.nodes()), [100, 0]);
    let plain = pod("new").info();
    assert_eq!(trial.scores_from(&plain, &empty, trial.snapshot.nodes()), [0, 0]);
}

/// k/k#86938: the pod has affinity only.
#[test]
fn what_ifs_move_the_counts_of_a_pod_that_has_only_affinity() {
    let trial = trial([holding("a", "z1", [of_app("cache")]), empty("b", "z2")]);
    let wants = pod("new").pod_affinity(near(ZONE, app("cache"))).info();
    let (_, mut state) = trial.pre_filter(&wants);
    let point = trial.hooks.pre_filter.as_ref().unwrap();
    let node = |name: &str| trial.snapshot.node(name).unwrap();
    let (cx, cache) = (trial.cycle(&wants), of_app("cache").info());
    point.remove_pod(cx, &mut state, &cache, node("a")).unwrap();
    assert!(trial.filter(&wants, &state, "a").is_err());
    point.add_pod(cx, &mut state, &cache, node("b")).unwrap();
    assert!(trial.filter(&wants, &state, "b").is_ok());
}

fn object(it: PodBuilder) -> Object {
    it.build().into()
}

#[test]
fn a_pod_that_comes_near_wakes_the_one_that_wants_it() {
    let trial = trial([]).knowing(namespace("blue", [("team", "blue")]));
    let wants = pod("new").pod_affinity(near(ZONE, app("cache"))).info();
    let add = |waiting: &PodInfo, it| trial.helps(ActionType::ADD, waiting, None, Some(object(it)));
    assert!(add(&wants, of_app("cache").node("a")));
    assert!(add(&wants, of_app("cache").nominated("a")));
    assert!(!add(&wants, of_app("cache")), "it is not placed");
    assert!(!add(&wants, of_app("web").node("a")));
    assert!(!add(&pod("plain").info(), of_app("web").node("a")));
    // k/k#141953.
    let term = in_namespaces(near(ZONE, app("cache")), selector([("team", "blue")]));
    let selecting = pod("new").pod_affinity(term).info();
    assert!(add(&selecting, of_app("cache").namespace("blue").node("a")));
    assert!(!add(&selecting, of_app("cache").node("a")));
}

#[test]
fn a_pod_that_goes_wakes_those_that_it_kept_away() {
    let trial = trial([]);
    let delete =
        |waiting: &PodInfo, it| trial.helps(ActionType::DELETE, waiting, Some(object(it)), None);
    let avoids = pod("new")
        .pod_anti_affinity(near(ZONE, app("noise")))
        .pod_anti_affinity(near(HOST, app("web")))
        .info();
    // Each term alone keeps the pod away, so one is enough.
    assert!(delete(&avoids, of_app("noise").node("a")));
    assert!(delete(&avoids, of_app("web").node("a")));
    assert!(!delete(&avoids, of_app("cache").node("a")));
    // k/k#135325: the other way round.
    let shy = of_app("shy")
        .pod_anti_affinity(near(ZONE, app("db")))
        .pod_anti_affinity(near(ZONE, app("web")));
    assert!(delete(&of_app("web").info(), shy.clone().node("a")));
    assert!(!delete(&of_app("cache").info(), shy.clone().node("a")));
    assert!(!delete(&of_app("web").info(), shy), "it was not placed");
}

#[test]
fn a_pod_whose_labels_change_wakes_those_that_it_now_suits() {
    let trial = trial([]);
    let waiting = pod("new")
        .pod_affinity(near(ZONE, app("cache")))
        .pod_anti_affinity(near(ZONE, app("noise")))
        .info();
    let relabel = |from: &str, to: &str| {
        let other = |it: &str| Some(object(pod("other").label("app", it.to_owned()).node("a")));
        trial.helps(ActionType::UPDATE_POD_LABEL, &waiting, other(from), other(to))
    };
    assert!(relabel("x", "cache"));
    assert!(relabel("noise", "x"));
    assert!(!relabel("cache", "x"));
    assert!(!relabel("x", "noise"));
    let (old, new) = (object(pod("new")), object(pod("new").label("a", "b")));
    let own = trial.helps(ActionType::UPDATE_POD_LABEL, &waiting, Some(old), Some(new));
    assert!(own, "its own labels");
}

#[test]
fn a_node_wakes_the_pod_where_it_may_change_what_is_near() {
    let trial = trial([]);
    let wants = pod("new").pod_affinity(near(ZONE, app("cache"))).info();
    let avoids = pod("new").pod_anti_affinity(near(ZONE, app("noise"))).info();
    let node_object = |it: NodeBuilder| Some(Object::from(it.build()));
    let add = |waiting: &PodInfo, it: NodeBuilder| {
        trial.helps(ActionType::ADD, waiting, None, node_object(it))
    };
    assert!(add(&wants, zoned("a", "z1")));
    assert!(!add(&wants, node("a")));
    assert!(add(&avoids, node("a")));
    let update = |waiting: &PodInfo, old: NodeBuilder, new: NodeBuilder| {
        let action = ActionType::UPDATE_NODE_LABEL;
        trial.helps(action, waiting, node_object(old), node_object(new))
    };
    let moved = || (zoned("a", "z1"), zoned("a", "z2"));
    for waiting in [&wants, &avoids] {
        assert!(update(waiting, moved().0, moved().1));
        assert!(!update(waiting, zoned("a", "z1"), zoned("a", "z1").label("x", "y")));
    }
    assert!(update(&wants, node("a"), zoned("a", "z1")));
    assert!(!update(&avoids, node("a"), zoned("a", "z1")));
    assert!(update(&avoids, zoned("a", "z1"), node("a")));
    assert!(!update(&wants, zoned("a", "z1"), node("a")));
}

/// Where a pod of the property lives, its app, its namespace and whether it is shy.
type Placed = (usize, &'static str, &'static str, bool);

fn placed() -> impl Strategy<Value = Placed> {
    let app = prop::sample::select(vec!["web", "db"]);
    let namespace = prop::sample::select(vec!["default", "blue"]);
    (0..5usize, app, namespace, any::<bool>())
}

fn pod_of(index: usize, (_, app_name, namespace, shy): Placed) -> PodBuilder {
    let pod = pod(&format!("p{index}")).label("app", app_name).namespace(namespace);
    let term =
        || in_namespaces(near(ZONE, app("web")), expression("team", "DoesNotExist", [""; 0]));
    if shy { pod.pod_anti_affinity(term()).pod_anti_affinity(near(HOST, app("web"))) } else { pod }
}

fn cluster(pods: &[Placed]) -> Trial {
    let nodes = [
        zoned("n0", "a"),
        zoned("n1", "a"),
        zoned("n2", "b"),
        node("n3").label(HOST, "n3"),
        node("n4"),
    ];
    let of = |at: usize| {
        let here = pods.iter().enumerate().filter(move |(_, it)| it.0 == at);
        here.map(|(index, it)| pod_of(index, *it).build()).collect::<Vec<_>>()
    };
    trial(nodes.into_iter().enumerate().map(|(at, node)| node.info(of(at))))
        .knowing(namespace("default", [("team", "red")]))
        .knowing(namespace("blue", [("colour", "blue")]))
}

fn counts(state: &CycleState) -> [BTreeMap<(Text, Text), i64>; 3] {
    let required: &Required = state.get().unwrap();
    [required.repelling.all(), required.wanted.all(), required.unwanted.all()]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// What-ifs leave the same counts, and so the same verdicts, as counting afresh.
    #[test]
    fn moving_pods_in_the_state_equals_counting_afresh(
        stay in prop::collection::vec(placed(), 0..7),
        go in prop::collection::vec(placed(), 0..5),
        come in prop::collection::vec(placed(), 0..5),
    ) {
        let everywhere = in_namespaces(near(HOST, app("db")), LabelSelector::default());
        let incoming = of_app("web")
            .pod_affinity(near(ZONE, app("web")))
            .pod_affinity(near(HOST, app("web")))
            .pod_anti_affinity(near(ZONE, app("db")))
            .pod_anti_affinity(everywhere)
            .info();
        let before: Vec<_> = stay.iter().chain(&go).copied().collect();
        let after: Vec<_> = stay.iter().chain(&come).copied().collect();
        let (trial, afresh) = (cluster(&before), cluster(&after));
        let (_, mut state) = trial.pre_filter(&incoming);
        let kept = state.fork();
        let point = trial.hooks.pre_filter.as_ref().unwrap();
        let node = |at: usize| &afresh.snapshot.nodes()[at];
        for it in &go {
            let moved = pod_of(0, *it).info();
            point.remove_pod(trial.cycle(&incoming), &mut state, &moved, node(it.0)).unwrap();
        }
        for it in &come {
            let moved = pod_of(0, *it).info();
            point.add_pod(trial.cycle(&incoming), &mut state, &moved, node(it.0)).unwrap();
        }
        let (_, rebuilt) = afresh.pre_filter(&incoming);
        prop_assert_eq!(counts(&state), counts(&rebuilt));
        for at in afresh.snapshot.nodes() {
            let moved = afresh.filter(&incoming, &state, at.name());
            prop_assert_eq!(moved, afresh.filter(&incoming, &rebuilt, at.name()));
        }
        prop_assert_eq!(counts(&kept), counts(&trial.pre_filter(&incoming).1));
    }
}
