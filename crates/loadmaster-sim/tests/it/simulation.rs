//! Thousands of random histories, from one seed each: pods, nodes and priorities come and go,
//! bindings fail, answers are lost, events are late or doubled.
//!
//! `LOADMASTER_SIM_SEED=N` replays one; `LOADMASTER_SIM_COUNT=N` runs that many.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::history::History;

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok().map(|it| it.parse().unwrap())
}

fn check(seed: u64) {
    let mut history = History::new(seed);
    for step in 0..150 {
        history.step();
        if let Err(violation) = history.sim.check_nodes() {
            panic!("step {step}: {violation}");
        }
    }
    history.come_to_rest();
    history.sim.check_nodes().unwrap();
    history.sim.check_pods().unwrap();
    assert_eq!(history.sim.cluster().bind_conflicts(), 0, "a pod was to be bound twice");
    assert_eq!(history.sim.scheduler().queue().in_flight_len(), (0, 0), "pods left in flight");
    assert_eq!(history.sim.scheduler().binding_counts(), (0, 0), "bindings left");
    assert_eq!(history.forgotten_pod(), None, "a pod waits although a node has room");
    for _ in 0..6 {
        history.calm_step();
        history.sim.check_nodes().unwrap();
        assert_eq!(history.forgotten_pod(), None, "a change woke no pod though it makes room");
    }
}

#[test]
fn every_history_keeps_the_invariants() {
    let seeds = match number("LOADMASTER_SIM_SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..number("LOADMASTER_SIM_COUNT").unwrap_or(2000),
    };
    for seed in seeds {
        let outcome = catch_unwind(AssertUnwindSafe(|| check(seed)));
        assert!(outcome.is_ok(), "seed {seed} failed; LOADMASTER_SIM_SEED={seed} replays it");
    }
}
