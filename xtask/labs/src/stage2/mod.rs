//! `cargo xtask stage2`: the image from the registry as a cluster's second scheduler.

pub(crate) mod deployed;
mod image;
mod kind;
mod options;
mod report;

use std::{
    ffi::OsStr,
    path::{Path, PathBuf},
    process::ExitCode,
    time::{Duration, Instant},
};

use anyhow::Context as _;
use rustix::process::{Pid, Signal, kill_process};

use deployed::{Deployed, Leader};
use image::{Image, Program};
pub(crate) use options::Options;
use options::Output;
use report::{Report, Restart};

use crate::{
    Programs, UserError,
    signals::Stop,
    stage::{self, Played, Stage},
    stage1::{
        cluster::Cluster,
        profile::Profile,
        progress::note,
        site::{Access, Site},
        source,
        workload::{LOOK_EVERY, Made, Workload},
    },
};

/// Runs the stage and removes all traces, whatever happens.
pub(crate) async fn run(options: Options, programs: Programs) -> anyhow::Result<ExitCode> {
    let shipped = || programs.root.join("profiles/concentrate-scheduler/scheduler.yaml");
    let profile = Profile::read(&options.profile.clone().unwrap_or_else(shipped))?;
    let points = source::served(&programs.root, &profile.plugins)?;
    let mut stop = Stop::listen()?;
    let site = Site::prepare("stage2", options.keep, programs.clone())?;
    let stage = Stage2 {
        timeout: Duration::from_secs(options.timeout),
        options,
        programs,
        profile,
        site,
        access: None,
    };
    let (stage, seen) = match stage::play(stage, &mut stop).await? {
        Played::Seen(stage, seen) => (stage, seen),
        Played::Stopped(code) => return Ok(code),
    };
    let report = Report::new(&stage.profile, stage.where_it_was(), points, seen);
    let told = stage.tell(&report);
    if stage.options.keep {
        note(&stage.leave()?);
    } else {
        stage.site.clear(&mut stop).await?;
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

/// A run of the stage.
struct Stage2 {
    options: Options,
    programs: Programs,
    profile: Profile,
    timeout: Duration,
    site: Site,
    access: Option<Access>,
}

impl Stage for Stage2 {
    type Seen = Seen;

    async fn play(&mut self) -> anyhow::Result<Seen> {
        let program = self.programs.images.clone().context("the image's program is missing")?;
        let (image, scheduler) = self.image(&program)?;
        let access = self.reach(&image).await?;
        let client = access.client().await?;
        let cluster = Cluster::new(client.clone());
        self.access = Some(access);
        let nodes = cluster.nodes().await?;
        if nodes.len() < 2 {
            let text = "this cluster has fewer than two nodes, and on one node every placement is the same.\n\nhint: add a node, or leave --kubeconfig, --context and --kind out for a lab cluster";
            return Err(UserError(text.to_owned()).into());
        }
        let name = self.profile.scheduler_name.clone();
        // A node of kind knows what was loaded into it by its tag alone; the archive's digest was compared.
        let run =
            if self.options.kind.is_some() { image.reference.clone() } else { image.by_digest() };
        note(&format!("Applying the second scheduler, {name}, as {run} …"));
        let deployed = Deployed::plan(client, &scheduler, &self.profile.file, &name, &run)?;
        deployed.refuse_a_namespace_that_is_there().await?;
        self.site.will_apply(deployed.places()?)?;
        deployed.apply().await?;
        let leader = self.until_led(&deployed, None).await?;
        note(&format!("{} leads, on {} …", leader.pod, leader.node));
        let placements = self.compare(&cluster, &nodes).await?;
        let restart = self.kill(&deployed, &leader).await?;
        Ok(Seen { image, nodes, placements, leader, restart })
    }

    fn site(self) -> Site {
        self.site
    }
}

impl Stage2 {
    /// The image, and its own program: nothing of the second scheduler comes from the source.
    fn image(&self, program: &Path) -> anyhow::Result<(Image, PathBuf)> {
        let (root, to) = (&self.programs.root, self.site.scratch());
        let reference = &self.options.image;
        if let Some(archive) = &self.options.archive {
            note(&format!("Reading {} …", archive.display()));
            let from = [OsStr::new("--archive"), archive.as_os_str()];
            let own = Program::unpack(program, root, from, to)?;
            let held = (archive.as_path(), own.digest.as_str());
            let image = Image::in_archive(program, root, reference, held)?;
            return Ok((image, own.program));
        }
        note(&format!("Verifying {reference} in its registry …"));
        let image = Image::verified(program, root, reference)?;
        let by_digest = image.by_digest();
        let from = [OsStr::new("--image"), OsStr::new(&by_digest)];
        let own = Program::unpack(program, root, from, to)?;
        Ok((image, own.program))
    }

    /// Starts a lab cluster, or finds the one that was named.
    async fn reach(&mut self, image: &Image) -> anyhow::Result<Access> {
        if let (Some(kind), Some(archive)) = (&self.options.kind, &self.options.archive) {
            let kubeconfig =
                kind::load(Path::new(kind::PROGRAM), kind, archive, self.site.scratch())?;
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
        if cluster.create_namespace().await? {
            self.site.will_make(Made::Namespace)?;
        }
        self.site.will_make(Made::Deployment)?;
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
        self.access.as_ref().map(|it| it.name.clone()).unwrap_or_default()
    }

    fn tell(&self, report: &Report) -> anyhow::Result<()> {
        match self.options.output {
            Output::Table => anstream::print!("{report}"),
            Output::Json => anstream::println!("{}", report.json()?),
        }
        crate::stage1::report::keep(&self.programs.target, "stage2", &report.json()?)
    }

    /// Leaves everything up for `cargo xtask teardown`; says how to use it.
    fn leave(self) -> anyhow::Result<String> {
        let access = self.access.context("the cluster is lost")?;
        self.site.keep()?;
        Ok(format!(
            "Everything is left up. To use it:\n  export KUBECONFIG={}\n  kubectl -n {} logs \
             deployment/{1}\nTo remove it:\n  cargo xtask teardown",
            access.kubeconfig.display(),
            self.profile.scheduler_name
        ))
    }
}
