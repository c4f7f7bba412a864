//! What the scheduler wants done in the world, and what came of it.

use std::sync::Arc;

use loadmaster_framework::{
    Action, ActionResult, Object, PodInfo,
    api::{ObjectKey, Text},
};

/// Names a piece of [`Work`] until its result is handed back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WorkId(pub(super) u64);

/// A new value for one entry of a pod's `status.conditions`. Times are the process's to fill in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConditionPatch {
    /// `PodScheduled` or `DisruptionTarget`.
    pub kind: &'static str,
    /// `True` or `False`.
    pub status: &'static str,
    /// One word of why.
    pub reason: &'static str,
    /// A sentence of why.
    pub message: String,
    /// The generation of the pod that was looked at.
    pub observed_generation: i64,
}

/// Whether an event is of the ordinary kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventType {
    /// All is well.
    Normal,
    /// Something wants attention.
    Warning,
}

impl EventType {
    /// The API's word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Normal => "Normal",
            Self::Warning => "Warning",
        }
    }
}

/// An event to record about a pod (`events.k8s.io/v1`).
#[derive(Clone, Debug)]
pub struct EventRecord {
    /// The pod it is about.
    pub regarding: Arc<PodInfo>,
    /// Another pod that has to do with it: the preemptor of a victim.
    pub related: Option<Arc<PodInfo>>,
    /// Ordinary or not.
    pub kind: EventType,
    /// `Scheduled`, `FailedScheduling`, `Preempted`.
    pub reason: &'static str,
    /// `Binding`, `Scheduling`, `Preempting`.
    pub action: &'static str,
    /// What the user reads; at most 1024 bytes, as the API demands.
    pub note: String,
    /// The reporting controller: the profile's scheduler name.
    pub reporter: Text,
}

/// Something to do in the world. Each but [`Work::Record`] is answered by
/// [`Scheduler::handle_result`](super::Scheduler::handle_result).
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Work {
    /// What a plugin asked for: a binding, or a step before it.
    Do(Action),
    /// `PATCH pods/{pod}/status`; nothing is sent where nothing would change.
    PatchPodStatus {
        /// The pod as it was last seen.
        pod: Arc<PodInfo>,
        /// The condition to set.
        condition: Option<ConditionPatch>,
        /// The node promised to the pod: `Some("")` promises none any more, `None` leaves it.
        nominated_node_name: Option<Text>,
    },
    /// `DELETE pods/{pod}`, with the uid as precondition.
    DeletePod {
        /// The pod as it was last seen.
        pod: Arc<PodInfo>,
    },
    /// A consistent `GET` of a pod whose binding went unanswered; answered by
    /// [`WorkResult::Pod`].
    ReadPod {
        /// Which pod.
        key: ObjectKey,
        /// Its identity.
        uid: Text,
    },
    /// The bind verb of an extender.
    ExtenderBind {
        /// The extender's name: its URL prefix.
        extender: String,
        /// The pod.
        pod: Arc<PodInfo>,
        /// The target node.
        node: Text,
    },
    /// An event to record; not answered.
    Record(EventRecord),
}

/// What came of a piece of work.
#[derive(Clone, Debug)]
pub enum WorkResult {
    /// For every kind of work but a read.
    Done(ActionResult),
    /// For [`Work::ReadPod`]: the pod, or that it is gone, or why it could not be read.
    Pod(Result<Option<Object>, String>),
}
