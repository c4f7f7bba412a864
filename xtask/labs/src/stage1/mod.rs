//! `cargo xtask stage1`: the same deployment by the default scheduler, then by a second one.

mod cluster;
mod options;
mod profile;
mod progress;
mod report;
mod site;
mod source;

use std::{
    process::ExitCode,
    time::{Duration, Instant},
};

use anyhow::Context as _;
use k8s_openapi::api::core::v1::Pod;

use cluster::Cluster;
pub(crate) use options::Options;
use options::Output;
use profile::Profile;
use progress::{Progress, note};
use report::{Placement, Report};
use site::{Access, Site};

use crate::{Programs, UserError, signals::Stop};

const DEFAULT_SCHEDULER: &str = "default-scheduler";
/// How often the API server is asked how far things are.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// How long events may come after the binding that they tell of.
const EVENT_PATIENCE: Duration = Duration::from_secs(10);
/// How long removing things from somebody's cluster may take.
const REMOVAL_PATIENCE: Duration = Duration::from_secs(90);

/// Runs the stage and removes all traces, whatever happens.
pub(crate) async fn run(options: Options, programs: Programs) -> anyhow::Result<ExitCode> {
    let shipped = || programs.root.join("profiles/concentrate.yaml");
    let profile = Profile::read(&options.profile.clone().unwrap_or_else(shipped))?;
    let points = source::served(&programs.root, &profile.plugins)?;
    let mut stop = Stop::listen()?;
    let mut stage = Stage {
        site: Site::prepare(&options, programs)?,
        timeout: Duration::from_secs(options.timeout),
        access: None,
        made: Vec::new(),
        options,
        profile,
    };
    let outcome = tokio::select! {
        code = stop.wanted() => Err(code),
        outcome = stage.play() => Ok(outcome),
    };
    let report = match outcome {
        Ok(Ok((nodes, default, second))) => {
            Report::new(&stage.profile, stage.where_it_was(), nodes, [default, second], points)
        }
        Ok(Err(error)) => {
            stage.clear(&mut stop).await.unwrap_or_else(|error| note(&format!("{error:#}")));
            return Err(error);
        }
        Err(code) => {
            note("Stopping; everything is being removed.");
            stage.clear(&mut stop).await?;
            return Ok(code);
        }
    };
    let told = stage.tell(&report);
    let left = match stage.finish(&mut stop).await {
        Ok(left) => left,
        Err(error) => return told.and(Err(error)),
    };
    told?;
    if let Some(instructions) = left {
        note(&instructions);
    }
    if report.changed {
        return Ok(ExitCode::SUCCESS);
    }
    note(&report.explanation());
    Ok(ExitCode::from(1))
}

/// A thing that was made in somebody's cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Made {
    Namespace,
    Deployment,
}

/// A run of the stage.
struct Stage {
    options: Options,
    profile: Profile,
    timeout: Duration,
    site: Site,
    access: Option<(Access, Cluster)>,
    made: Vec<Made>,
}

impl Stage {
    /// Does everything up to the last pod's event.
    async fn play(&mut self) -> anyhow::Result<(Vec<String>, Placement, Placement)> {
        let access = if self.options.is_foreign() {
            self.site.find_cluster(&self.options)?
        } else {
            note(&format!("Starting a lab cluster of {} nodes …", self.options.nodes));
            self.site.start_lab(self.options.nodes).await?
        };
        let cluster = Cluster::new(access.client().await?);
        self.access = Some((access.clone(), cluster.clone()));
        let nodes = cluster.nodes().await?;
        if nodes.len() < 2 {
            let text = "this cluster has fewer than two nodes, and on one node every placement is the same.\n\nhint: add a node, or leave --kubeconfig and --context out for a lab cluster";
            return Err(UserError(text.to_owned()).into());
        }
        let profile = self.profile.clone();
        note(&format!("Starting the second scheduler, {}, from outside …", profile.scheduler_name));
        self.site.start_scheduler(&profile, &access)?;
        if cluster.create_namespace().await? {
            self.made.push(Made::Namespace);
        }
        let default = self.place(&cluster, &nodes, DEFAULT_SCHEDULER).await?;
        cluster.delete_deployment().await?;
        self.until_gone(&cluster).await?;
        self.made.retain(|it| *it != Made::Deployment);
        let second = self.place(&cluster, &nodes, &profile.scheduler_name).await?;
        Ok((nodes, default, second))
    }

    /// Creates the deployment for `scheduler`, waits until all its pods are bound, and counts.
    async fn place(
        &mut self,
        cluster: &Cluster,
        nodes: &[String],
        scheduler: &str,
    ) -> anyhow::Result<Placement> {
        let replicas = self.options.replicas;
        self.made.push(Made::Deployment);
        cluster.create_deployment(scheduler, replicas, &self.profile.label_key).await?;
        self.until_bound(cluster, scheduler).await?;
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

    async fn until_bound(&mut self, cluster: &Cluster, scheduler: &str) -> anyhow::Result<()> {
        let wanted = u64::from(self.options.replicas);
        let what = format!("{wanted} pods for {scheduler}: bound");
        let mut progress = Progress::new(&what, wanted);
        let begun = Instant::now();
        loop {
            let pods = cluster.pods().await?;
            let is_bound = |it: &&Pod| cluster::node_of(it).is_some();
            let bound = pods.iter().filter(is_bound).count() as u64;
            progress.at(bound);
            if bound == wanted && pods.len() as u64 == wanted {
                return Ok(());
            }
            self.site.check()?;
            if begun.elapsed() > self.timeout {
                drop(progress);
                return Err(UserError(self.why_not_bound(&pods, scheduler)).into());
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }

    /// An explanation of pods that stay pending.
    fn why_not_bound(&self, pods: &[Pod], scheduler: &str) -> String {
        let seconds = self.timeout.as_secs();
        let why = cluster::why_pending(pods);
        let mut words = String::new();
        if scheduler != DEFAULT_SCHEDULER {
            words = format!("\nthe scheduler's last words:\n{}", self.site.scheduler_words());
        }
        format!(
            "after {seconds} s not all pods of {scheduler} are bound:\n{why}{words}\n\nhint: see \
             whether the cluster has room for the pods; --timeout SECONDS gives them longer"
        )
    }

    async fn until_gone(&mut self, cluster: &Cluster) -> anyhow::Result<()> {
        let all = u64::from(self.options.replicas);
        let mut progress = Progress::new("the pods of the first deployment: gone", all);
        let begun = Instant::now();
        loop {
            let left = cluster.pods().await?.len() as u64;
            progress.at(all.saturating_sub(left));
            if left == 0 {
                return Ok(());
            }
            self.site.check()?;
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

    /// What people call the cluster.
    fn where_it_was(&self) -> String {
        self.access.as_ref().map(|(access, _)| access.name.clone()).unwrap_or_default()
    }

    /// Prints the report, and writes it down where that is wanted.
    fn tell(&self, report: &Report) -> anyhow::Result<()> {
        match self.options.output {
            Output::Table => anstream::print!("{report}"),
            Output::Json => anstream::println!("{}", report.json()?),
        }
        let Some(file) = &self.options.write_down else { return Ok(()) };
        std::fs::write(file, report.markdown())
            .with_context(|| format!("cannot write {}", file.display()))?;
        note(&format!("Written down in {}.", file.display()));
        Ok(())
    }

    /// Leaves everything up if that is wanted, and says how to use it; else removes it.
    async fn finish(mut self, stop: &mut Stop) -> anyhow::Result<Option<String>> {
        match self.access.take() {
            Some((access, _)) if self.options.keep => Ok(Some(self.site.leave(&access))),
            access => {
                self.access = access;
                self.clear(stop).await?;
                Ok(None)
            }
        }
    }

    /// Removes everything that the run made, and its processes and files.
    async fn clear(mut self, stop: &mut Stop) -> anyhow::Result<()> {
        let access = self.access.take().filter(|_| self.options.is_foreign());
        let mut left = Ok(());
        if let Some((_, cluster)) = access {
            left = tokio::select! {
                // Asked a second time, it does not wait.
                _ = stop.wanted() => Err(anyhow::anyhow!("interrupted while removing the namespace sched-lab; remove it with `kubectl delete namespace sched-lab`")),
                done = undo(&cluster, &self.made) => done,
            };
        }
        self.site.clear()?;
        left
    }
}

/// Removes what was made in somebody's cluster.
async fn undo(cluster: &Cluster, made: &[Made]) -> anyhow::Result<()> {
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
