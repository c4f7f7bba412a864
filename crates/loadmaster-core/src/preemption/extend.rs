//! Where HTTP extenders take part in a preemption.

use std::sync::Arc;

use loadmaster_framework::{Candidate, Cycle, Outcome, PodInfo, Status};

use crate::cycle::{ExtenderSpec, Ports, Preempted};

/// What the extenders leave of the candidates, each asked about what the one before it left
/// (upstream: `callExtenders`).
///
/// # Errors
/// The first failure of an extender that is not ignorable.
pub(crate) fn ask_extenders(
    extenders: &[ExtenderSpec],
    ports: &mut dyn Ports,
    cx: Cycle<'_>,
    mut candidates: Vec<Candidate>,
) -> Outcome<Vec<Candidate>> {
    for extender in extenders.iter().filter(|it| it.preempts && it.is_interested(cx.pod)) {
        if candidates.is_empty() {
            break;
        }
        let answer = ports.extend_preempt(extender, cx.pod, &candidates);
        let found = answer.and_then(|kept| {
            kept.iter().map(|it| candidate(cx, it)).collect::<Result<Vec<_>, _>>()
        });
        let mut kept = match found {
            Ok(kept) => kept,
            Err(_) if extender.ignorable => continue,
            Err(error) => return Err(Status::error(error)),
        };
        if let Some(empty) = kept.iter().find(|it| it.victims.is_empty()) {
            if !extender.ignorable {
                let node = &*empty.node;
                let text = format!("expected at least one victim pod on node {node:?}");
                return Err(Status::error(text));
            }
            kept.retain(|it| !it.victims.is_empty());
        }
        candidates = kept;
    }
    Ok(candidates)
}

/// The candidate that an extender means, its pods found again by uid.
fn candidate(cx: Cycle<'_>, kept: &Preempted) -> Result<Candidate, String> {
    let name = &*kept.node;
    let node = cx.snapshot.node(name).ok_or_else(|| format!("node {name:?} not found"))?;
    let pod = |uid: &str| -> Result<Arc<PodInfo>, String> {
        let found = node.pods().iter().find(|it| &**it.uid() == uid);
        found.cloned().ok_or_else(|| format!("extender: no pod {uid} on node {name:?}"))
    };
    let victims = kept.victims.iter().map(|uid| pod(uid)).collect::<Result<_, _>>()?;
    let num_pdb_violations = kept.num_pdb_violations;
    Ok(Candidate { node: node.name().clone(), victims, num_pdb_violations })
}
