//! What keeps a scheduler that does not lead from changing anything.

use std::{
    future::Future,
    pin::{Pin, pin},
    task::Poll,
};

use tokio::{
    sync::watch,
    time::{Instant, sleep_until},
};

/// Lets calls through only while this scheduler leads. Clones are of the same election.
///
/// A leader leads until a fixed time after the start of its last successful renewal, which is
/// before anybody else can come to lead; no call outlasts that moment, unless another renewal has
/// put it off by then.
#[derive(Clone, Debug)]
pub struct Fence {
    lead_until: watch::Receiver<Option<Instant>>,
}

/// This scheduler does not lead, or not any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("this scheduler does not lead")]
pub struct NotLeading;

impl Fence {
    pub(super) fn new() -> (watch::Sender<Option<Instant>>, Self) {
        let (sender, lead_until) = watch::channel(None);
        (sender, Self { lead_until })
    }

    /// Whether this scheduler leads.
    pub fn is_open(&self) -> bool {
        self.lead_until.borrow().is_some_and(|it| it > Instant::now())
    }

    /// Waits until this scheduler leads; for ever if it never does.
    pub async fn opened(&mut self) {
        let open = |until: &Option<Instant>| until.is_some_and(|it| it > Instant::now());
        if self.lead_until.wait_for(open).await.is_err() {
            std::future::pending::<()>().await;
        }
    }

    /// Runs `call` to its end, or until this scheduler does not lead any more; what the call has
    /// done by then is unknown.
    ///
    /// # Errors
    /// [`NotLeading`]; where this scheduler did not lead to begin with, nothing was done.
    pub async fn guard<T>(&self, call: impl Future<Output = T>) -> Result<T, NotLeading> {
        let mut lead_until = self.lead_until.clone();
        let mut call = pin!(call);
        loop {
            let until = *lead_until.borrow_and_update();
            let Some(until) = until.filter(|it| *it > Instant::now()) else {
                return Err(NotLeading);
            };
            tokio::select! {
                biased;
                () = sleep_until(until) => {}
                changed = lead_until.changed() => changed.map_err(|_| NotLeading)?,
                done = before(until, call.as_mut()) => return Ok(done),
            }
        }
    }
}

/// Goes on with `call` only before `until`. A process that was halted for a while looks at its
/// timers only after it has gone on with what was ready before.
async fn before<F: Future + Unpin>(until: Instant, mut call: F) -> F::Output {
    std::future::poll_fn(|context| {
        if Instant::now() < until { Pin::new(&mut call).poll(context) } else { Poll::Pending }
    })
    .await
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[tokio::test(start_paused = true)]
    async fn nothing_is_begun_before_this_scheduler_leads() {
        let (_election, fence) = Fence::new();
        assert!(!fence.is_open());
        let call = async { panic!("it was begun") };
        assert_eq!(fence.guard(call).await, Err::<(), _>(NotLeading));
    }

    #[tokio::test(start_paused = true)]
    async fn a_call_ends_with_the_time_to_lead() {
        let (election, fence) = Fence::new();
        let start = Instant::now();
        election.send_replace(Some(start + 10 * SECOND));
        assert_eq!(fence.guard(std::future::pending::<()>()).await, Err(NotLeading));
        assert_eq!(start.elapsed().as_secs(), 10);
        assert!(!fence.is_open());
    }

    #[tokio::test(start_paused = true)]
    async fn a_process_that_was_halted_goes_on_with_nothing_before_its_timers_are_heard() {
        let (election, fence) = Fence::new();
        election.send_replace(Some(Instant::now() + SECOND));
        let mut begun = 0;
        let call = std::future::poll_fn(|_| {
            begun += 1;
            Poll::<()>::Pending
        });
        {
            let mut guarded = pin!(fence.guard(call));
            assert!(futures::poll!(guarded.as_mut()).is_pending());
            // The clock moves with the first poll, timers only after it.
            let mut halted = pin!(tokio::time::advance(2 * SECOND));
            assert!(futures::poll!(halted.as_mut()).is_pending());
            assert!(futures::poll!(guarded.as_mut()).is_pending());
            halted.await;
            assert_eq!(guarded.await, Err(NotLeading));
        }
        assert_eq!(begun, 1);
    }

    #[tokio::test(start_paused = true)]
    async fn a_renewal_puts_the_end_of_a_call_off() {
        let (election, fence) = Fence::new();
        let start = Instant::now();
        election.send_replace(Some(start + 10 * SECOND));
        let renew = async {
            tokio::time::sleep(9 * SECOND).await;
            election.send_replace(Some(start + 19 * SECOND));
            std::future::pending::<()>().await;
        };
        tokio::select! {
            done = fence.guard(tokio::time::sleep(15 * SECOND)) => assert_eq!(done, Ok(())),
            () = renew => {}
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_loss_ends_calls_at_once() {
        let (election, fence) = Fence::new();
        let start = Instant::now();
        election.send_replace(Some(start + 10 * SECOND));
        let lose = async {
            tokio::time::sleep(SECOND).await;
            election.send_replace(None);
        };
        let (done, ()) = tokio::join!(fence.guard(std::future::pending::<()>()), lose);
        assert_eq!(done, Err(NotLeading));
        assert_eq!(start.elapsed().as_secs(), 1);
    }
}
