//! `cargo xtask stage1`: the same deployment by the default scheduler, then by a second one.

pub(crate) mod cluster;
mod options;
pub(crate) mod profile;
pub(crate) mod progress;
pub(crate) mod report;
pub(crate) mod site;
pub(crate) mod source;
pub(crate) mod workload;

use std::{path::PathBuf, process::ExitCode, time::Duration};

use anyhow::Context as _;

use cluster::Cluster;
pub(crate) use options::Options;
use options::Output;
use profile::Profile;
use progress::note;
use report::{Placement, Report};
use site::{Access, Site};
use workload::{Made, Workload};

use crate::{
    Programs, UserError,
    signals::Stop,
    stage::{self, Played, Stage},
};

pub(crate) const DEFAULT_SCHEDULER: &str = "default-scheduler";

/// Runs the stage and removes all traces, whatever happens.
pub(crate) async fn run(options: Options, programs: Programs) -> anyhow::Result<ExitCode> {
    let shipped = || programs.root.join("profiles/concentrate.yaml");
    let profile = Profile::read(&options.profile.clone().unwrap_or_else(shipped))?;
    let points = source::served(&programs.root, &profile.plugins)?;
    let mut stop = Stop::listen()?;
    let stage = Stage1 {
        target: programs.target.clone(),
        site: Site::prepare("stage1", options.keep, programs)?,
        timeout: Duration::from_secs(options.timeout),
        access: None,
        options,
        profile,
    };
    let (stage, (nodes, default, second)) = match stage::play(stage, &mut stop).await? {
        Played::Seen(stage, seen) => (stage, seen),
        Played::Stopped(code) => return Ok(code),
    };
    let report =
        Report::new(&stage.profile, stage.where_it_was(), nodes, [default, second], points);
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

/// A run of the stage.
struct Stage1 {
    target: PathBuf,
    options: Options,
    profile: Profile,
    timeout: Duration,
    site: Site,
    access: Option<Access>,
}

impl Stage for Stage1 {
    type Seen = (Vec<String>, Placement, Placement);

    /// Does everything up to the last pod's event.
    async fn play(&mut self) -> anyhow::Result<Self::Seen> {
        let access = if self.options.is_foreign() {
            self.site
                .find_cluster(self.options.kubeconfig.as_deref(), self.options.context.as_deref())?
        } else {
            note(&format!("Starting a lab cluster of {} nodes …", self.options.nodes));
            self.site.start_lab(self.options.nodes, &[]).await?
        };
        let cluster = Cluster::new(access.client().await?);
        self.access = Some(access.clone());
        let nodes = cluster.nodes().await?;
        if nodes.len() < 2 {
            let text = "this cluster has fewer than two nodes, and on one node every placement is the same.\n\nhint: add a node, or leave --kubeconfig and --context out for a lab cluster";
            return Err(UserError(text.to_owned()).into());
        }
        let profile = self.profile.clone();
        note(&format!("Starting the second scheduler, {}, from outside …", profile.scheduler_name));
        self.site.start_scheduler(&profile, &access)?;
        if cluster.create_namespace().await? {
            self.site.will_make(Made::Namespace)?;
        }
        self.site.will_make(Made::Deployment)?;
        let workload = Workload {
            cluster: &cluster,
            replicas: self.options.replicas,
            label_key: &profile.label_key,
            timeout: self.timeout,
        };
        let second = &profile.scheduler_name;
        let (default, second) = workload.compare(&nodes, second, &mut self.site).await?;
        Ok((nodes, default, second))
    }

    fn site(self) -> Site {
        self.site
    }
}

impl Stage1 {
    /// What people call the cluster.
    fn where_it_was(&self) -> String {
        self.access.as_ref().map(|it| it.name.clone()).unwrap_or_default()
    }

    /// Prints the report, and writes it down where that is wanted.
    fn tell(&self, report: &Report) -> anyhow::Result<()> {
        match self.options.output {
            Output::Table => anstream::print!("{report}"),
            Output::Json => anstream::println!("{}", report.json()?),
        }
        report.keep(&self.target, "stage1")?;
        let Some(file) = &self.options.write_down else { return Ok(()) };
        std::fs::write(file, report.markdown())
            .with_context(|| format!("cannot write {}", file.display()))?;
        note(&format!("Written down in {}.", file.display()));
        Ok(())
    }

    /// Leaves everything up if that is wanted, and says how to use it; else removes it.
    async fn finish(self, stop: &mut Stop) -> anyhow::Result<Option<String>> {
        let Some(access) = self.access.filter(|_| self.options.keep) else {
            self.site.clear(stop).await?;
            return Ok(None);
        };
        self.site.keep()?;
        Ok(Some(format!(
            "The lab cluster and both schedulers are left up. To use them:\n  export \
             KUBECONFIG={}\n  kubectl -n sched-lab get pods -o wide\nTo remove them:\n  cargo xtask \
             teardown",
            access.kubeconfig.display()
        )))
    }
}
