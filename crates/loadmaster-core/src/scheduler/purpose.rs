//! What results of work are for.

use std::sync::Arc;

use loadmaster_framework::{PodInfo, api::Text};

/// What a result is for.
#[derive(Clone, Debug)]
pub(super) enum Purpose {
    /// A pod's status was written; a failure is made up for by the next try.
    Status,
    /// A step before the binding of the pod of this uid; the action's number in the step.
    PreBind { uid: Text, action: usize },
    /// The binding of the pod of this uid.
    Bind { uid: Text },
    /// Whether the pod of this uid was bound after all.
    ReadBound { uid: Text },
    /// A victim's mark.
    MarkVictim(Eviction),
    /// A victim's deletion.
    DeleteVictim(Eviction),
}

/// One victim's way out.
#[derive(Clone, Debug)]
pub(super) struct Eviction {
    pub(super) preemptor: Text,
    /// Tells this preemption from an earlier one of the same pod, whose answers may still come.
    pub(super) run: u64,
    pub(super) victim: Arc<PodInfo>,
}
