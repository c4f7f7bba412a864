#![doc = include_str!("scheduling_gates.md")]

use loadmaster_framework::{
    ActionType, ClusterEventWithHint, Enqueue, EnqueueExtensions, EventResource, FieldError, Gates,
    Hint, Hooks, Outcome, Plugin, PluginError, PreEnqueue, QueueingHint, Status,
};

use super::hint::changed_pod;
use crate::NoArgs;

/// See the [module](self).
#[derive(Debug)]
pub struct SchedulingGates;

impl Plugin for SchedulingGates {
    const NAME: &'static str = "SchedulingGates";
    const DOC: &'static str = include_str!("scheduling_gates.md");
    type Args = NoArgs;

    fn build(NoArgs {}: NoArgs, _: &Gates) -> Result<Hooks, FieldError> {
        Ok(Hooks::of(Self).pre_enqueue().enqueue_extensions().into())
    }
}

impl PreEnqueue for SchedulingGates {
    fn pre_enqueue(&self, cx: Enqueue<'_>) -> Outcome {
        let gates = &cx.pod.spec.scheduling_gates;
        if gates.is_empty() {
            return Ok(());
        }
        let names: Vec<&str> = gates.iter().map(|it| &*it.name).collect();
        let reason = format!("waiting for scheduling gates: [{}]", names.join(" "));
        Err(Status::unresolvable(reason))
    }
}

impl EnqueueExtensions for SchedulingGates {
    fn events_to_register(&self) -> Vec<ClusterEventWithHint> {
        let gone = ActionType::UPDATE_POD_SCHEDULING_GATES_ELIMINATED;
        vec![ClusterEventWithHint::hinted(EventResource::Pod, gone)]
    }

    fn queueing_hint(&self, hint: Hint<'_>) -> Result<QueueingHint, PluginError> {
        let own = changed_pod(&hint)?.uid() == hint.pod.uid();
        Ok(if own { QueueingHint::Queue } else { QueueingHint::Skip })
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use loadmaster_framework::Code;
    use serde_json::json;

    use super::*;
    use crate::test_kit::pod;

    #[test]
    fn a_pod_with_gates_is_held_back_and_told_which() {
        let ask = |gates: serde_json::Value| {
            let pod = pod(json!({"spec": {"schedulingGates": gates}}));
            let cx = Enqueue { pod: &pod, now: Duration::ZERO, preempting: false };
            SchedulingGates.pre_enqueue(cx)
        };
        let status = ask(json!([{"name": "quota"}, {"name": "example.com/b"}])).unwrap_err();
        assert_eq!(status.code(), Code::UnschedulableAndUnresolvable);
        assert_eq!(status.message(), "waiting for scheduling gates: [quota example.com/b]");
        assert_eq!(ask(json!([])), Ok(()));
        assert_eq!(ask(json!(null)), Ok(()));
    }
}
