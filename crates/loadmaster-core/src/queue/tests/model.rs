//! The law of the queue: no pod is lost, and none is in two places.

use std::collections::BTreeMap;

use loadmaster_framework::QueuedPodInfo;
use proptest::prelude::*;

use super::{Bench, NODE_ADD, NODE_LABEL, gated, key, pod, secs};

#[derive(Clone, Debug)]
enum Op {
    Add(u8, bool),
    Update(u8, bool),
    Delete(u8),
    Pop,
    Reject(u8, u8),
    Bind(u8),
    Event(bool),
    Activate(u8),
    Wait(u16),
    Shut(u8, bool),
}

fn op() -> impl Strategy<Value = Op> {
    let name = 0_u8..8;
    prop_oneof![
        4 => (name.clone(), any::<bool>()).prop_map(|(n, gate)| Op::Add(n, gate)),
        2 => (name.clone(), any::<bool>()).prop_map(|(n, gate)| Op::Update(n, gate)),
        1 => name.clone().prop_map(Op::Delete),
        4 => Just(Op::Pop),
        4 => (name.clone(), 0_u8..5).prop_map(|(n, plugin)| Op::Reject(n, plugin)),
        1 => name.clone().prop_map(Op::Bind),
        2 => any::<bool>().prop_map(Op::Event),
        1 => name.clone().prop_map(Op::Activate),
        2 => (0_u16..400).prop_map(Op::Wait),
        1 => (name, any::<bool>()).prop_map(|(n, shut)| Op::Shut(n, shut)),
    ]
}

/// What a pod is known to be by the one who drives the queue.
#[derive(Debug, Default)]
struct Model {
    /// Pods that exist, and whether they carry a gate.
    pods: BTreeMap<String, bool>,
    in_flight: BTreeMap<String, QueuedPodInfo>,
    now: u64,
}

fn apply(it: &mut Bench, model: &mut Model, op: &Op) {
    let name = |at: &u8| format!("p{at}");
    let make = |name: &str, gate: bool| if gate { gated(name) } else { pod(name) };
    let now = secs(model.now);
    match op {
        Op::Add(n, gate) => {
            let name = name(n);
            if !model.pods.contains_key(&name) && !model.in_flight.contains_key(&name) {
                it.add(now, make(&name, *gate));
                model.pods.insert(name, *gate);
            }
        }
        Op::Update(n, gate) => {
            let name = name(n);
            // Gates can only be removed.
            if let Some(old) = model.pods.get(&name).copied() {
                let new = old && *gate;
                it.update(now, &make(&name, old), &make(&name, new));
                model.pods.insert(name, new);
            }
        }
        Op::Delete(n) => {
            let name = name(n);
            if model.pods.remove(&name).is_some() {
                it.queue.delete(&it.host, pod(&name).pod());
            }
        }
        Op::Pop => {
            if let Some(info) = it.pop() {
                model.in_flight.insert(info.pod.name().to_string(), info);
            }
        }
        Op::Reject(n, plugin) => {
            if let Some(info) = model.in_flight.remove(&name(n)) {
                if model.pods.contains_key(&name(n)) {
                    let by = [&[][..], &["Fit"], &["Label"], &["Broken"], &["Deaf"]];
                    it.reject(now, info, by[usize::from(*plugin)]).unwrap();
                } else {
                    it.queue.done(info.pod.uid());
                }
            }
        }
        Op::Bind(n) => {
            if let Some(info) = model.in_flight.remove(&name(n)) {
                model.pods.remove(&name(n));
                it.queue.done(info.pod.uid());
            }
        }
        Op::Event(node) => it.happens(now, if *node { NODE_ADD } else { NODE_LABEL }),
        Op::Activate(n) => it.queue.activate(&it.host, now, &[key(&name(n))]),
        Op::Wait(seconds) => {
            model.now += u64::from(*seconds);
            it.wait(secs(model.now));
        }
        Op::Shut(n, true) => it.host.shut_out(&name(n)),
        Op::Shut(n, false) => it.host.let_in(&name(n)),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn every_pod_is_in_exactly_one_place(ops in proptest::collection::vec(op(), 1..200)) {
        let mut it = Bench::new();
        let mut model = Model::default();
        for op in &ops {
            apply(&mut it, &mut model, op);
            let mut places: Vec<_> =
                it.queue.pending_pods().map(|(_, info)| info.pod.name().to_string()).collect();
            places.extend(model.in_flight.keys().filter(|it| model.pods.contains_key(*it)).cloned());
            places.sort();
            prop_assert_eq!(places, model.pods.keys().cloned().collect::<Vec<_>>(), "{:?}", op);

            let in_flight: Vec<_> =
                it.queue.in_flight_pods().map(|it| it.name().to_string()).collect();
            prop_assert_eq!(in_flight, model.in_flight.keys().cloned().collect::<Vec<_>>());
            prop_assert!(!model.in_flight.is_empty() || it.queue.in_flight_len().1 == 0);
            for (_, info) in it.queue.pending_pods().filter(|(_, info)| info.is_gated()) {
                let part = it.part(info.pod.name());
                prop_assert_eq!(part, Some(super::QueuePart::Unschedulable));
            }
            // The queue asks to be woken later than it was just woken, or it would never rest.
            if let Op::Wait(_) = op {
                prop_assert!(it.queue.poll_timeout().is_none_or(|it| it > secs(model.now)));
            }
        }

        // In the end no gate is shut and time passes: every pod without a gate of its own is tried.
        for (name, info) in std::mem::take(&mut model.in_flight) {
            if model.pods.contains_key(&name) {
                it.reject(secs(model.now), info, &["Deaf"]).unwrap();
            } else {
                it.queue.done(info.pod.uid());
            }
        }
        for name in model.pods.keys() {
            it.host.let_in(name);
        }
        it.wait(secs(model.now + 331));
        let mut tried = it.drain();
        it.wait(secs(model.now + 700));
        tried.extend(it.drain());
        tried.sort();
        let free = model.pods.iter().filter(|(_, gate)| !**gate).map(|(name, _)| name.clone());
        prop_assert_eq!(tried, free.collect::<Vec<_>>());
    }
}
