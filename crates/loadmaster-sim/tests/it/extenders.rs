//! HTTP extenders, their answers scripted. Expected outcomes are those of the extender API's
//! documentation and of kube-scheduler 1.36.

use std::{sync::Arc, time::Duration};

use loadmaster_core::{
    cycle::{ExtenderSpec, Ports, Preempted, Prioritized, Rejected},
    scheduler::AttemptOutcome,
};
use loadmaster_framework::{
    Candidate, NodeInfo, PodInfo,
    api::{ObjectKey, Text},
};
use loadmaster_sim::Sim;

use crate::plugins::{node, node_of, pod, pod_of_priority, queued, sim_with_extenders};

/// Answers as a test says, and counts the calls.
#[derive(Default)]
struct Script {
    refuse: Vec<(&'static str, bool)>,
    prefer: Option<&'static str>,
    keep: Option<Vec<&'static str>>,
    down: bool,
    calls: usize,
}

impl Ports for Script {
    fn extend_filter(
        &mut self,
        _: &ExtenderSpec,
        _: &PodInfo,
        _: &[Arc<NodeInfo>],
    ) -> Result<Vec<Rejected>, String> {
        self.calls += 1;
        if self.down {
            return Err("connection refused".to_owned());
        }
        let rejected = |(node, unresolvable): &(&str, bool)| Rejected {
            node: Text::from(*node),
            message: "no licence left".to_owned(),
            unresolvable: *unresolvable,
        };
        Ok(self.refuse.iter().map(rejected).collect())
    }

    fn extend_prioritize(
        &mut self,
        _: &ExtenderSpec,
        _: &PodInfo,
        nodes: &[Arc<NodeInfo>],
    ) -> Result<Vec<Prioritized>, String> {
        let score = |it: &NodeInfo| i64::from(self.prefer == Some(&**it.name())) * 10;
        Ok(nodes
            .iter()
            .map(|it| Prioritized { node: it.name().clone(), score: score(it) })
            .collect())
    }

    fn extend_preempt(
        &mut self,
        _: &ExtenderSpec,
        _: &PodInfo,
        candidates: &[Candidate],
    ) -> Result<Vec<Preempted>, String> {
        let kept =
            |it: &&Candidate| self.keep.as_ref().is_none_or(|keep| keep.contains(&&*it.node));
        Ok(candidates
            .iter()
            .filter(kept)
            .map(|it| Preempted {
                node: it.node.clone(),
                victims: it.victims.iter().map(|it| it.uid().clone()).collect(),
                num_pdb_violations: it.num_pdb_violations,
            })
            .collect())
    }
}

fn extender() -> ExtenderSpec {
    ExtenderSpec {
        name: "http://127.0.0.1:1/x".to_owned(),
        filters: true,
        prioritizes: true,
        preempts: true,
        weight: 100,
        ..ExtenderSpec::default()
    }
}

fn two_nodes(extender: ExtenderSpec) -> Sim {
    let mut sim = sim_with_extenders(vec![extender]);
    sim.write(node("n1", 4));
    sim.write(node("n2", 4));
    sim
}

/// One try of the pod at the head, everything told and done before and after it.
fn try_one(sim: &mut Sim, script: &mut Script) -> AttemptOutcome {
    sim.settle();
    let attempt = sim.schedule_one_with(script).unwrap();
    sim.settle();
    attempt.outcome
}

#[test]
fn nodes_that_an_extender_refuses_are_out_and_its_words_are_in_the_message() {
    let mut sim = two_nodes(extender());
    sim.write(pod("p", 1, &[]));
    let mut script = Script { refuse: vec![("n1", false), ("n2", true)], ..Script::default() };
    let AttemptOutcome::Unschedulable { message, .. } = try_one(&mut sim, &mut script) else {
        panic!("scheduled");
    };
    assert!(message.starts_with("0/2 nodes are available: 2 no licence left."), "{message}");
    let (_, info) = queued(&sim, "p").unwrap();
    assert!(info.unschedulable_plugins.contains("Extender"));
}

#[test]
fn any_change_wakes_a_pod_that_an_extender_refused() {
    let mut sim = two_nodes(extender());
    sim.write(pod("p", 1, &[]));
    let mut script = Script { refuse: vec![("n1", false), ("n2", false)], ..Script::default() };
    try_one(&mut sim, &mut script);
    // The first refusal changes the pod's own condition, and that is a change too, as upstream.
    assert_eq!(queued(&sim, "p").unwrap().0, "backoff");
    try_one(&mut sim, &mut script);
    assert_eq!(queued(&sim, "p").unwrap().0, "unschedulable");
    sim.write(node("n3", 1));
    sim.settle();
    assert_eq!(queued(&sim, "p").unwrap().0, "backoff");
}

#[test]
fn points_of_an_extender_outweigh_by_its_weight() {
    for preferred in ["n1", "n2"] {
        let mut sim = two_nodes(extender());
        sim.write(pod("p", 1, &[]));
        let mut script = Script { prefer: Some(preferred), ..Script::default() };
        try_one(&mut sim, &mut script);
        assert_eq!(node_of(&sim, "p").as_deref(), Some(preferred));
    }
}

#[test]
fn an_extender_that_is_down_fails_the_try_unless_it_is_ignorable() {
    let mut sim = two_nodes(extender());
    sim.write(pod("p", 1, &[]));
    let mut script = Script { down: true, ..Script::default() };
    let AttemptOutcome::Error { message } = try_one(&mut sim, &mut script) else {
        panic!("not an error");
    };
    assert_eq!(message, "connection refused");

    let mut sim = two_nodes(ExtenderSpec { ignorable: true, ..extender() });
    sim.write(pod("p", 1, &[]));
    assert!(matches!(try_one(&mut sim, &mut script), AttemptOutcome::Assumed { .. }));
}

#[test]
fn an_extender_with_managed_resources_is_asked_about_pods_that_ask_for_one() {
    let managed = ["example.com/licence".into()].into_iter().collect();
    let mut sim = two_nodes(ExtenderSpec { managed_resources: managed, ..extender() });
    sim.write(pod("p", 1, &[]));
    let mut script = Script { refuse: vec![("n1", false), ("n2", false)], ..Script::default() };
    assert!(matches!(try_one(&mut sim, &mut script), AttemptOutcome::Assumed { .. }));
    assert_eq!(script.calls, 0);
}

#[test]
fn an_extender_with_a_bind_verb_binds() {
    let mut sim = two_nodes(ExtenderSpec { binds: true, ..extender() });
    sim.write(pod("p", 1, &[]));
    try_one(&mut sim, &mut Script::default());
    assert!(node_of(&sim, "p").is_some());
}

#[test]
fn an_extender_is_asked_about_the_candidates_of_a_preemption() {
    let mut sim = sim_with_extenders(vec![extender()]);
    sim.write(node("n1", 1));
    sim.write(node("n2", 1));
    sim.write(pod_of_priority("a", 1, 10));
    sim.write(pod_of_priority("b", 1, 10));
    try_one(&mut sim, &mut Script::default());
    try_one(&mut sim, &mut Script::default());
    sim.write(pod_of_priority("high", 1, 100));
    let mut script = Script { keep: Some(vec!["n2"]), ..Script::default() };
    let AttemptOutcome::Unschedulable { nominated_node, .. } = try_one(&mut sim, &mut script)
    else {
        panic!("scheduled");
    };
    assert_eq!(nominated_node.as_deref(), Some("n2"));
    assert_eq!(sim.take_deleted().len(), 1);

    sim.write(pod_of_priority("higher", 1, 1000));
    let mut script = Script { keep: Some(vec![]), ..Script::default() };
    let message = loop {
        let attempt = sim.schedule_one_with(&mut script).unwrap();
        sim.settle();
        sim.advance(Duration::from_millis(1));
        if attempt.pod.key() == ObjectKey::new("default", "higher") {
            let AttemptOutcome::Unschedulable { message, .. } = attempt.outcome else {
                panic!("scheduled");
            };
            break message;
        }
    };
    assert!(message.ends_with("preemption: no candidate node for preemption"), "{message}");
}
