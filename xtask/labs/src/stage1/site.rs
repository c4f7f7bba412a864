//! Where stage 1 takes place: a lab cluster of its own or somebody's cluster, and the second
//! scheduler beside it.

use std::{
    fs::{self, OpenOptions},
    io::{BufRead as _, BufReader, Write as _},
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::Duration,
};

use anyhow::Context as _;
use kube::{Client, Config, config::KubeConfigOptions, config::Kubeconfig};
use rustix::process::Signal;
use serde::Deserialize;
use tempfile::TempDir;

use super::{
    profile::Profile,
    progress::note,
    workload::{Made, Watched},
};
use crate::{
    Programs, UserError,
    kept::Kept,
    process::{Left, Process, tied},
    signals::Stop,
    stage2::deployed::Placed,
};

/// What is said when a removal is given up half way.
const INTERRUPTED: &str = "interrupted while removing what was made in the cluster; `cargo xtask teardown` goes on with it";

/// How long the lab may take to come up.
const LAB_PATIENCE: Duration = Duration::from_secs(30);

/// The processes and files of a run. Dropping it ends and removes them.
#[derive(Debug)]
pub(crate) struct Site {
    programs: Programs,
    // Fields are dropped in this order: whoever talks to the cluster goes first.
    scheduler: Option<Process>,
    lab: Option<Process>,
    state_dir: PathBuf,
    scratch: TempDir,
    kept: Kept,
    keep: bool,
}

/// How to reach a cluster.
#[derive(Clone, Debug)]
pub(crate) struct Access {
    /// A kubeconfig whose current context is the cluster.
    pub(crate) kubeconfig: PathBuf,
    /// What people call it.
    pub(crate) name: String,
}

/// What `lab up --output json` prints.
#[derive(Deserialize)]
struct LabFacts {
    server: String,
    kubeconfig: PathBuf,
}

impl Site {
    /// A place for files, in the target folder if they are to stay. What earlier stages left that were
    /// killed is removed first.
    pub(crate) fn prepare(stage: &str, keep: bool, programs: Programs) -> anyhow::Result<Self> {
        let target = programs.target.clone();
        Kept::sweep(&target)?.iter().for_each(|it| note(it));
        let mut scratch = tempfile::Builder::new();
        let prefix = format!("loadmaster-{stage}-");
        let scratch = scratch.prefix(&prefix);
        let made = if keep {
            fs::create_dir_all(&target).and_then(|()| scratch.tempdir_in(&target))
        } else {
            scratch.tempdir()
        };
        let scratch = made.context("cannot make a folder for temporary files")?;
        let state_dir = if keep { target.join("lab") } else { scratch.path().join("lab") };
        let kept = Kept::begun(stage, scratch.path());
        kept.write(&target)?;
        Ok(Self { programs, scheduler: None, lab: None, state_dir, scratch, kept, keep })
    }

    /// Starts a lab cluster, with further options for `lab up`.
    pub(crate) async fn start_lab(
        &mut self,
        nodes: u32,
        further: &[String],
    ) -> anyhow::Result<Access> {
        let mut command = self.child(&self.programs.lab);
        command.args(["up", "--output", "json", "--nodes", &nodes.to_string()]);
        command.arg("--scheduler").arg(&self.programs.scheduler);
        command.arg("--state-dir").arg(&self.state_dir).args(further);
        command.stdout(Stdio::piped());
        let log = self.scratch.path().join("lab.log");
        let lab = self.lab.insert(Process::start("lab cluster", command, &log)?);
        let output = lab.output().context("the lab cluster has no output")?;
        let line = tokio::task::spawn_blocking(move || {
            let mut line = String::new();
            BufReader::new(output).read_line(&mut line).map(|_| line)
        });
        let line = tokio::time::timeout(LAB_PATIENCE, line).await;
        let line = line.context("the lab cluster does not come up")?.context("a task is lost")?;
        let line = line.context("cannot hear from the lab cluster")?;
        let facts: LabFacts = serde_json::from_str(&line).map_err(|_| {
            // It has said why, in the words for people.
            let words = lab.last_words();
            let words = words.strip_prefix("error: ").unwrap_or(&words);
            UserError(format!("the lab cluster does not come up: {words}"))
        })?;
        Ok(Access { name: format!("lab cluster {}", facts.server), kubeconfig: facts.kubeconfig })
    }

    /// Finds somebody's cluster as kubectl would, and notes the choice in a kubeconfig that both
    /// this program and the scheduler use.
    pub(crate) fn find_cluster(
        &mut self,
        kubeconfig: Option<&Path>,
        context: Option<&str>,
    ) -> anyhow::Result<Access> {
        let read = match kubeconfig {
            Some(file) => Kubeconfig::read_from(file),
            None => Kubeconfig::read(),
        };
        let mut config = read.map_err(|error| {
            let hint = "name a kubeconfig that exists with --kubeconfig FILE, or leave it and --context out for a lab cluster";
            UserError(format!("cannot read the kubeconfig: {}.\n\nhint: {hint}", chain(&error)))
        })?;
        if let Some(context) = context {
            config.current_context = Some(context.to_owned());
        }
        let context = config.current_context.clone().unwrap_or_default();
        if !config.contexts.iter().any(|it| it.name == context) {
            let known: Vec<&str> = config.contexts.iter().map(|it| it.name.as_str()).collect();
            let known = known.join(", ");
            let text = format!(
                "the kubeconfig has no context `{context}`.\n\nhint: choose one of these with --context: {known}"
            );
            return Err(UserError(text).into());
        }
        let kubeconfig = self.scratch.path().join("kubeconfig");
        let text = serde_json::to_string(&config).context("cannot write a kubeconfig")?;
        let mut open = OpenOptions::new();
        let file = open.write(true).create_new(true).mode(0o600).open(&kubeconfig);
        file.and_then(|mut it| it.write_all(text.as_bytes()))
            .with_context(|| format!("cannot write {}", kubeconfig.display()))?;
        self.kept.kubeconfig = Some(kubeconfig.clone());
        Ok(Access { name: format!("context {context}"), kubeconfig })
    }

    /// Starts the second scheduler, from outside the cluster.
    pub(crate) fn start_scheduler(
        &mut self,
        profile: &Profile,
        access: &Access,
    ) -> anyhow::Result<()> {
        let mut command = self.child(&self.programs.scheduler);
        command.arg("--config").arg(&profile.file).arg("--kubeconfig").arg(&access.kubeconfig);
        command.args(["-v", "4", "--secure-port=0"]).stdout(Stdio::null());
        let log = self.scratch.path().join("scheduler.log");
        let scheduler = self.scheduler.insert(Process::start("second scheduler", command, &log)?);
        if self.keep {
            // It does not end with this program, nor with the lab.
            self.kept.processes.extend(Left::of(scheduler.pid()));
            self.kept.write(&self.programs.target)?;
        }
        Ok(())
    }

    /// The folder for temporary files.
    pub(crate) fn scratch(&self) -> &Path {
        self.scratch.path()
    }

    /// Notes what is about to be made, to be removed from somebody's cluster; a lab cluster goes as a
    /// whole.
    pub(crate) fn will_make(&mut self, made: Made) -> anyhow::Result<()> {
        if self.kept.kubeconfig.is_some() {
            self.kept.made.push(made);
            self.kept.write(&self.programs.target)?;
        }
        Ok(())
    }

    /// The same for what is about to be applied.
    pub(crate) fn will_apply(&mut self, objects: Vec<Placed>) -> anyhow::Result<()> {
        if self.kept.kubeconfig.is_some() {
            self.kept.objects = objects;
            self.kept.write(&self.programs.target)?;
        }
        Ok(())
    }

    /// Leaves everything running when this value goes, for `cargo xtask teardown` to remove.
    pub(crate) fn keep(mut self) -> anyhow::Result<()> {
        self.kept.owner = None;
        self.kept.write(&self.programs.target)?;
        for process in self.scheduler.iter_mut().chain(&mut self.lab) {
            process.keep();
        }
        let _stays = self.scratch.keep();
        Ok(())
    }

    /// Removes what was made in somebody's cluster, ends the processes, the scheduler first, and removes
    /// the files. Where the cluster's part does not succeed, the teardown still knows of it.
    pub(crate) async fn clear(mut self, stop: &mut Stop) -> anyhow::Result<()> {
        let left = tokio::select! {
            // Asked a second time, it does not wait.
            _ = stop.wanted() => Err(anyhow::anyhow!("{INTERRUPTED}")),
            done = self.kept.remove_from_cluster() => done,
        };
        for mut process in self.scheduler.take().into_iter().chain(self.lab.take()) {
            process.end(Signal::TERM)?;
        }
        if let Err(error) = left {
            self.keep()?;
            return Err(error);
        }
        self.scratch.close().context("cannot remove the temporary files")?;
        self.kept.forget(&self.programs.target)
    }

    /// A child process; one that is not to stay is tied to this one.
    fn child(&self, program: &Path) -> Command {
        if self.keep { Command::new(program) } else { tied(&self.programs.lab, program) }
    }
}

impl Watched for Site {
    /// Fails if one of the processes has ended.
    fn check(&mut self) -> anyhow::Result<()> {
        for process in self.scheduler.iter_mut().chain(&mut self.lab) {
            if let Some(status) = process.ended()? {
                let words = process.last_words();
                let text = format!("the {} ended ({status}):\n\n{words}", process.name());
                return Err(UserError(text).into());
            }
        }
        Ok(())
    }

    fn scheduler_words(&self) -> String {
        self.scheduler.as_ref().map(Process::last_words).unwrap_or_default()
    }
}

impl Access {
    /// A client of the cluster.
    pub(crate) async fn client(&self) -> anyhow::Result<Client> {
        let config =
            Kubeconfig::read_from(&self.kubeconfig).context("cannot read the kubeconfig")?;
        let config = Config::from_custom_kubeconfig(config, &KubeConfigOptions::default()).await;
        let config = config.map_err(|error| {
            UserError(format!("the kubeconfig cannot be used: {}", chain(&error)))
        })?;
        Client::try_from(config).context("cannot make a client of the cluster")
    }
}

/// An error with all its causes.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let said = error.to_string();
        if !text.contains(&said) {
            text = format!("{text}: {said}");
        }
        cause = error.source();
    }
    text
}
