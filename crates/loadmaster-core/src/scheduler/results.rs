//! Where results of work go.

use std::time::Duration;

use super::{Scheduler, WorkId, WorkResult, purpose::Purpose};

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
