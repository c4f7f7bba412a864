use std::{sync::Arc, time::Duration};

use loadmaster_framework::{Candidate, DryRun, NodeInfo, Object, Slot, WaitingPod, api::ObjectKey};
use serde_json::{Value, json};

use super::*;
use crate::test_kit::{Cluster, build, cycle, pod};

/// Answers a dry run from a script, and keeps what was asked.
#[derive(Default)]
struct Script {
    run: DryRun,
    asked: std::cell::RefCell<Vec<(Vec<usize>, usize)>>,
    slot: Slot,
}

impl Handle for Script {
    fn nominated_pods(&self, _: &str) -> Vec<Arc<PodInfo>> {
        Vec::new()
    }
    fn waiting_pods(&self) -> Vec<WaitingPod> {
        Vec::new()
    }
    fn allow_waiting_pod(&mut self, _: &str, _: &'static str) -> bool {
        false
    }
    fn reject_waiting_pod(&mut self, _: &str, _: &'static str, _: &str) -> bool {
        false
    }
    fn activate(&mut self, _: &[ObjectKey]) {}
    fn assume(&mut self, _: Object) {}
    fn restore(&mut self, _: &Object) {}
    fn slot(&mut self) -> &mut Slot {
        &mut self.slot
    }
    fn run_filters(&self, _: Cycle<'_>, _: &CycleState, _: &NodeInfo) -> Outcome {
        Ok(())
    }
    fn run_add_pod(&self, _: Cycle<'_>, _: &mut CycleState, _: &PodInfo, _: &NodeInfo) -> Outcome {
        Ok(())
    }
    fn run_remove_pod(
        &self,
        _: Cycle<'_>,
        _: &mut CycleState,
        _: &PodInfo,
        _: &NodeInfo,
    ) -> Outcome {
        Ok(())
    }
    fn dry_run_preemption(
        &self,
        _: Cycle<'_>,
        _: &CycleState,
        _: &NodeToStatus,
        positions: &[usize],
        candidates_max: usize,
    ) -> Outcome<DryRun> {
        self.asked.borrow_mut().push((positions.to_vec(), candidates_max));
        Ok(self.run.clone())
    }
}

/// `n0`, `n1`, …
fn cluster(nodes: usize) -> Cluster {
    let nodes: Vec<Value> =
        (0..nodes).map(|it| json!({"metadata": {"name": format!("n{it}")}})).collect();
    Cluster::new(&nodes)
}

/// Nodes refused with `Insufficient cpu` at the positions given, the others for good.
fn refused(nodes: usize, unschedulable: &[usize]) -> NodeToStatus {
    let mut why = NodeToStatus::new(nodes);
    for at in 0..nodes {
        let status = if unschedulable.contains(&at) {
            Status::unschedulable("Insufficient cpu")
        } else {
            Status::unresolvable("node(s) had untolerated taint(s)")
        };
        why.set(at, status);
    }
    why
}

fn preempt(
    cluster: &Cluster,
    pod_json: Value,
    why: &NodeToStatus,
    script: &mut Script,
) -> PostFilterResult {
    let (pod, snapshot) = (pod(pod_json), cluster.snapshot());
    let plugin = build::<DefaultPreemption>(&json!(null)).post_filter.unwrap();
    plugin.post_filter(cycle(&pod, &snapshot), &mut CycleState::default(), why, script)
}

/// The refusal's text, and whether the pod loses its promised node.
fn refusal(result: &PostFilterResult) -> (String, bool) {
    let status = result.status.clone().unwrap_err();
    assert_eq!((status.code(), result.victims.len()), (Code::Unschedulable, 0));
    (status.message(), result.nominating == Nominating::Clear)
}

fn victim(name: &str, priority: i32, start_minute: u32) -> Arc<PodInfo> {
    Arc::new(pod(json!({
        "metadata": {"name": name, "uid": name},
        "spec": {"priority": priority},
        "status": {"startTime": format!("2026-01-01T00:{start_minute:02}:00Z")},
    })))
}

fn candidate(node: &str, num_pdb_violations: i64, victims: &[(i32, u32)]) -> Candidate {
    let victims = victims.iter().enumerate();
    let victims =
        victims.map(|(at, (priority, start))| victim(&format!("{node}-{at}"), *priority, *start));
    Candidate { node: node.into(), victims: victims.collect(), num_pdb_violations }
}

#[test]
fn a_preemptor_waits_outside_the_queue_until_its_victims_are_deleted() {
    let pod = pod(json!({}));
    let ask = |preempting| {
        let plugin = DefaultPreemption { args: DefaultPreemptionArgs::default() };
        plugin.pre_enqueue(Enqueue { pod: &pod, now: Duration::ZERO, preempting })
    };
    assert_eq!(ask(false), Ok(()));
    assert_eq!(ask(true), Err(Status::unresolvable(PREEMPTING)));
}

#[test]
fn the_best_candidate_is_taken_with_its_victims() {
    let mut script = Script::default();
    script.run.candidates =
        vec![candidate("n0", 0, &[(5, 1)]), candidate("n2", 0, &[(3, 1), (2, 1)])];
    let result =
        preempt(&cluster(3), json!({"spec": {"priority": 9}}), &refused(3, &[0, 2]), &mut script);
    assert_eq!(result.status, Ok(()));
    assert_eq!(result.nominating, Nominating::Node("n2".into()));
    let names: Vec<&str> = result.victims.iter().map(|it| &**it.name()).collect();
    assert_eq!(names, ["n2-0", "n2-1"]);
    assert_eq!(script.asked.into_inner(), [(vec![0, 2], 2)]);
}

#[test]
fn the_first_difference_in_upstreams_order_decides() {
    // Each row: the better candidate, and one that all later rules would prefer.
    for (better, worse) in [
        (candidate("a", 0, &[(9, 1), (9, 1)]), candidate("b", 1, &[(1, 9)])),
        (candidate("a", 0, &[(5, 1), (5, 1)]), candidate("b", 0, &[(6, 9)])),
        (candidate("a", 0, &[(5, 1), (2, 1)]), candidate("b", 0, &[(5, 9), (3, 9)])),
        // Priorities below zero: one victim is less than two.
        (candidate("a", 0, &[(-5, 1)]), candidate("b", 0, &[(-5, 9), (-9, 9)])),
        // A sum of the same size by fewer victims.
        (candidate("a", 0, &[(-1, 1)]), candidate("b", 0, &[(-1, 9), (i32::MIN, 9)])),
        // The start of the most important victims counts, not of the others.
        (candidate("a", 0, &[(5, 7), (1, 1)]), candidate("b", 0, &[(5, 6), (1, 9)])),
        // The earliest of several important ones.
        (candidate("a", 0, &[(5, 7), (5, 8)]), candidate("b", 0, &[(5, 6), (5, 9)])),
    ] {
        for order in [vec![better.clone(), worse.clone()], vec![worse.clone(), better.clone()]] {
            let best = ranking::best(order).unwrap();
            assert_eq!(&*best.node, "a", "{better:?} against {worse:?}");
        }
    }
    // Just placed is later than any start; of equals the first is taken.
    let mut new = candidate("new", 0, &[(5, 7)]);
    new.victims = vec![Arc::new(pod(json!({"spec": {"priority": 5}})))];
    let best = ranking::best(vec![candidate("old", 0, &[(5, 9)]), new]).unwrap();
    assert_eq!(&*best.node, "new");
    let equal = vec![candidate("x", 0, &[(5, 9)]), candidate("y", 0, &[(5, 9)])];
    assert_eq!(&*ranking::best(equal).unwrap().node, "x");
    assert!(ranking::best(Vec::new()).is_none());
}

#[test]
fn where_nothing_helps_the_message_counts_why_and_the_promise_is_withdrawn() {
    let why = refused(5, &[1, 2, 3]);
    let mut script = Script::default();
    script.run.statuses = vec![
        (1, Status::unschedulable("Insufficient cpu")),
        (2, Status::unresolvable("No preemption victims found for incoming pod")),
        (3, Status::unresolvable("No preemption victims found for incoming pod")),
    ];
    let text = "preemption: 0/5 nodes are available: 1 Insufficient cpu, \
                2 No preemption victims found for incoming pod, \
                2 Preemption is not helpful for scheduling.";
    let result = preempt(&cluster(5), json!({}), &why, &mut script);
    assert_eq!(refusal(&result), (text.to_owned(), true));

    let hopeless = preempt(&cluster(2), json!({}), &refused(2, &[]), &mut Script::default());
    let text = "preemption: 0/2 nodes are available: 2 Preemption is not helpful for scheduling.";
    assert_eq!(refusal(&hopeless), (text.to_owned(), true));
}

#[test]
fn a_pod_that_must_not_preempt_is_told_so_and_keeps_its_promise() {
    let never = json!({"spec": {"preemptionPolicy": "Never"}});
    let mut script = Script::default();
    let result = preempt(&cluster(1), never, &refused(1, &[0]), &mut script);
    let text = "preemption: not eligible due to preemptionPolicy=Never.";
    assert_eq!(refusal(&result), (text.to_owned(), false));
    assert!(script.asked.into_inner().is_empty());
}

#[test]
fn while_victims_terminate_on_the_promised_node_no_more_are_chosen() {
    let going = |priority: i32, reason: &str| {
        json!({
            "metadata": {"name": "v", "uid": "v", "deletionTimestamp": "2026-01-01T00:00:00Z"},
            "spec": {"priority": priority},
            "status": {"conditions": [
                {"type": "DisruptionTarget", "status": "True", "reason": reason},
            ]},
        })
    };
    let promised =
        |node: &str| json!({"spec": {"priority": 5}, "status": {"nominatedNodeName": node}});
    let waits = |victim: Value, pod: Value, why: &NodeToStatus| {
        let cluster = cluster(1).place("n0", victim);
        let result = preempt(&cluster, pod, why, &mut Script::default());
        refusal(&result).0
            == "preemption: not eligible due to a terminating pod on the nominated node."
    };
    let why = refused(1, &[0]);
    let ours = "PreemptionByScheduler";
    assert!(waits(going(1, ours), promised("n0"), &why));
    assert!(!waits(going(5, ours), promised("n0"), &why), "not of lower priority");
    assert!(
        !waits(going(1, "EvictionByEvictionAPI"), promised("n0"), &why),
        "going for another reason"
    );
    assert!(!waits(going(1, ours), json!({"spec": {"priority": 5}}), &why), "no node is promised");
    assert!(!waits(going(1, ours), promised("gone"), &why), "the promised node is gone");
    assert!(
        !waits(going(1, ours), promised("n0"), &refused(1, &[])),
        "the node will not do at all"
    );
}

#[test]
fn enough_candidates_are_looked_for_from_a_start_that_moves_on() {
    let plugin = |percentage, absolute| DefaultPreemption {
        args: DefaultPreemptionArgs {
            min_candidate_nodes_percentage: percentage,
            min_candidate_nodes_absolute: absolute,
        },
    };
    // Each row: percentage, absolute, nodes, how many.
    for (percentage, absolute, nodes, many) in [
        (10, 100, 50, 50),
        (10, 100, 500, 100),
        (10, 100, 5000, 500),
        (0, 3, 10, 3),
        (100, 0, 7, 7),
        (10, 0, 5, 0),
    ] {
        assert_eq!(plugin(percentage, absolute).candidates_max(nodes), many);
    }
    let (cluster, why, mut script) = (cluster(4), refused(4, &[0, 1, 3]), Script::default());
    let (pod, snapshot) = (pod(json!({})), cluster.snapshot());
    for _ in 0..3 {
        let cx = cycle(&pod, &snapshot);
        plugin(0, 2).post_filter(cx, &mut CycleState::default(), &why, &mut script);
    }
    let asked = script.asked.into_inner();
    assert_eq!(asked, [(vec![0, 1, 3], 2), (vec![3, 0, 1], 2), (vec![1, 3, 0], 2)]);
}
