use loadmaster_framework::{
    ActionType, Candidates, CycleState, Interest, NodeInfo, Object,
    api::{
        Effect, LabelSelector, NodeInclusionPolicy, Pod, TopologySpreadConstraint,
        UnsatisfiableConstraintAction,
    },
};
use loadmaster_testing::builders::{
    NodeBuilder, PodBuilder, expression, node, pod, replica_set, replication_controller, selector,
    service, stateful_set,
};
use proptest::prelude::*;

use super::{PodTopologySpread, filtering::Hard};
use crate::in_tree::trial::Trial;

const ZONE: &str = "topology.kubernetes.io/zone";
const HOST: &str = "kubernetes.io/hostname";

fn trial(nodes: impl IntoIterator<Item = NodeInfo>) -> Trial {
    Trial::of::<PodTopologySpread>(nodes)
}

fn web() -> LabelSelector {
    selector([("app", "web")])
}

/// A node in `zone`, with its host name.
fn zoned(name: &str, zone: &str) -> NodeBuilder {
    node(name).label(ZONE, zone).label(HOST, name)
}

/// A node in a zone of its own with `count` pods labelled `app=web`.
fn with_web(name: &str, count: usize) -> NodeInfo {
    zoned(name, name).info(webs(name, count))
}

fn webs(prefix: &str, count: usize) -> Vec<Pod> {
    (0..count).map(|it| pod(&format!("{prefix}-{it}")).label("app", "web").build()).collect()
}

fn constraint(change: impl FnOnce(&mut TopologySpreadConstraint)) -> TopologySpreadConstraint {
    let mut constraint = TopologySpreadConstraint {
        max_skew: 1,
        topology_key: ZONE.into(),
        label_selector: Some(web()),
        ..TopologySpreadConstraint::default()
    };
    change(&mut constraint);
    constraint
}

fn incoming(change: impl FnOnce(&mut TopologySpreadConstraint)) -> PodBuilder {
    pod("new").label("app", "web").spread_constraint(constraint(change))
}

const SKEWED: &str = "Unschedulable: node(s) didn't match pod topology spread constraints";

#[test]
fn the_page_example_holds() {
    let trial = trial([with_web("a", 2), with_web("b", 1), with_web("c", 1)]);
    let hard = pod("new").label("app", "web").spread(1, ZONE, web()).info();
    let verdicts = trial.verdicts(&hard);
    let verdicts: Vec<_> = verdicts.iter().map(|(node, it)| (&**node, &**it)).collect();
    assert_eq!(verdicts, [("a", SKEWED), ("b", ""), ("c", "")]);
    let soft = pod("new").label("app", "web").preferred_spread(1, ZONE, web()).info();
    assert_eq!(trial.scores(&soft), Some(vec![66, 100, 100]));
}

#[test]
fn a_node_without_the_label_is_refused_whatever_is_evicted() {
    let trial = trial([node("bare").info::<Pod>([])]);
    let verdicts = trial.verdicts(&incoming(|_| {}).info());
    let reason = "Unresolvable: node(s) didn't match pod topology spread constraints (missing \
                  required label)";
    assert_eq!(verdicts[0].1, reason);
}

/// KEP-3022, k/k#108362.
#[test]
fn with_fewer_domains_than_min_domains_the_emptiest_counts_as_empty() {
    let trial = trial([with_web("a", 2), with_web("b", 2), with_web("c", 2)]);
    let with = |min_domains| {
        incoming(|it| {
            it.max_skew = 2;
            it.min_domains = min_domains;
        })
    };
    assert_eq!(trial.refused(&with(Some(5)).info()), ["a", "b", "c"]);
    assert!(trial.refused(&with(Some(3)).info()).is_empty());
    assert!(trial.refused(&with(None).info()).is_empty());
}

/// k/k#112040.
#[test]
fn only_domains_that_the_node_selector_leaves_are_compared() {
    let trial = trial([with_web("a", 3), with_web("b", 0)]);
    let pod = incoming(|_| {}).node_selector(ZONE, "a");
    assert_eq!(trial.refused(&pod.info()), Vec::<String>::new());
    let ignoring = |it: &mut TopologySpreadConstraint| {
        it.node_affinity_policy = Some(NodeInclusionPolicy::Ignore);
    };
    assert_eq!(trial.refused(&incoming(ignoring).node_selector(ZONE, "a").info()), ["a"]);
}

#[test]
fn a_tainted_node_is_a_domain_unless_taints_are_honoured() {
    let tainted = zoned("b", "b").taint("dedicated", "db", Effect::NoSchedule);
    let trial = trial([with_web("a", 1), tainted.info::<Pod>([])]);
    assert_eq!(trial.refused(&incoming(|_| {}).info()), ["a"]);
    let honoring = || incoming(|it| it.node_taints_policy = Some(NodeInclusionPolicy::Honor));
    assert!(trial.refused(&honoring().info()).is_empty());
    let tolerating = honoring().tolerates("dedicated", "db", Effect::NoSchedule);
    assert_eq!(trial.refused(&tolerating.info()), ["a"]);
}

#[test]
fn terminating_pods_and_those_of_other_namespaces_are_not_counted() {
    let there = [
        pod("p1").label("app", "web").terminating(),
        pod("p2").label("app", "web").namespace("other"),
        pod("p3").label("app", "db"),
    ];
    let there = there.map(PodBuilder::build);
    let trial = trial([zoned("a", "a").info(there), with_web("b", 0)]);
    assert!(trial.refused(&incoming(|_| {}).info()).is_empty());
}

#[test]
fn a_pod_that_its_own_constraint_does_not_select_adds_nothing() {
    let trial = trial([with_web("a", 1), with_web("b", 0)]);
    let stranger = pod("new").label("app", "db").spread(1, ZONE, web());
    assert!(trial.refused(&stranger.info()).is_empty());
}

#[test]
fn match_label_keys_narrow_the_selector_by_the_pods_own_values() {
    let old = pod("old").label("app", "web").label("rev", "1").build();
    let trial = trial([zoned("a", "a").info([old]), with_web("b", 0)]);
    let keyed = |it: &mut TopologySpreadConstraint| {
        it.match_label_keys = vec!["rev".into(), "absent".into()];
    };
    assert_eq!(trial.refused(&incoming(keyed).label("rev", "1").info()), ["a"]);
    assert!(trial.refused(&incoming(keyed).label("rev", "2").info()).is_empty());
    assert_eq!(trial.refused(&incoming(keyed).info()), ["a"]);
    // An absent selector selects nothing, and stays so.
    let none = |it: &mut TopologySpreadConstraint| {
        keyed(it);
        it.label_selector = None;
    };
    assert!(trial.refused(&incoming(none).label("rev", "1").info()).is_empty());
}

#[test]
fn a_wrong_selector_is_an_error_of_the_pod() {
    let trial = trial([with_web("a", 0)]);
    let wrong = expression("app", "Near", ["web"]);
    let (hard, _) = trial.pre_filter(&pod("p").spread(1, ZONE, wrong.clone()).info());
    assert_eq!(
        hard.unwrap_err().message(),
        "get constraints from pod: obtaining pod's hard topology spread constraints: \"Near\" is \
         not a valid label selector operator"
    );
    let soft = pod("p").preferred_spread(1, ZONE, wrong).info();
    let point = trial.hooks.pre_score.as_ref().unwrap();
    let outcome =
        point.pre_score(trial.cycle(&soft), &mut CycleState::default(), trial.snapshot.nodes());
    assert_eq!(
        outcome.unwrap_err().message(),
        "calculating preScoreState: obtaining pod's soft topology spread constraints: \"Near\" is \
         not a valid label selector operator"
    );
}

#[test]
fn without_constraints_of_a_kind_the_points_of_that_kind_are_skipped() {
    let trial = trial([with_web("a", 0)]);
    let hard = pod("p").spread(1, ZONE, web()).info();
    let soft = pod("p").preferred_spread(1, ZONE, web()).info();
    assert_eq!(trial.pre_filter(&hard).0, Ok(Candidates::All));
    assert_eq!(trial.scores(&hard), None);
    assert_eq!(trial.pre_filter(&soft).0, Ok(Candidates::Skip));
    assert!(trial.scores(&soft).is_some());
    // Neither does a pod without any: it belongs to no service and no controller.
    assert_eq!(trial.pre_filter(&pod("p").info()).0, Ok(Candidates::Skip));
    assert_eq!(trial.scores(&pod("p").info()), None);
}

#[test]
fn by_default_pods_of_a_service_are_spread_over_nodes_and_zones() {
    let trial = trial([
        zoned("a", "z1").info(webs("a", 2)),
        zoned("b", "z1").info::<Pod>([]),
        zoned("c", "z2").info::<Pod>([]),
        // No zone: ranked by its host name alone.
        node("d").label(HOST, "d").info::<Pod>([]),
    ])
    .knowing(service("web", [("app", "web")]));
    // Domains: 4 nodes, weight ln 6; 3 zones (one without a name), weight ln 5. Raw scores:
    // a 2·ln6+2 + 2·ln5+4 = 12.80, b 2 + 2·ln5+4 = 9.22, c 2+4 = 6, d 2.
    // a 100·(13+2-13)/13, b 100·(15-9)/13, c 100·(15-6)/13, d 100·(15-2)/13.
    let new = pod("new").label("app", "web").info();
    assert_eq!(trial.scores(&new), Some(vec![15, 46, 69, 100]));
    assert_eq!(trial.scores(&pod("new").label("app", "db").info()), None);
}

#[test]
fn by_default_pods_of_one_controller_are_alike() {
    let labels = [("app", "web")];
    let objects: [(&str, Object); 3] = [
        ("ReplicationController", replication_controller("web", labels).into()),
        ("ReplicaSet", replica_set("web", web()).into()),
        ("StatefulSet", stateful_set("web", web()).into()),
    ];
    for (kind, object) in objects {
        let trial = trial([with_web("a", 1), with_web("b", 0)]).knowing(object);
        let owned = pod("new").label("app", "web").owner(kind, "web").info();
        // Raw: a ln4+2 + ln4+4 = 8.77, b 6: 100·(9+6-9)/9 and 100·(15-6)/9.
        assert_eq!(trial.scores(&owned), Some(vec![66, 100]), "{kind}");
        let orphan = pod("new").label("app", "web").owner(kind, "gone").info();
        assert_eq!(trial.scores(&orphan), None, "{kind}");
    }
}

#[test]
fn listed_defaults_hold_for_pods_without_constraints_of_their_own() {
    let args = serde_json::json!({
        "defaultingType": "List",
        "defaultConstraints": [
            {"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": "DoNotSchedule"}
        ],
    });
    let trial = Trial::with_args::<PodTopologySpread>(&args, [with_web("a", 1), with_web("b", 0)])
        .knowing(service("web", [("app", "web")]));
    let new = pod("new").label("app", "web");
    assert_eq!(trial.refused(&new.clone().info()), ["a"]);
    assert!(trial.refused(&new.preferred_spread(1, ZONE, web()).info()).is_empty());
}

#[test]
fn a_feasible_node_without_a_label_of_the_pods_own_constraints_ranks_last() {
    let trial = trial([with_web("a", 1), node("bare").info::<Pod>([]), with_web("b", 0)]);
    let soft = pod("new").preferred_spread(1, ZONE, web()).info();
    // Raw: a ln4 = 1.39, b 0: 100·(1+0-1)/1 and 100·(1+0-0)/1.
    assert_eq!(trial.scores(&soft), Some(vec![0, 0, 100]));
}

#[test]
fn where_nothing_is_counted_every_ranked_node_gets_all_points() {
    let trial = trial([with_web("a", 0), with_web("b", 0)]);
    let soft = pod("new").preferred_spread(1, ZONE, web()).info();
    assert_eq!(trial.scores(&soft), Some(vec![100, 100]));
}

#[test]
fn pods_on_infeasible_nodes_count_for_the_domains_of_feasible_ones() {
    let trial = trial([
        zoned("a1", "a").info(webs("a", 3)),
        zoned("a2", "a").info::<Pod>([]),
        zoned("b1", "b").info(webs("b", 1)),
    ]);
    let soft = pod("new").preferred_spread(1, ZONE, web()).info();
    let feasible = ["a2".to_owned(), "b1".to_owned()];
    // Raw: 3·ln4 = 4.16 and ln4 = 1.39: 100·(4+1-4)/4 and 100·(5-1)/4.
    assert_eq!(trial.scores_of(&soft, &feasible), Some(vec![25, 100]));
}

#[test]
fn points_whose_earlier_point_did_not_run_answer_the_same() {
    let trial = trial([with_web("a", 2), with_web("b", 1), with_web("c", 1)]);
    let hard = incoming(|_| {}).info();
    let empty = CycleState::default();
    assert!(trial.filter(&hard, &empty, "a").is_err());
    assert!(trial.filter(&hard, &empty, "b").is_ok());
    let soft =
        incoming(|it| it.when_unsatisfiable = UnsatisfiableConstraintAction::ScheduleAnyway).info();
    assert_eq!(trial.scores_from(&soft, &empty, trial.snapshot.nodes()), [66, 100, 100]);
}

#[test]
fn an_empty_cluster_is_not_scored() {
    let trial = trial([]);
    let soft = pod("new").preferred_spread(1, ZONE, web()).info();
    let point = trial.hooks.pre_score.as_ref().unwrap();
    let interest = point.pre_score(trial.cycle(&soft), &mut CycleState::default(), &[]);
    assert_eq!(interest, Ok(Interest::Skip));
}

#[test]
fn a_placed_pod_that_is_counted_wakes_the_waiting_one() {
    let trial = trial([]);
    let waiting = incoming(|_| {}).info();
    let other = |it: PodBuilder| Some(Object::from(it.build()));
    let placed = || pod("p").node("a");
    let add = |it: PodBuilder| trial.helps(ActionType::ADD, &waiting, None, other(it));
    assert!(add(placed().label("app", "web")));
    assert!(!add(placed().label("app", "db")));
    assert!(!add(placed().label("app", "web").namespace("other")));
    assert!(!add(pod("p").label("app", "web")), "it is not placed");
    assert!(add(pod("p").label("app", "web").nominated("a")), "it is about to be");
    let delete = |it: PodBuilder| trial.helps(ActionType::DELETE, &waiting, other(it), None);
    assert!(delete(placed().label("app", "web")));
    assert!(!delete(placed().label("app", "db")));
    let relabel = |from, to| {
        let old = other(placed().label("app", from));
        let new = other(placed().label("app", to));
        trial.helps(ActionType::UPDATE_POD_LABEL, &waiting, old, new)
    };
    assert!(relabel("web", "db"));
    assert!(relabel("db", "web"));
    assert!(!relabel("db", "cache"));
}

#[test]
fn a_new_toleration_wakes_the_pod_where_taints_are_honoured() {
    let trial = trial([]);
    let helps = |policy| {
        let waiting = || incoming(|it| it.node_taints_policy = policy);
        let new = waiting().tolerates("dedicated", "db", Effect::NoSchedule);
        let (old, new) = (waiting().build().into(), new.build().into());
        let action = ActionType::UPDATE_POD_TOLERATION;
        trial.helps(action, &waiting().info(), Some(old), Some(new))
    };
    assert!(helps(Some(NodeInclusionPolicy::Honor)));
    assert!(!helps(None));
}

#[test]
fn a_node_that_comes_to_count_or_ceases_to_wakes_the_pod() {
    let trial = trial([]);
    let waiting = incoming(|_| {}).info();
    let object = |it: NodeBuilder| Some(Object::from(it.build()));
    assert!(trial.helps(ActionType::ADD, &waiting, None, object(zoned("n", "a"))));
    assert!(!trial.helps(ActionType::ADD, &waiting, None, object(node("n"))));
    assert!(trial.helps(ActionType::DELETE, &waiting, object(zoned("n", "a")), None));
    let update = |action, old, new| trial.helps(action, &waiting, object(old), object(new));
    let label = ActionType::UPDATE_NODE_LABEL;
    assert!(update(label, node("n"), zoned("n", "a")));
    assert!(update(label, zoned("n", "a"), node("n")));
    assert!(update(label, zoned("n", "a"), zoned("n", "b")));
    assert!(!update(label, zoned("n", "a"), zoned("n", "a").label("other", "x")));
    let taint = ActionType::UPDATE_NODE_TAINT;
    let tainted = |it: NodeBuilder| it.taint("k", "", Effect::NoSchedule);
    assert!(update(taint, tainted(zoned("n", "a")), zoned("n", "a")));
    assert!(!update(taint, tainted(node("n")), node("n")));
}

/// Upstream takes a terminating pod off counts that never held it; recordings have it so.
#[test]
fn a_terminating_pod_that_is_removed_in_a_what_if_is_taken_off() {
    let leaving = pod("p").label("app", "web").terminating();
    let trial = trial([zoned("a", "a").info([leaving.clone().build()]), with_web("b", 0)]);
    let pod = incoming(|_| {}).info();
    let (_, mut state) = trial.pre_filter(&pod);
    let point = trial.hooks.pre_filter.as_ref().unwrap();
    let node = trial.snapshot.node("a").unwrap();
    point.remove_pod(trial.cycle(&pod), &mut state, &leaving.info(), node).unwrap();
    // a holds -1, b holds 0: b would be two ahead.
    assert!(trial.filter(&pod, &state, "a").is_ok());
    assert!(trial.filter(&pod, &state, "b").is_err());
}

/// Where a pod of the property lives, what it is labelled, and its namespace.
fn placed() -> impl Strategy<Value = (usize, &'static str, &'static str)> {
    (
        0..6usize,
        prop::sample::select(vec!["web", "db"]),
        prop::sample::select(vec!["default", "default", "other"]),
    )
}

fn build_nodes(pods: &[(usize, &str, &str)]) -> Vec<NodeInfo> {
    // Two nodes a zone, one without a zone, one without labels, one tainted.
    let nodes = [
        zoned("n0", "a"),
        zoned("n1", "a"),
        zoned("n2", "b").taint("k", "", Effect::NoSchedule),
        zoned("n3", "b"),
        node("n4").label(HOST, "n4"),
        node("n5"),
    ];
    let of = |at: usize| {
        let here = pods.iter().enumerate().filter(move |(_, it)| it.0 == at);
        here.map(|(index, it)| pod_of(index, *it).build()).collect::<Vec<_>>()
    };
    nodes.into_iter().enumerate().map(|(at, node)| node.info(of(at))).collect()
}

fn pod_of(index: usize, (_, app, namespace): (usize, &str, &str)) -> PodBuilder {
    pod(&format!("p{index}")).label("app", app).namespace(namespace)
}

fn counts(
    state: &CycleState,
) -> Vec<std::collections::BTreeMap<loadmaster_framework::api::Text, i64>> {
    state.get::<Hard>().unwrap().domains.iter().map(super::domains::Domains::all).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// What-ifs leave the same counts, and so the same verdicts, as counting afresh.
    #[test]
    fn moving_pods_in_the_state_equals_counting_afresh(
        stay in prop::collection::vec(placed(), 0..8),
        go in prop::collection::vec(placed(), 0..5),
        come in prop::collection::vec(placed(), 0..5),
        all in any::<bool>(),
    ) {
        let honor = |it: &mut TopologySpreadConstraint| {
            it.node_taints_policy = Some(NodeInclusionPolicy::Honor);
            if all {
                it.label_selector = Some(LabelSelector::default());
            }
        };
        let incoming = incoming(honor).spread(2, HOST, web()).info();
        let before: Vec<_> = stay.iter().chain(&go).copied().collect();
        let after: Vec<_> = stay.iter().chain(&come).copied().collect();
        let trial = trial(build_nodes(&before));
        let afresh = Trial::of::<PodTopologySpread>(build_nodes(&after));
        let (_, mut state) = trial.pre_filter(&incoming);
        let point = trial.hooks.pre_filter.as_ref().unwrap();
        let node = |at: usize| &afresh.snapshot.nodes()[at];
        let shared = state.fork();
        for (index, it) in go.iter().enumerate() {
            let moved = pod_of(index, *it).info();
            point.remove_pod(trial.cycle(&incoming), &mut state, &moved, node(it.0)).unwrap();
        }
        for (index, it) in come.iter().enumerate() {
            let moved = pod_of(index, *it).info();
            point.add_pod(trial.cycle(&incoming), &mut state, &moved, node(it.0)).unwrap();
        }
        let (_, rebuilt) = afresh.pre_filter(&incoming);
        prop_assert_eq!(counts(&state), counts(&rebuilt));
        for at in afresh.snapshot.nodes() {
            let moved = afresh.filter(&incoming, &state, at.name());
            prop_assert_eq!(moved, afresh.filter(&incoming, &rebuilt, at.name()));
        }
        // A fork leaves no trace in what it was made of.
        prop_assert_eq!(counts(&shared), counts(&trial.pre_filter(&incoming).1));
    }
}
