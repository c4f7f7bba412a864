#![doc = include_str!("node_resources_fit.md")]

use std::{collections::BTreeSet, sync::Arc};

use loadmaster_framework::{
    ActionType, Candidates, ClusterEventWithHint, Cycle, CycleState, EnqueueExtensions,
    EventResource, FieldError, Filter, Gates, Hint, Hooks, Interest, NodeInfo, Outcome, Plugin,
    PluginError, PreFilter, PreScore, QueueingHint, Reason, Score, Status,
    api::{Pod, PodRequestOptions, Resource, is_extended_resource_name, pod_requests},
};
use smallvec::SmallVec;

use super::{args::NodeResourcesFitArgs, resource_slot::ScoredResource};

mod hints;
mod strategy;

#[cfg(test)]
#[expect(clippy::needless_pass_by_value, reason = "literals of JSON read best passed by value")]
mod tests;

/// See the [module](self).
#[derive(Debug)]
pub struct NodeResourcesFit {
    ignored: BTreeSet<String>,
    ignored_groups: BTreeSet<String>,
    scored: Vec<ScoredResource>,
    strategy: strategy::Strategy,
}

impl Plugin for NodeResourcesFit {
    const NAME: &'static str = "NodeResourcesFit";
    const DOC: &'static str = include_str!("node_resources_fit.md");
    type Args = NodeResourcesFitArgs;

    fn validate(args: &NodeResourcesFitArgs, path: &str) -> Vec<FieldError> {
        args.validate(path)
    }

    fn build(args: NodeResourcesFitArgs, _: &Gates) -> Result<Hooks, FieldError> {
        let plugin = Self {
            scored: ScoredResource::list(&args.scoring_strategy.resources),
            strategy: strategy::Strategy::new(&args.scoring_strategy)?,
            ignored: args.ignored_resources.into_iter().collect(),
            ignored_groups: args.ignored_resource_groups.into_iter().collect(),
        };
        Ok(Hooks::of(plugin).pre_filter().filter().pre_score().score().enqueue_extensions().into())
    }
}

/// What the pod takes of a node, without the resources that the profile ignores.
#[derive(Clone, Debug)]
struct Wanted(Resource);

impl PreFilter for NodeResourcesFit {
    fn pre_filter(&self, cx: Cycle<'_>, state: &mut CycleState) -> Outcome<Candidates> {
        state.put(Wanted(self.wanted(cx.pod)));
        Ok(Candidates::All)
    }
}

impl Filter for NodeResourcesFit {
    fn filter(&self, cx: Cycle<'_>, state: &CycleState, node: &NodeInfo) -> Outcome {
        match state.try_get() {
            Some(Wanted(wanted)) => fits(wanted, node),
            None => fits(&self.wanted(cx.pod), node),
        }
    }
}

/// What the pod asks for of each scored resource, in their order.
#[derive(Clone, Debug)]
struct Asked(SmallVec<[i128; 4]>);

impl PreScore for NodeResourcesFit {
    fn pre_score(
        &self,
        cx: Cycle<'_>,
        state: &mut CycleState,
        _: &[Arc<NodeInfo>],
    ) -> Outcome<Interest> {
        state.put(self.asked(cx.pod));
        Ok(Interest::Score)
    }
}

impl Score for NodeResourcesFit {
    fn score(&self, cx: Cycle<'_>, state: &CycleState, node: &NodeInfo) -> Outcome<i64> {
        let score = |Asked(asked): &Asked| {
            let usages = self.scored.iter().zip(asked);
            self.strategy.score(usages.filter_map(|(it, &asked)| it.usage(node, asked, true)))
        };
        Ok(state.try_get().map_or_else(|| score(&self.asked(cx.pod)), score))
    }
}

impl EnqueueExtensions for NodeResourcesFit {
    fn events_to_register(&self) -> Vec<ClusterEventWithHint> {
        let pod = ActionType::DELETE | ActionType::UPDATE_POD_SCALE_DOWN;
        let node = ActionType::ADD | ActionType::UPDATE_NODE_ALLOCATABLE;
        let class = ActionType::ADD | ActionType::UPDATE;
        vec![
            ClusterEventWithHint::hinted(EventResource::Pod, pod),
            ClusterEventWithHint::hinted(EventResource::Node, node),
            ClusterEventWithHint::hinted(EventResource::DeviceClass, class),
        ]
    }

    fn queueing_hint(&self, hint: Hint<'_>) -> Result<QueueingHint, PluginError> {
        let helps = match hint.registered.resource {
            EventResource::Node => hints::node_helps(&hint)?,
            EventResource::DeviceClass => hints::device_class_helps(&hint)?,
            _ => hints::pod_helps(&hint)?,
        };
        Ok(if helps { QueueingHint::Queue } else { QueueingHint::Skip })
    }
}

impl NodeResourcesFit {
    fn wanted(&self, pod: &Pod) -> Resource {
        let mut wanted = requests(pod);
        if self.ignored.is_empty() && self.ignored_groups.is_empty() {
            return wanted;
        }
        let ignored = |name: &str| {
            let group = name.split('/').next().unwrap_or(name);
            is_extended_resource_name(name)
                && (self.ignored.contains(name) || self.ignored_groups.contains(group))
        };
        let names: Vec<_> = wanted.scalars().iter().map(|(name, _)| name.clone()).collect();
        for name in names.iter().filter(|it| ignored(it)) {
            wanted.set_scalar(name, 0);
        }
        wanted
    }

    /// As upstream, pods are scored by their containers alone, without pod-level requests.
    fn asked(&self, pod: &Pod) -> Asked {
        let options = PodRequestOptions { skip_pod_level: true, ..PodRequestOptions::default() };
        let requests = pod_requests(pod, &options.with_non_zero_defaults());
        let requests = Resource::from_resource_list(&requests);
        Asked(self.scored.iter().map(|it| it.amount(&requests)).collect())
    }
}

/// What a pod that is not placed yet takes of a node.
fn requests(pod: &Pod) -> Resource {
    let mut requests = Resource::default();
    requests.set_max_list(&pod_requests(pod, &PodRequestOptions::default()));
    requests
}

/// Whether `wanted` is free on `node`; all that is short is told. What no pod could give back, since
/// the node as a whole has less, is not worth a preemption.
fn fits(wanted: &Resource, node: &NodeInfo) -> Outcome {
    let (free_of, used) = (node.allocatable(), node.requested());
    let mut reasons = SmallVec::<[Reason; 4]>::new();
    let mut hopeless = false;
    if node.pods().len() as i128 + 1 > free_of.allowed_pod_number {
        reasons.push("Too many pods".into());
    }
    for (reason, wanted, whole, used) in [
        ("Insufficient cpu", wanted.milli_cpu, free_of.milli_cpu, used.milli_cpu),
        ("Insufficient memory", wanted.memory, free_of.memory, used.memory),
        (
            "Insufficient ephemeral-storage",
            wanted.ephemeral_storage,
            free_of.ephemeral_storage,
            used.ephemeral_storage,
        ),
    ] {
        if wanted > 0 && wanted > whole - used {
            reasons.push(reason.into());
            hopeless |= wanted > whole;
        }
    }
    for (name, wanted) in wanted.scalars().iter().filter(|(_, wanted)| *wanted != 0) {
        let (whole, used) = (free_of.scalar(name), used.scalar(name));
        if *wanted > whole - used {
            reasons.push(format!("Insufficient {name}").into());
            hopeless |= *wanted > whole;
        }
    }
    match (reasons.is_empty(), hopeless) {
        (true, _) => Ok(()),
        (false, true) => Err(Status::unresolvable_for(reasons)),
        (false, false) => Err(Status::unschedulable_for(reasons)),
    }
}
