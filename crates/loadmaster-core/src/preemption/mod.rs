//! The dry run of preemption: which pods would have to go from a node, and what that would break.
//!
//! The engine belongs to the core since it runs the whole profile; which candidate is taken is the
//! `DefaultPreemption` plugin's choice.

mod extend;

use std::{cmp::Ordering, sync::Arc};

use loadmaster_framework::{
    Candidate, Cycle, CycleState, DryRun, NodeInfo, Outcome, PodInfo, Status,
    api::{PodDisruptionBudget, Selector, Timestamp},
};

use crate::profile::{NominatedPods, Profile};

pub(crate) use extend::ask_extenders;

/// What a dry run needs beside the cycle.
#[derive(Clone, Copy)]
pub struct Preemption<'a> {
    /// The plugins.
    pub profile: &'a Profile,
    /// Pods that are promised to nodes.
    pub nominated: &'a dyn NominatedPods,
}

impl std::fmt::Debug for Preemption<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Preemption({:?})", self.profile)
    }
}

/// A disruption budget, ready to be counted against.
struct Budget {
    budget: Arc<PodDisruptionBudget>,
    selector: Selector,
}

impl Preemption<'_> {
    /// Tries the nodes at `positions` of the snapshot, in that order. Candidates that break no
    /// budget come first. The search ends early only where one that breaks none is among
    /// `candidates_max` found.
    ///
    /// # Errors
    /// The errors of plugins, if there was no candidate.
    pub fn dry_run(
        self,
        cx: Cycle<'_>,
        state: &CycleState,
        positions: &[usize],
        candidates_max: usize,
    ) -> Outcome<DryRun> {
        let budgets = budgets(cx);
        let mut harmless = Vec::new();
        let mut violating = Vec::new();
        let mut run = DryRun::default();
        let mut errors = Vec::new();
        for &at in positions {
            match self.select_victims(cx, state.fork(), &cx.snapshot.nodes()[at], &budgets) {
                Ok(candidate) if candidate.num_pdb_violations == 0 => harmless.push(candidate),
                Ok(candidate) => violating.push(candidate),
                Err(status) => {
                    if status.is_error() {
                        errors.push(status.message());
                    }
                    run.statuses.push((at, status));
                }
            }
            if !harmless.is_empty() && harmless.len() + violating.len() >= candidates_max {
                break;
            }
        }
        run.candidates = harmless;
        run.candidates.append(&mut violating);
        if run.candidates.is_empty() && !errors.is_empty() {
            let text = match &errors[..] {
                [only] => only.clone(),
                all => format!("[{}]", all.join(", ")),
            };
            return Err(Status::error(text));
        }
        Ok(run)
    }

    /// Removes every pod of lower priority from the node, and puts back as many as leave the pod
    /// room: first those whose budget would be broken, each group most important first.
    fn select_victims(
        self,
        cx: Cycle<'_>,
        mut state: CycleState,
        node: &NodeInfo,
        budgets: &[Budget],
    ) -> Outcome<Candidate> {
        let mut node = node.clone();
        let preemptible = |it: &&Arc<PodInfo>| it.priority() < cx.pod.priority();
        let mut potential: Vec<_> = node.pods().iter().filter(preemptible).cloned().collect();
        for pod in &potential {
            self.remove(cx, &mut state, pod, &mut node)?;
        }
        if potential.is_empty() {
            return Err(Status::unresolvable("No preemption victims found for incoming pod"));
        }
        self.profile.run_filter_with_nominated(cx, &state, &node, self.nominated)?;
        potential.sort_by(|a, b| importance(a, b));
        let (violating, harmless) = split_by_budget(potential, budgets);
        let both = !violating.is_empty() && !harmless.is_empty();
        let mut victims = Vec::new();
        let mut num_pdb_violations = 0;
        for (pods, violates) in [(violating, 1), (harmless, 0)] {
            for pod in pods {
                if !self.reprieve(cx, &mut state, &pod, &mut node)? {
                    victims.push(pod);
                    num_pdb_violations += violates;
                }
            }
        }
        if both {
            victims.sort_by(|a, b| importance(a, b));
        }
        if victims.is_empty() {
            let text = format!("expected at least one victim pod on node {:?}", &**node.name());
            return Err(Status::error(text));
        }
        Ok(Candidate { node: node.name().clone(), victims, num_pdb_violations })
    }

    /// Puts `pod` back if the incoming pod still fits then; returns whether it stays.
    fn reprieve(
        self,
        cx: Cycle<'_>,
        state: &mut CycleState,
        pod: &Arc<PodInfo>,
        node: &mut NodeInfo,
    ) -> Outcome<bool> {
        node.add_pod(Arc::clone(pod));
        self.profile.run_add_pod(cx, state, pod, node)?;
        if self.profile.run_filter_with_nominated(cx, state, node, self.nominated).is_ok() {
            return Ok(true);
        }
        self.remove(cx, state, pod, node)?;
        Ok(false)
    }

    fn remove(
        self,
        cx: Cycle<'_>,
        state: &mut CycleState,
        pod: &Arc<PodInfo>,
        node: &mut NodeInfo,
    ) -> Outcome {
        node.remove_pod(pod.uid());
        self.profile.run_remove_pod(cx, state, pod, node)
    }
}

fn budgets(cx: Cycle<'_>) -> Vec<Budget> {
    let all = cx.snapshot.listers().pod_disruption_budgets.iter();
    all.filter_map(|budget| {
        // A budget without a selector, with an empty or a wrong one guards no pod here.
        let selector = budget.spec.selector.as_ref()?.compile().ok()?;
        (!selector.is_empty()).then(|| Budget { budget: Arc::clone(budget), selector })
    })
    .collect()
}

/// Splits `pods` into those whose going would break a budget, and the others, in their order. Each
/// pod is counted against every budget that guards it, whether or not one is broken already.
fn split_by_budget(
    pods: Vec<Arc<PodInfo>>,
    budgets: &[Budget],
) -> (Vec<Arc<PodInfo>>, Vec<Arc<PodInfo>>) {
    let mut allowed: Vec<i64> =
        budgets.iter().map(|it| i64::from(it.budget.status.disruptions_allowed)).collect();
    pods.into_iter().partition(|pod| {
        let labels = &pod.metadata.labels;
        let mut violates = false;
        for (Budget { budget, selector }, allowed) in budgets.iter().zip(&mut allowed) {
            let guards = budget.metadata.namespace == *pod.namespace()
                && !labels.is_empty()
                && selector.matches(labels)
                && !budget.status.disrupted_pods.contains_key(pod.name());
            if guards {
                *allowed -= 1;
                violates |= *allowed < 0;
            }
        }
        violates
    })
}

/// When the pod began to run; one without a start time has only just been placed.
pub fn start_time(pod: &PodInfo) -> Option<Timestamp> {
    pod.status.start_time
}

/// Most important first: higher priority, then the one that has run longer (upstream:
/// `MoreImportantPod`).
pub fn importance(a: &PodInfo, b: &PodInfo) -> Ordering {
    let earlier = |it: &PodInfo| start_time(it).map_or((1, None), |at| (0, Some(at)));
    b.priority().cmp(&a.priority()).then_with(|| earlier(a).cmp(&earlier(b)))
}
