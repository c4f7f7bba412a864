//! Which of several copies works: the election, or that there is none.

use std::future::pending;

use loadmaster_k8s::{
    client::Cluster,
    leader::{Election, ElectionOptions, Fence, LeaderStatus, Loss},
};

/// The election, where there is one.
pub(super) struct Leading {
    election: Option<Election>,
}

impl Leading {
    /// Takes part in an election from now on; without `options` this copy works alone.
    pub(super) fn start(cluster: &Cluster, options: Option<ElectionOptions>) -> Self {
        Self { election: options.map(|it| Election::start(&cluster.rest, it)) }
    }

    /// What lets work through.
    pub(super) fn gate(&self) -> Gate {
        Gate(self.election.as_ref().map(Election::fence))
    }

    /// How the election stands, for those who watch.
    pub(super) fn status(&self) -> Option<LeaderStatus> {
        self.election.as_ref().map(Election::status)
    }

    /// Waits until this copy, having led, does not lead any more.
    pub(super) async fn lost(&mut self) -> Loss {
        match &mut self.election {
            Some(election) => election.lost().await,
            None => pending().await,
        }
    }

    /// Ends taking part without a word: the lease runs out by itself, since what is under way may
    /// still be done by the API server, and nobody is to decide on the same pods before that.
    pub(super) fn abandon(self) {
        if self.election.is_some() {
            tracing::warn!("the lease is not given up and runs out by itself");
        }
    }

    /// Ends taking part; the lease is free at once. Nothing may be under way any more.
    pub(super) async fn finish(self) {
        if let Some(election) = self.election {
            election.release().await;
        }
    }
}

/// Lets work through while this copy leads; without an election always.
#[derive(Clone)]
pub(super) struct Gate(Option<Fence>);

impl Gate {
    /// What calls have to pass.
    pub(super) fn fence(&self) -> Option<Fence> {
        self.0.clone()
    }

    pub(super) fn is_open(&self) -> bool {
        self.0.as_ref().is_none_or(Fence::is_open)
    }

    /// Waits until it is open.
    pub(super) async fn opened(&mut self) {
        if let Some(fence) = &mut self.0 {
            fence.opened().await;
        }
    }
}
