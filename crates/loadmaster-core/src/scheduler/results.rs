//! What results of work are for.

use std::time::Duration;

use loadmaster_framework::api::Text;

use super::{Scheduler, WorkId, WorkResult, executor::Eviction};

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

impl Scheduler {
    /// Hands back what came of a piece of work. A result for work that is not outstanding changes
    /// nothing.
    pub fn handle_result(&mut self, now: Duration, id: WorkId, result: WorkResult) {
        let Some(purpose) = self.purposes.remove(&id) else { return };
        match (purpose, result) {
            (Purpose::Status, WorkResult::Done(result)) => {
                if let Err(error) = result {
                    tracing::debug!(%error, "pod status not written");
                }
            }
            (Purpose::PreBind { uid, action }, WorkResult::Done(result)) => {
                self.pre_bind_done(now, &uid, action, result);
            }
            (Purpose::Bind { uid }, WorkResult::Done(result)) => self.bind_done(now, &uid, result),
            (Purpose::ReadBound { uid }, WorkResult::Pod(pod)) => self.bound_read(now, &uid, pod),
            (Purpose::MarkVictim(eviction), WorkResult::Done(result)) => {
                self.victim_marked(now, eviction, &result);
            }
            (Purpose::DeleteVictim(eviction), WorkResult::Done(result)) => {
                self.victim_deleted(now, &eviction, &result);
            }
            (purpose, result) => {
                tracing::error!(?purpose, ?result, "result of the wrong kind");
            }
        }
        self.settle_waits(now);
    }
}
