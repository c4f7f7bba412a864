//! `cargo xtask stage2`: the image from the registry as a cluster's second scheduler.

pub(crate) mod deployed;
mod image;
mod kind;
mod options;
mod report;

use std::{
    path::PathBuf,
    process::ExitCode,
    time::{Duration, Instant},
};

use anyhow::Context as _;
use kube::Client;
use rustix::process::{Pid, Signal, kill_process};

use deployed::{Deployed, Leader};
use image::Image;
pub(crate) use options::Options;
use options::Output;
use report::{Report, Restart};

use crate::{
    Programs, UserError,
    signals::Stop,
    stage1::{
        cluster::Cluster,
        profile::Profile,
        progress::note,
        site::{Access, Site},
        source,
        workload::{LOOK_EVERY, Made, Workload, undo},
    },
    teardown::{self, Kept},
};

/// Runs the stage and removes all traces, whatever happens.
pub(crate) async fn run(options: Options, programs: Programs) -> anyhow::Result<ExitCode> {
    let shipped = || programs.root.join("profiles/concentrate-scheduler/scheduler.yaml");
    let profile = Profile::read(&options.profile.clone().unwrap_or_else(shipped))?;
    let points = source::served(&programs.root, &profile.plugins)?;
    let mut stop = Stop::listen()?;
    let site = Site::prepare("stage2", options.keep, programs.clone())?;
    let mut stage = Stage {
        timeout: Duration::from_secs(options.timeout),
        options,
        programs,
        profile,
        site,
        reached: None,
    };
    let outcome = tokio::select! {
        code = stop.wanted() => Err(code),
        outcome = stage.play() => Ok(outcome),
    };
    let seen = match outcome {
        Ok(Ok(seen)) => seen,
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
    let report = Report::new(&stage.profile, stage.where_it_was(), points, seen);
    let told = stage.tell(&report);
    if stage.options.keep {
        note(&stage.leave()?);
    } else {
        stage.clear(&mut stop).await?;
    }
    told?;
    if report.has_changed() {
        return Ok(ExitCode::SUCCESS);
    }
    note(&report.explanation());
    Ok(ExitCode::from(1))
}

impl Options {
    /// Whether the cluster is somebody else's.
    fn is_foreign(&self) -> bool {
        self.kubeconfig.is_some() || self.context.is_some() || self.kind.is_some()
    }
}

/// What a run of the stage saw.
pub(crate) struct Seen {
    pub(crate) image: Image,
    pub(crate) nodes: Vec<String>,
    pub(crate) placements: [crate::stage1::report::Placement; 2],
    pub(crate) leader: Leader,
    pub(crate) restart: Restart,
}

/// The cluster, and what was made in it.
struct Reached {
    access: Access,
    client: Client,
    cluster: Cluster,
    deployed: Option<Deployed>,
    made: Vec<Made>,
}

/// A run of the stage.
struct Stage {
    options: Options,
    programs: Programs,
    profile: Profile,
    timeout: Duration,
    site: Site,
    reached: Option<Reached>,
}

impl Stage {
    async fn play(&mut self) -> anyhow::Result<Seen> {
        let program = self.programs.images.clone().context("the image's program is missing")?;
        note(&format!("Verifying {} in its registry …", self.options.image));
        let image = Image::verified(&program, &self.programs.root, &self.options.image)?;
        let access = self.reach(&image).await?;
        let client = access.client().await?;
        let cluster = Cluster::new(client.clone());
        self.reached = Some(Reached {
            access,
            client: client.clone(),
            cluster: cluster.clone(),
            deployed: None,
            made: Vec::new(),
        });
        let nodes = cluster.nodes().await?;
        if nodes.len() < 2 {
            let text = "this cluster has fewer than two nodes, and on one node every placement is the same.\n\nhint: add a node, or leave --kubeconfig, --context and --kind out for a lab cluster";
            return Err(UserError(text.to_owned()).into());
        }
        let name = self.profile.scheduler_name.clone();
        // What was loaded into kind is there by its tag alone.
        let run =
            if self.options.kind.is_some() { image.reference.clone() } else { image.by_digest() };
        note(&format!("Applying the second scheduler, {name}, as {run} …"));
        let scheduler = &self.programs.scheduler;
        let deployed = Deployed::plan(client, scheduler, &self.profile.file, &name, &run)?;
        deployed.apply().await?;
        let reached = self.reached.as_mut().context("the cluster is lost")?;
        reached.deployed = Some(deployed.clone());
        let leader = self.until_led(&deployed, None).await?;
        note(&format!("{} leads, on {} …", leader.pod, leader.node));
        let placements = self.compare(&cluster, &nodes).await?;
        let restart = self.kill(&deployed, &leader).await?;
        Ok(Seen { image, nodes, placements, leader, restart })
    }

    /// Starts a lab cluster, or finds the one that was named.
    async fn reach(&mut self, image: &Image) -> anyhow::Result<Access> {
        if let (Some(kind), Some(archive)) = (&self.options.kind, &self.options.archive) {
            let kubeconfig = kind::load(kind, archive, self.site.scratch())?;
            return self.site.find_cluster(Some(&kubeconfig), None);
        }
        if self.options.is_foreign() {
            let (file, context) = (&self.options.kubeconfig, &self.options.context);
            return self.site.find_cluster(file.as_deref(), context.as_deref());
        }
        note(&format!("Starting a lab cluster of {} nodes …", self.options.nodes));
        self.site.start_lab(self.options.nodes, &[image.for_lab()]).await
    }

    async fn compare(
        &mut self,
        cluster: &Cluster,
        nodes: &[String],
    ) -> anyhow::Result<[crate::stage1::report::Placement; 2]> {
        let made_namespace = cluster.create_namespace().await?;
        let reached = self.reached.as_mut().context("the cluster is lost")?;
        reached.made.push(Made::Deployment);
        if made_namespace {
            reached.made.push(Made::Namespace);
        }
        let workload = Workload {
            cluster,
            replicas: self.options.replicas,
            label_key: &self.profile.label_key,
            timeout: self.timeout,
        };
        let second = &self.profile.scheduler_name;
        let (default, second) = workload.compare(nodes, second, &mut self.site).await?;
        Ok([default, second])
    }

    /// Waits until somebody other than `before` leads.
    async fn until_led(
        &mut self,
        deployed: &Deployed,
        before: Option<&Leader>,
    ) -> anyhow::Result<Leader> {
        use crate::stage1::workload::Watched as _;
        let begun = Instant::now();
        loop {
            let leader = deployed.leader().await?;
            if let Some(leader) = leader.filter(|it| before.is_none_or(|b| b.holder != it.holder)) {
                return Ok(leader);
            }
            self.site.check()?;
            if begun.elapsed() > self.timeout {
                let (seconds, words) = (self.timeout.as_secs(), deployed.words().await);
                let text = format!(
                    "after {seconds} s the second scheduler does not lead:\n{words}\n\nhint: its \
                     pod's state and last words are above; --timeout SECONDS gives it longer"
                );
                return Err(UserError(text).into());
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }

    /// Kills the leading process (of a foreign cluster: deletes its pod), and waits until another
    /// leads.
    async fn kill(&mut self, deployed: &Deployed, leader: &Leader) -> anyhow::Result<Restart> {
        let begun = Instant::now();
        let pid = leader.pid.filter(|_| !self.options.is_foreign()).and_then(Pid::from_raw);
        let how = if let Some(pid) = pid {
            note(&format!("Killing the process {} …", pid.as_raw_nonzero()));
            kill_process(pid, Signal::KILL).context("cannot kill the second scheduler")?;
            "killed"
        } else {
            note(&format!("Deleting the pod {} …", leader.pod));
            deployed.delete_pod(&leader.pod).await?;
            "deleted"
        };
        let after = self.until_led(deployed, Some(leader)).await?;
        Ok(Restart { how, seconds: begun.elapsed().as_secs(), after })
    }

    fn where_it_was(&self) -> String {
        self.reached.as_ref().map(|it| it.access.name.clone()).unwrap_or_default()
    }

    fn tell(&self, report: &Report) -> anyhow::Result<()> {
        match self.options.output {
            Output::Table => anstream::print!("{report}"),
            Output::Json => anstream::println!("{}", report.json()?),
        }
        crate::stage1::report::keep(&self.programs.target, "stage2", &report.json()?)
    }

    /// Leaves everything up, noted for `cargo xtask teardown`; says how to use it.
    fn leave(mut self) -> anyhow::Result<String> {
        let reached = self.reached.take().context("the cluster is lost")?;
        let foreign = self.options.is_foreign();
        let places = reached.deployed.as_ref().map(Deployed::places).transpose()?;
        let kubeconfig: PathBuf = reached.access.kubeconfig.clone();
        let kept = Kept {
            stage: "stage2".to_owned(),
            kubeconfig: foreign.then(|| kubeconfig.clone()),
            objects: places.filter(|_| foreign).unwrap_or_default(),
            workload: foreign,
            processes: Vec::new(),
            folder: self.site.scratch().to_owned(),
        };
        kept.write(&self.programs.target)?;
        self.site.keep();
        Ok(format!(
            "Everything is left up. To use it:\n  export KUBECONFIG={}\n  kubectl -n {} logs \
             deployment/{1}\nTo remove it:\n  cargo xtask teardown",
            kubeconfig.display(),
            self.profile.scheduler_name
        ))
    }

    /// Removes everything that the run made, and its processes and files.
    async fn clear(mut self, stop: &mut Stop) -> anyhow::Result<()> {
        let foreign = self.options.is_foreign();
        let mut left = Ok(());
        if let Some(reached) = self.reached.take().filter(|_| foreign) {
            let places = reached.deployed.as_ref().map(Deployed::places).transpose()?;
            let removal = async {
                undo(&reached.cluster, &reached.made).await?;
                deployed::remove(&reached.client, &places.unwrap_or_default()).await
            };
            left = tokio::select! {
                // Asked a second time, it does not wait.
                _ = stop.wanted() => Err(anyhow::anyhow!("{}", teardown::INTERRUPTED)),
                done = removal => done,
            };
        }
        self.site.clear()?;
        left
    }
}
