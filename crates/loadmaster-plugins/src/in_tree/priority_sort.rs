#![doc = include_str!("priority_sort.md")]

use loadmaster_framework::{FieldError, Gates, Hooks, Plugin, QueueSort, QueuedPodInfo};

use crate::NoArgs;

/// See the [module](self).
#[derive(Debug)]
pub struct PrioritySort;

impl Plugin for PrioritySort {
    const NAME: &'static str = "PrioritySort";
    const DOC: &'static str = include_str!("priority_sort.md");
    type Args = NoArgs;

    fn build(NoArgs {}: NoArgs, _: &Gates) -> Result<Hooks, FieldError> {
        Ok(Hooks::of(Self).queue_sort().into())
    }
}

impl QueueSort for PrioritySort {
    fn less(&self, a: &QueuedPodInfo, b: &QueuedPodInfo) -> bool {
        let (high, low) = (a.pod.priority(), b.pod.priority());
        high > low || (high == low && a.timestamp < b.timestamp)
    }
}

#[cfg(test)]
mod tests {
    use std::{sync::Arc, time::Duration};

    use serde_json::json;

    use super::*;
    use crate::test_kit::pod;

    #[test]
    fn higher_priority_goes_first_and_of_equal_ones_the_earlier() {
        let queued = |priority: serde_json::Value, seconds| {
            let pod = pod(json!({"metadata": {"name": "a"}, "spec": {"priority": priority}}));
            QueuedPodInfo::new(Arc::new(pod), Duration::from_secs(seconds))
        };
        // Each row: what goes before what; an absent priority is 0.
        for (first, second) in [
            (queued(json!(2), 9), queued(json!(1), 1)),
            (queued(json!(1), 9), queued(json!(null), 1)),
            (queued(json!(null), 9), queued(json!(-1), 1)),
            (queued(json!(1), 1), queued(json!(1), 2)),
            (queued(json!(0), 1), queued(json!(null), 2)),
        ] {
            assert!(PrioritySort.less(&first, &second), "{first:?} before {second:?}");
            assert!(!PrioritySort.less(&second, &first), "not {second:?} before {first:?}");
        }
        let twin = queued(json!(1), 1);
        assert!(!PrioritySort.less(&twin, &twin), "equal pods are in no order");
    }
}
