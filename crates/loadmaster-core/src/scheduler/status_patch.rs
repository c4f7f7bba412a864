//! Writing a pod's status, only where something changes.

use std::sync::Arc;

use loadmaster_framework::{PodInfo, api::Text};

use super::{ConditionPatch, Scheduler, Work, purpose::Purpose};

impl Scheduler {
    /// Hands out a patch of the pod's status, unless the pod says all of it already.
    pub(super) fn patch_status(
        &mut self,
        pod: &Arc<PodInfo>,
        condition: Option<ConditionPatch>,
        nominated_node_name: Option<Text>,
    ) {
        let condition = condition.filter(|it| changes(pod, it));
        let nominated_node_name =
            nominated_node_name.filter(|it| *it != pod.status.nominated_node_name);
        if condition.is_none() && nominated_node_name.is_none() {
            return;
        }
        let work = Work::PatchPodStatus { pod: Arc::clone(pod), condition, nominated_node_name };
        self.give(work, Some(Purpose::Status));
    }
}

fn changes(pod: &PodInfo, patch: &ConditionPatch) -> bool {
    pod.status.condition(patch.kind).is_none_or(|it| {
        *it.status != *patch.status || *it.reason != *patch.reason || *it.message != *patch.message
    })
}
