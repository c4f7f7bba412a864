//! The workload that two schedulers place in turn, and what is left of it to remove.

use std::time::{Duration, Instant};

use k8s_openapi::api::core::v1::Pod;
use serde::{Deserialize, Serialize};

use super::{
    DEFAULT_SCHEDULER,
    cluster::{self, Cluster},
    progress::Progress,
    report::Placement,
};
use crate::UserError;

/// How often the API server is asked how far things are.
pub(crate) const LOOK_EVERY: Duration = Duration::from_millis(100);
/// How long events may come after the binding that they tell of.
const EVENT_PATIENCE: Duration = Duration::from_secs(10);
/// How long removing things from somebody's cluster may take.
pub(crate) const REMOVAL_PATIENCE: Duration = Duration::from_secs(90);

/// A thing that was made in somebody's cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Made {
    Namespace,
    Deployment,
}

/// What must go on while pods are waited for.
pub(crate) trait Watched {
    /// Fails if something that must run has ended.
    fn check(&mut self) -> anyhow::Result<()>;

    /// The last that the second scheduler wrote.
    fn scheduler_words(&self) -> String;
}

/// A deployment, placed by one scheduler and then by another.
pub(crate) struct Workload<'a> {
    pub(crate) cluster: &'a Cluster,
    pub(crate) replicas: u32,
    /// The label that the pods carry beside `app`.
    pub(crate) label_key: &'a str,
    /// How long each step may take.
    pub(crate) timeout: Duration,
}

impl Workload<'_> {
    /// Has the default scheduler place the pods, removes them, and has `second` place them.
    pub(crate) async fn compare(
        &self,
        nodes: &[String],
        second: &str,
        watched: &mut impl Watched,
    ) -> anyhow::Result<(Placement, Placement)> {
        let default = self.place(nodes, DEFAULT_SCHEDULER, watched).await?;
        self.cluster.delete_deployment().await?;
        self.until_gone(watched).await?;
        let second = self.place(nodes, second, watched).await?;
        Ok((default, second))
    }

    /// Creates the deployment for `scheduler`, waits until all its pods are bound, and counts.
    async fn place(
        &self,
        nodes: &[String],
        scheduler: &str,
        watched: &mut impl Watched,
    ) -> anyhow::Result<Placement> {
        let cluster = self.cluster;
        cluster.create_deployment(scheduler, self.replicas, self.label_key).await?;
        self.until_bound(scheduler, watched).await?;
        // Read once more: the counts are those of the API server at one moment, all pods bound.
        let pods = cluster.pods().await?;
        let counts = cluster::per_node(nodes, &pods)?;
        let begun = Instant::now();
        let mut events = cluster.scheduled_events(&pods).await?;
        while events.len() < pods.len() && begun.elapsed() < EVENT_PATIENCE {
            tokio::time::sleep(LOOK_EVERY).await;
            events = cluster.scheduled_events(&pods).await?;
        }
        Ok(Placement { scheduler: scheduler.to_owned(), counts, events })
    }

    async fn until_bound(&self, scheduler: &str, watched: &mut impl Watched) -> anyhow::Result<()> {
        let wanted = u64::from(self.replicas);
        let what = format!("{wanted} pods for {scheduler}: bound");
        let mut progress = Progress::new(&what, wanted);
        let begun = Instant::now();
        loop {
            let pods = self.cluster.pods().await?;
            let is_bound = |it: &&Pod| cluster::node_of(it).is_some();
            let bound = pods.iter().filter(is_bound).count() as u64;
            progress.at(bound);
            if bound == wanted && pods.len() as u64 == wanted {
                return Ok(());
            }
            watched.check()?;
            if begun.elapsed() > self.timeout {
                drop(progress);
                return Err(UserError(self.why_not_bound(&pods, scheduler, watched)).into());
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }

    /// An explanation of pods that stay pending.
    fn why_not_bound(&self, pods: &[Pod], scheduler: &str, watched: &impl Watched) -> String {
        let seconds = self.timeout.as_secs();
        let why = cluster::why_pending(pods);
        let mut words = String::new();
        if scheduler != DEFAULT_SCHEDULER {
            words = format!("\nthe scheduler's last words:\n{}", watched.scheduler_words());
        }
        format!(
            "after {seconds} s not all pods of {scheduler} are bound:\n{why}{words}\n\nhint: see \
             whether the cluster has room for the pods; --timeout SECONDS gives them longer"
        )
    }

    async fn until_gone(&self, watched: &mut impl Watched) -> anyhow::Result<()> {
        let all = u64::from(self.replicas);
        let mut progress = Progress::new("the pods of the first deployment: gone", all);
        let begun = Instant::now();
        loop {
            let left = self.cluster.pods().await?.len() as u64;
            progress.at(all.saturating_sub(left));
            if left == 0 {
                return Ok(());
            }
            watched.check()?;
            if begun.elapsed() > self.timeout {
                drop(progress);
                let seconds = self.timeout.as_secs();
                let text = format!(
                    "after {seconds} s {left} pods of the deleted deployment are still there.\n\nhint: --timeout SECONDS gives them longer"
                );
                return Err(UserError(text).into());
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }
}

/// Removes what was made in somebody's cluster.
pub(crate) async fn undo(cluster: &Cluster, made: &[Made]) -> anyhow::Result<()> {
    let begun = Instant::now();
    if made.contains(&Made::Deployment) {
        cluster.delete_deployment().await?;
        while !cluster.are_gone().await? && begun.elapsed() < REMOVAL_PATIENCE {
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }
    if made.contains(&Made::Namespace) {
        cluster.delete_namespace().await?;
        while !cluster.namespace_is_gone().await? {
            if begun.elapsed() > REMOVAL_PATIENCE {
                anyhow::bail!("the namespace sched-lab is deleted, but not gone yet");
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }
    Ok(())
}
