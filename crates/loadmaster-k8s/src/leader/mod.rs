//! Leader election: of several schedulers with the same lease one works, the others wait.
//!
//! The lock is a Lease (`coordination.k8s.io/v1`), read and written as client-go does, so that
//! copies of the original and of this scheduler can contend for the same one. Everything that
//! changes the cluster passes a [`Fence`], which is open only while this scheduler leads.

mod driver;
mod elector;
mod fence;
mod options;
mod record;
mod status;

use tokio::{sync::oneshot, task::JoinHandle};
use tokio_util::sync::CancellationToken;

use crate::rest::Rest;
use driver::Driver;
pub use elector::Loss;
pub use fence::{Fence, NotLeading};
pub use options::{ElectionError, ElectionOptions};
pub use status::{ELECTION_NAME, LeaderStatus};

/// An election that this process takes part in. Dropping it neither renews nor releases the lease.
#[derive(Debug)]
pub struct Election {
    fence: Fence,
    status: LeaderStatus,
    stop: CancellationToken,
    lost: oneshot::Receiver<Loss>,
    task: JoinHandle<()>,
}

impl Election {
    /// Takes part from now on. `rest` is used for the lease alone, so that nothing holds renewals
    /// up.
    pub fn start(rest: &Rest, options: ElectionOptions) -> Self {
        let (lead_until, fence) = Fence::new();
        let status = LeaderStatus::new(fence.clone(), options.lease_duration);
        let stop = CancellationToken::new();
        let (tell, lost) = oneshot::channel();
        let mut driver = Driver::new(rest, options, status.clone(), lead_until);
        let stopped = stop.clone();
        let task = tokio::spawn(async move {
            match driver.run(&stopped).await {
                Ok(()) => driver.release().await,
                // Where nobody listens the process is at its end anyway.
                Err(loss) => drop(tell.send(loss)),
            }
        });
        Self { fence, status, stop, lost, task }
    }

    /// What lets calls through while this scheduler leads.
    pub fn fence(&self) -> Fence {
        self.fence.clone()
    }

    /// How the election stands.
    pub fn status(&self) -> LeaderStatus {
        self.status.clone()
    }

    /// Waits until this scheduler, having led, does not lead any more; for ever if that never
    /// happens.
    pub async fn lost(&mut self) -> Loss {
        match (&mut self.lost).await {
            Ok(loss) => loss,
            Err(_) => std::future::pending().await,
        }
    }

    /// Ends taking part, and gives the lease up if it is ours, so that another need not wait for its
    /// end. Nothing that passes the fence may be under way any more.
    pub async fn release(mut self) {
        self.stop.cancel();
        // A task that broke has released nothing, and the lease ends by itself.
        let _ = (&mut self.task).await;
    }
}

impl Drop for Election {
    fn drop(&mut self) {
        self.task.abort();
    }
}

#[cfg(test)]
mod tests;
