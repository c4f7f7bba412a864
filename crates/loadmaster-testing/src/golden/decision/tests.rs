//! Laws that must hold in every recorded cluster.

use loadmaster_core::{
    profile::NoNominations,
    scheduler::{AttemptOutcome, SchedulerOptions},
};
use loadmaster_framework::{Cycle, CycleState, HostPort, NodeInfo, Snapshot};
use loadmaster_sim::Sim;

use super::*;
use crate::golden::{default_dir, read};

/// What each node's filters say, with `at` standing for a node of its name.
fn verdicts(
    profile: &Profile,
    cx: Cycle<'_>,
    state: &CycleState,
    at: Option<&NodeInfo>,
) -> Vec<(String, Outcome)> {
    let nodes = cx.snapshot.nodes().iter().map(|node| match at {
        Some(at) if at.name() == node.name() => at,
        _ => &**node,
    });
    let verdict = |node: &NodeInfo| {
        let outcome = profile.run_filter_with_nominated(cx, state, node, &NoNominations);
        (node.name().to_string(), outcome)
    };
    let mut verdicts: Vec<_> = nodes.map(verdict).collect();
    verdicts.sort_by(|(a, _), (b, _)| a.cmp(b));
    verdicts
}

fn cycle<'a>(pod: &'a PodInfo, snapshot: &'a Snapshot) -> Cycle<'a> {
    Cycle { pod, snapshot, profile: "default-scheduler", now: Duration::ZERO }
}

/// Whether another pod of the node has a host port of `pod`: as upstream, the port is free then once
/// one of them is gone.
fn shares_a_port(pod: &PodInfo, node: &NodeInfo) -> bool {
    let others = || node.pods().iter().filter(|it| it.uid() != pod.uid());
    let mut taken = others().flat_map(|it| HostPort::of_pod(it));
    taken.any(|port| HostPort::of_pod(pod).any(|it| it.conflicts(&port)))
}

/// Whether the pods have claims of one name in different namespaces: as upstream, a what-if takes
/// them for the same.
fn has_a_claim_alike(gone: &PodInfo, pod: &PodInfo) -> bool {
    let claims = |it: &PodInfo| -> Vec<String> {
        let volumes = it.spec.volumes.iter().filter_map(|it| it.persistent_volume_claim.as_ref());
        volumes.map(|it| it.claim_name.to_string()).collect()
    };
    gone.namespace() != pod.namespace() && claims(gone).iter().any(|it| claims(pod).contains(it))
}

/// Removes each pod in turn and puts it back, and returns how many there were. Terminating ones are
/// left out: as upstream, what is told of them in a what-if counts, though a rebuild may not count
/// them.
fn check_what_ifs(line: &str) -> usize {
    let case: Case = serde_json::from_str(line).unwrap();
    let Some(pod) = case.pod.clone() else { return 0 };
    let (pod, profile) = (PodInfo::new(Arc::new(pod)), profile(&case).unwrap());
    let snapshot = cluster(&case).snapshot();
    let cx = cycle(&pod, &snapshot);
    let mut state = CycleState::default();
    if profile.run_pre_filter(cx, &mut state).outcome.is_err() {
        return 0;
    }
    let before = verdicts(&profile, cx, &state, None);
    let mut checked = 0;
    let nodes = snapshot.nodes().iter();
    for (node, gone) in nodes.flat_map(|node| node.pods().iter().map(move |it| (node, it))) {
        if gone.is_terminating() || shares_a_port(gone, node) || has_a_claim_alike(gone, &pod) {
            continue;
        }
        let (mut state, mut node) = (state.fork(), NodeInfo::clone(node));
        node.remove_pod(gone.uid());
        profile.run_remove_pod(cx, &mut state, gone, &node).unwrap();
        let without = {
            let mut case: Case = serde_json::from_str(line).unwrap();
            case.pods.retain(|it| it.key() != gone.key());
            let snapshot = cluster(&case).snapshot();
            let mut state = CycleState::default();
            let cx = cycle(&pod, &snapshot);
            // Where PreFilter refuses now there is nothing to compare with.
            if profile.run_pre_filter(cx, &mut state).outcome.is_err() {
                continue;
            }
            verdicts(&profile, cx, &state, None)
        };
        let what_if = verdicts(&profile, cx, &state, Some(&node));
        assert_eq!(what_if, without, "{} without {}", case.id, gone.key());
        node.add_pod(Arc::clone(gone));
        profile.run_add_pod(cx, &mut state, gone, &node).unwrap();
        let again = verdicts(&profile, cx, &state, Some(&node));
        assert_eq!(again, before, "{} with {} again", case.id, gone.key());
        checked += 1;
    }
    checked
}

#[test]
fn a_pod_taken_away_in_a_what_if_is_as_if_it_had_never_been_there() {
    let mut checked = 0;
    for family in ["05", "06", "08", "09", "10"] {
        let files = read::files(&default_dir(), Some(family)).unwrap();
        let text = read::text(&files[0]).unwrap();
        // A part of the cases is enough.
        checked += text.lines().step_by(4).map(check_what_ifs).sum::<usize>();
    }
    assert!(checked > 1000, "{checked}");
}

/// Runs the case through a whole scheduler. Returns whether it is one that can be: the pod is the
/// only one that waits, and is not held back.
fn check_whole_scheduler(line: &str) -> bool {
    let case: Case = serde_json::from_str(line).unwrap();
    let Some(pod) = case.pod.clone().filter(|it| it.node_name().is_none()) else { return false };
    let profile_of = || profile(&case).unwrap();
    let trial = trial::run(&profile_of(), &cluster(&case), &PodInfo::new(Arc::new(pod.clone())));
    if trial.pre_enqueue.is_err() || !case.nominatedpods.is_empty() {
        return false;
    }
    let options = SchedulerOptions {
        profiles: vec![profile_of()],
        percentage_of_nodes_to_score: 100,
        ..SchedulerOptions::default()
    };
    let mut sim = Sim::new(options, 0).unwrap();
    each_object(&case, |object| sim.write(object));
    sim.settle();
    sim.write(pod);
    sim.settle();
    let outcome = sim.schedule_one().expect("the pod is tried").outcome;
    let decision = record::decision(&trial);
    match outcome {
        AttemptOutcome::Assumed { node, .. } => match &trial.nominated_tried {
            Some(tried) if tried.feasible => assert_eq!(node, tried.node, "{}", case.id),
            _ => assert!(decision.best.contains(&node.to_string()), "{} {node}", case.id),
        },
        AttemptOutcome::Unschedulable { message, nominated_node, victims, .. } => {
            let expected = decision.fit_error.or(decision.error);
            assert_eq!(Some(message), expected, "{}", case.id);
            let post_filter = decision.post_filter.unwrap_or_default();
            let nominated = nominated_node.unwrap_or_default();
            if !post_filter.nominated_node.is_empty() {
                assert_eq!(*nominated, *post_filter.nominated_node, "{}", case.id);
            }
            let victims: Vec<_> = victims.iter().map(|it| it.key().to_string()).collect();
            let expected: Vec<_> = post_filter.victims.into_iter().map(String::from).collect();
            assert_eq!(victims, expected, "{}", case.id);
        }
        other => panic!("{}: {other:?}", case.id),
    }
    true
}

#[test]
fn a_whole_scheduler_comes_to_the_decision_of_a_trial() {
    let mut checked = 0;
    for file in read::files(&default_dir(), None).unwrap().iter().take(12) {
        let text = read::text(file).unwrap();
        checked += text.lines().step_by(5).filter(|line| check_whole_scheduler(line)).count();
    }
    assert!(checked > 300, "{checked}");
}
