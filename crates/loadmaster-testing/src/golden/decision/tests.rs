//! Laws that must hold in every recorded cluster.

use loadmaster_core::profile::NoNominations;
use loadmaster_framework::{Cycle, CycleState, HostPort, NodeInfo, Snapshot};

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
        if gone.is_terminating() || shares_a_port(gone, node) {
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
