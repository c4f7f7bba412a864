#![doc = include_str!("default_preemption.md")]

use std::collections::BTreeMap;

use loadmaster_framework::{
    Access, ActionType, Candidate, ClusterEventWithHint, Code, Cycle, CycleState, Enqueue,
    EnqueueExtensions, EventResource, FieldError, Gates, Handle, Hint, Hooks, Kind, NodeToStatus,
    Nominating, Outcome, Plugin, PluginError, PodInfo, PostFilter, PostFilterResult, PreEnqueue,
    QueueingHint, Status,
    api::{Pod, PreemptionPolicy},
};

use super::args::DefaultPreemptionArgs;

mod ranking;

#[cfg(test)]
mod tests;

/// See the [module](self).
#[derive(Debug)]
pub struct DefaultPreemption {
    args: DefaultPreemptionArgs,
}

impl Plugin for DefaultPreemption {
    const NAME: &'static str = "DefaultPreemption";
    const DOC: &'static str = include_str!("default_preemption.md");
    type Args = DefaultPreemptionArgs;

    fn validate(args: &DefaultPreemptionArgs, path: &str) -> Vec<FieldError> {
        args.validate(path)
    }

    fn build(args: DefaultPreemptionArgs, _: &Gates) -> Result<Hooks, FieldError> {
        Ok(Hooks::of(Self { args })
            .pre_enqueue()
            .post_filter()
            .enqueue_extensions()
            .reads(&[Kind::PodDisruptionBudget])
            .needs(Access::new("", "pods", &["delete"]))
            .into())
    }
}

impl PreEnqueue for DefaultPreemption {
    fn pre_enqueue(&self, cx: Enqueue<'_>) -> Outcome {
        if cx.preempting { Err(Status::unresolvable(PREEMPTING)) } else { Ok(()) }
    }
}

impl PostFilter for DefaultPreemption {
    fn post_filter(
        &self,
        cx: Cycle<'_>,
        state: &mut CycleState,
        why: &NodeToStatus,
        handle: &mut dyn Handle,
    ) -> PostFilterResult {
        if let Err(reason) = may_preempt(cx, why) {
            return PostFilterResult::nothing(Status::unschedulable(format!(
                "preemption: {reason}"
            )));
        }
        self.preempt(cx, state, why, handle).unwrap_or_else(|status| {
            let reason = format!("preemption: {}", status.message());
            PostFilterResult::nothing(Status::error(reason))
        })
    }
}

/// Where the next search begins, so that over time every node is among the first.
#[derive(Clone, Copy, Debug, Default)]
struct NextStart(usize);

impl DefaultPreemption {
    /// Chooses the victims that it hurts least to lose.
    ///
    /// # Errors
    /// An error of a plugin or of an extender.
    fn preempt(
        &self,
        cx: Cycle<'_>,
        state: &CycleState,
        why: &NodeToStatus,
        handle: &mut dyn Handle,
    ) -> Outcome<PostFilterResult> {
        let mut positions: Vec<usize> = why.positions_with(Code::Unschedulable).collect();
        let mut statuses = Vec::new();
        if !positions.is_empty() {
            let candidates_max = self.candidates_max(positions.len());
            let NextStart(start) = handle.slot().get_or_default();
            let offset = *start % positions.len();
            *start = offset + candidates_max;
            positions.rotate_left(offset);
            let run = handle.dry_run_preemption(cx, state, why, &positions, candidates_max)?;
            if !run.candidates.is_empty() {
                return choose(cx, run.candidates, handle);
            }
            statuses = run.statuses;
        }
        let text = explain(cx.snapshot.nodes().len(), statuses.iter().map(|(_, it)| it));
        Ok(PostFilterResult {
            nominating: Nominating::Clear,
            victims: Vec::new(),
            status: Err(Status::unschedulable(format!("preemption: {text}"))),
        })
    }

    /// How many candidates are enough where `nodes` might be helped.
    fn candidates_max(&self, nodes: usize) -> usize {
        let of = |setting: i32| usize::try_from(setting).unwrap_or(0);
        let part = nodes.saturating_mul(of(self.args.min_candidate_nodes_percentage)) / 100;
        part.max(of(self.args.min_candidate_nodes_absolute)).min(nodes)
    }
}

/// The best of what the extenders leave of the candidates.
fn choose(
    cx: Cycle<'_>,
    candidates: Vec<Candidate>,
    handle: &mut dyn Handle,
) -> Outcome<PostFilterResult> {
    let left = handle.extend_preemption(cx, candidates)?;
    Ok(match ranking::best(left) {
        Some(best) => PostFilterResult {
            nominating: Nominating::Node(best.node),
            victims: best.victims,
            status: Ok(()),
        },
        None => PostFilterResult::nothing(Status::unschedulable(
            "preemption: no candidate node for preemption",
        )),
    })
}

/// Whether the pod may push others off a node now; if not, why (upstream:
/// `PodEligibleToPreemptOthers`).
fn may_preempt(cx: Cycle<'_>, why: &NodeToStatus) -> Result<(), &'static str> {
    if cx.pod.spec.preemption_policy == Some(PreemptionPolicy::Never) {
        return Err("not eligible due to preemptionPolicy=Never.");
    }
    let Some(position) = cx.snapshot.position(&cx.pod.status.nominated_node_name) else {
        return Ok(());
    };
    let hopeless =
        why.get(position).is_some_and(|it| it.code() == Code::UnschedulableAndUnresolvable);
    let leaves = |it: &PodInfo| it.priority() < cx.pod.priority() && is_going_for_another(it);
    if !hopeless && cx.snapshot.nodes()[position].pods().iter().any(|it| leaves(it)) {
        return Err("not eligible due to a terminating pod on the nominated node.");
    }
    Ok(())
}

/// Whether the pod is terminating because a scheduler chose it as a victim.
fn is_going_for_another(pod: &Pod) -> bool {
    pod.is_terminating()
        && pod
            .status
            .condition("DisruptionTarget")
            .is_some_and(|it| &*it.status == "True" && &*it.reason == "PreemptionByScheduler")
}

/// Why preemption helps on none of `nodes`; nodes without a status of their own were not even worth
/// a try.
fn explain<'a>(nodes: usize, tried: impl ExactSizeIterator<Item = &'a Status>) -> String {
    let rest = nodes.saturating_sub(tried.len());
    let mut counts = BTreeMap::<&str, usize>::new();
    for reason in tried.flat_map(Status::reasons) {
        *counts.entry(reason).or_default() += 1;
    }
    if rest > 0 {
        *counts.entry(NOT_HELPFUL).or_default() += rest;
    }
    let mut counted: Vec<String> =
        counts.iter().map(|(reason, count)| format!("{count} {reason}")).collect();
    counted.sort_unstable();
    format!("0/{nodes} nodes are available: {}.", counted.join(", "))
}

impl EnqueueExtensions for DefaultPreemption {
    fn events_to_register(&self) -> Vec<ClusterEventWithHint> {
        vec![ClusterEventWithHint::hinted(EventResource::Pod, ActionType::DELETE)]
    }

    /// The plugins that found no room say when there is; this one only holds the pod back.
    fn queueing_hint(&self, _: Hint<'_>) -> Result<QueueingHint, PluginError> {
        Ok(QueueingHint::Skip)
    }
}

const PREEMPTING: &str = "waiting for the preemption for this pod to be finished";
const NOT_HELPFUL: &str = "Preemption is not helpful for scheduling";
