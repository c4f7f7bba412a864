#![doc = include_str!("dynamic_resources.md")]

use loadmaster_framework::{
    ActionType, Candidates, ClusterEventWithHint, Cycle, CycleState, Enqueue, EnqueueExtensions,
    EventResource, FieldError, Filter, Gates, Handle, Hint, Hooks, NodeInfo, NodeScore,
    NodeToStatus, Outcome, Plugin, PluginError, PostFilter, PostFilterResult, PreBind,
    PreBindInput, PreBindStep, PreEnqueue, PreFilter, PreFlight, QueueingHint, Reserve, Score,
    Status,
};

use super::{
    args::DynamicResourcesArgs,
    hint::{changed_pod, unexpected},
};

mod claims;

#[cfg(test)]
#[expect(clippy::needless_pass_by_value, reason = "literals of JSON read best passed by value")]
mod tests;

/// See the [module](self).
#[derive(Debug)]
pub struct DynamicResources;

impl Plugin for DynamicResources {
    const NAME: &'static str = "DynamicResources";
    const DOC: &'static str = include_str!("dynamic_resources.md");
    type Args = DynamicResourcesArgs;

    fn validate(args: &DynamicResourcesArgs, path: &str) -> Vec<FieldError> {
        args.validate(path)
    }

    fn build(_: DynamicResourcesArgs, _: &Gates) -> Result<Hooks, FieldError> {
        Ok(Hooks::of(Self)
            .pre_enqueue()
            .pre_filter()
            .filter()
            .post_filter()
            .score()
            .reserve()
            .pre_bind()
            .enqueue_extensions()
            .into())
    }
}

impl PreEnqueue for DynamicResources {
    fn pre_enqueue(&self, cx: Enqueue<'_>) -> Outcome {
        claims::names(cx.pod).try_for_each(|it| it.map(drop)).map_err(Status::unresolvable)
    }
}

/// That PreFilter has seen the pod.
#[derive(Clone, Copy, Debug)]
struct Seen;

impl PreFilter for DynamicResources {
    fn pre_filter(&self, cx: Cycle<'_>, state: &mut CycleState) -> Outcome<Candidates> {
        state.put(Seen);
        refuse_devices(cx)?;
        Ok(Candidates::Skip)
    }
}

impl Filter for DynamicResources {
    /// Refuses what PreFilter refuses, for a profile without it.
    fn filter(&self, cx: Cycle<'_>, state: &CycleState, _: &NodeInfo) -> Outcome {
        if state.try_get::<Seen>().is_some() { Ok(()) } else { refuse_devices(cx) }
    }
}

impl PostFilter for DynamicResources {
    fn post_filter(
        &self,
        _: Cycle<'_>,
        state: &mut CycleState,
        _: &NodeToStatus,
        _: &mut dyn Handle,
    ) -> PostFilterResult {
        PostFilterResult::nothing(match state.try_get::<Seen>() {
            Some(Seen) => Status::unschedulable("no new claims to deallocate"),
            // Upstream's text where the round of PreFilters ended before this plugin's.
            None => Status::error("not found"),
        })
    }
}

impl Score for DynamicResources {
    fn score(&self, _: Cycle<'_>, _: &CycleState, _: &NodeInfo) -> Outcome<i64> {
        Ok(NodeScore::MIN)
    }
}

impl Reserve for DynamicResources {
    fn reserve(&self, cx: Cycle<'_>, _: &mut CycleState, _: &str, _: &mut dyn Handle) -> Outcome {
        refuse_devices(cx)
    }

    /// Nothing was reserved.
    fn unreserve(&self, _: Cycle<'_>, _: &mut CycleState, _: &str, _: &mut dyn Handle) {}
}

impl PreBind for DynamicResources {
    fn pre_flight(&self, cx: Cycle<'_>, _: &CycleState, _: &str) -> Outcome<PreFlight> {
        refuse_devices(cx).map(|()| PreFlight::Skip)
    }

    fn step(&self, cx: Cycle<'_>, _: &mut CycleState, _: &str, _: PreBindInput) -> PreBindStep {
        refuse_devices(cx).map_or_else(PreBindStep::Fail, |()| PreBindStep::Ready)
    }
}

impl EnqueueExtensions for DynamicResources {
    fn events_to_register(&self) -> Vec<ClusterEventWithHint> {
        let changed = ActionType::ADD | ActionType::UPDATE;
        let node =
            ActionType::ADD | ActionType::UPDATE_NODE_LABEL | ActionType::UPDATE_NODE_ALLOCATABLE;
        let generated = ActionType::UPDATE_POD_GENERATED_RESOURCE_CLAIM;
        vec![
            ClusterEventWithHint::always(EventResource::Node, node),
            ClusterEventWithHint::hinted(EventResource::ResourceClaim, changed),
            ClusterEventWithHint::hinted(EventResource::Pod, generated),
            ClusterEventWithHint::always(EventResource::DeviceClass, changed),
            ClusterEventWithHint::always(EventResource::ResourceSlice, changed),
        ]
    }

    fn queueing_hint(&self, hint: Hint<'_>) -> Result<QueueingHint, PluginError> {
        let helps = if hint.registered.resource == EventResource::ResourceClaim {
            let new = hint.new.ok_or_else(|| unexpected("resource claim"))?;
            claims::change_helps(hint.pod, hint.old, new, hint.listers)
        } else {
            let pod = changed_pod(&hint)?;
            pod.uid() == hint.pod.uid() && claims::of_pod(pod, hint.listers).is_ok()
        };
        Ok(if helps { QueueingHint::Queue } else { QueueingHint::Skip })
    }
}

/// Refuses a pod that needs devices, which this scheduler does not allocate: it must never be bound
/// without them.
fn refuse_devices(cx: Cycle<'_>) -> Outcome {
    let listers = cx.snapshot.listers();
    let claims = claims::of_pod(cx.pod, listers).map_err(Status::unresolvable)?;
    if !claims.is_empty() {
        return Err(Status::unresolvable(CLAIMS));
    }
    match claims::device_class_resource(cx.pod, listers) {
        Some((resource, class)) => Err(Status::unresolvable(format!(
            "this scheduler does not allocate devices: {resource} stands for device class {class}"
        ))),
        None => Ok(()),
    }
}

const CLAIMS: &str = "this scheduler does not allocate devices: the pod has resource claims";
