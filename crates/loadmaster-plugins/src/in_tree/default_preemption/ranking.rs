//! Which of several candidates it hurts least to take.

use std::cmp::Reverse;

use loadmaster_framework::{Candidate, PodInfo, api::Timestamp};

/// The candidate that it hurts least to take (upstream: `pickOneNodeForPreemption`): the fewest
/// broken budgets; then the lowest of the victims' highest priorities; the smallest sum of
/// priorities; the fewest victims; and the one whose important victims have run shortest. Of equals
/// the first.
pub(super) fn best(candidates: Vec<Candidate>) -> Option<Candidate> {
    candidates.into_iter().min_by_key(|it| {
        let priorities = || it.victims.iter().map(|it| it.priority());
        // Shifted to be positive, so that one victim of negative priority is less than two.
        let sum: i128 = priorities().map(|it| i128::from(it) - i128::from(i32::MIN)).sum();
        (
            it.num_pdb_violations,
            it.victims.first().map(|it| it.priority()),
            sum,
            it.victims.len(),
            Reverse(priorities().max().and_then(|highest| first_start(it, highest))),
        )
    })
}

/// When the first of the victims of this priority began to run. One without a start time has only
/// just been placed.
fn first_start(candidate: &Candidate, priority: i32) -> Option<(bool, Option<Timestamp>)> {
    let important = candidate.victims.iter().filter(|it| it.priority() == priority);
    let start = |it: &PodInfo| (it.status.start_time.is_none(), it.status.start_time);
    important.map(|it| start(it)).min()
}
