//! All controllers of a cluster, driven together.

use std::time::Duration;

use jiff::Timestamp;
use tokio_util::sync::CancellationToken;

use super::runner::{Runner, Work};
use super::{
    Claims, ClusterRoles, Controller, Deployments, Disruption, EphemeralVolumes, EventExpiry,
    GarbageCollector, Namespaces, NodeTaints, PersistentVolumes, PodGc, Quotas, ReplicaSets,
    TaintEviction,
};
use crate::api::Api;

/// The controllers of one cluster.
///
/// ```no_run
/// # async fn example(api: loadmaster_lab::api::Api) {
/// use loadmaster_lab::controllers::Manager;
/// let cancel = tokio_util::sync::CancellationToken::new();
/// Manager::with_defaults(api).run(cancel).await;
/// # }
/// ```
#[derive(Debug)]
pub struct Manager {
    api: Api,
    loops: Vec<Box<dyn Work>>,
}

impl Manager {
    /// A manager without any controller.
    pub fn new(api: Api) -> Self {
        Self { api, loops: Vec::new() }
    }

    /// Deployments, replica sets, garbage, namespaces, taints, evictions, pods of lost nodes,
    /// disruption budgets, quotas, aggregated cluster roles, old events, claims and volumes.
    pub fn with_defaults(api: Api) -> Self {
        Self::new(api)
            .with(Namespaces)
            .with(Deployments)
            .with(ReplicaSets)
            .with(NodeTaints)
            .with(TaintEviction::default())
            .with(PodGc::default())
            .with(Disruption)
            .with(Quotas)
            .with(ClusterRoles)
            .with(EventExpiry)
            .with(EphemeralVolumes)
            .with(Claims)
            .with(PersistentVolumes)
            .with_work(GarbageCollector::default())
    }

    /// Adds a controller; they run in the order in which they are added.
    #[must_use]
    pub fn with(self, controller: impl Controller) -> Self {
        self.with_work(Runner::new(controller))
    }

    /// Adds a loop of another form.
    #[must_use]
    pub fn with_work(mut self, work: impl Work) -> Self {
        self.loops.push(Box::new(work));
        self
    }

    /// Lets every controller work until none has anything to do; returns when one wants to be called
    /// again. `clock` is asked before each of them works.
    pub fn settle(&mut self, clock: impl Fn() -> Timestamp) -> Option<Timestamp> {
        while self.round(&clock) {}
        self.next_time()
    }

    /// Lets every controller work once; returns whether there was anything to do.
    fn round(&mut self, clock: impl Fn() -> Timestamp) -> bool {
        let mut busy = false;
        for work in &mut self.loops {
            busy |= work.step(&self.api, clock());
        }
        busy
    }

    fn next_time(&self) -> Option<Timestamp> {
        self.loops.iter().filter_map(|it| it.next_time()).min()
    }

    /// Works until cancelled, woken by changes of the store and by the controllers' own times.
    pub async fn run(mut self, cancel: CancellationToken) {
        let mut changed = self.api.store().any_change();
        while !cancel.is_cancelled() {
            changed.mark_unchanged();
            if self.round(Timestamp::now) {
                tokio::task::yield_now().await;
                continue;
            }
            let next = self.next_time();
            let timer = async {
                match next {
                    Some(next) => {
                        // A time that has passed in the meantime is due at once.
                        let pause = next.duration_since(Timestamp::now());
                        tokio::time::sleep(Duration::try_from(pause).unwrap_or_default()).await;
                    }
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                () = cancel.cancelled() => {}
                () = timer => {}
                // The store, and with it the sender, lives as long as this manager.
                _ = changed.changed() => {}
            }
        }
    }
}
