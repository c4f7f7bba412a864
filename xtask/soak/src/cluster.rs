//! The cluster, and a scheduler for it.

use std::{
    collections::VecDeque,
    fs::{self, File},
    path::{Path, PathBuf},
    process::{ExitStatus, Stdio},
    time::{Duration, Instant},
};

use anyhow::{Context as _, bail};
use loadmaster_lab::{
    api::DeleteOptions,
    kubelet::{NodeTemplate, node},
    resources::Collection,
    server::{LabServer, Options},
};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::process::{Child, Command};

/// See the [module](self). Dropping it ends both.
pub(crate) struct Cluster {
    server: LabServer,
    scheduler: Child,
    pid: u32,
    folder: TempDir,
    /// Names of pods, the oldest first.
    living: VecDeque<String>,
    created: u64,
}

/// One scheduler, without a bound on its calls.
const CONFIG: &str = "apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
leaderElection: {leaderElect: false}
clientConnection: {qps: -1}
";
/// How often to look whether pods are bound.
const LOOK_EVERY: Duration = Duration::from_millis(10);
/// How long a batch of pods may take to be bound.
const PATIENCE: Duration = Duration::from_mins(2);

impl Cluster {
    /// Starts both.
    pub(crate) async fn start(nodes: u32, scheduler: &Path) -> anyhow::Result<Self> {
        let server = LabServer::start(Options::default()).await?;
        for index in 0..nodes {
            let mut node = node(&format!("node-{index}"), None, &NodeTemplate::default());
            // There are no controllers here that would take the taint of a new node away.
            node["spec"]["taints"] = json!([]);
            create(&server, Collection::NODES, "", node)?;
        }
        let folder = tempfile::tempdir().context("cannot make a folder")?;
        let config = folder.path().join("scheduler.yaml");
        fs::write(&config, CONFIG).context("cannot write the configuration")?;
        let log = File::create(folder.path().join(LOG)).context("cannot write the log")?;
        let mut command = Command::new(scheduler);
        command.arg("--config").arg(config).arg("--master").arg(server.url());
        command.arg("--secure-port=0");
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log).kill_on_drop(true);
        let spawned = command.spawn();
        let scheduler = spawned.with_context(|| format!("cannot start {}", scheduler.display()))?;
        let pid = scheduler.id().context("the scheduler ended at once")?;
        let (living, created) = Default::default();
        Ok(Self { server, scheduler, pid, folder, living, created })
    }

    /// The scheduler's process.
    pub(crate) fn pid(&self) -> u32 {
        self.pid
    }

    /// How many pods have been created.
    pub(crate) fn created(&self) -> u64 {
        self.created
    }

    /// Creates `count` pods, and waits until the last of them is bound.
    pub(crate) async fn add(&mut self, count: u32) -> anyhow::Result<()> {
        let begun = self.created;
        for _ in 0..count {
            let name = format!("pod-{}", self.created);
            create(&self.server, Collection::PODS, "default", pod(&name))?;
            self.living.push_back(name);
            self.created += 1;
        }
        for index in begun..self.created {
            self.bound(&format!("pod-{index}")).await?;
        }
        Ok(())
    }

    /// Deletes the oldest pods, and what was recorded about any, until `left` are left.
    pub(crate) fn shrink(&mut self, left: u32) -> anyhow::Result<()> {
        while self.living.len() > left as usize {
            let Some(name) = self.living.pop_front() else { break };
            self.delete(Collection::PODS, "default", &name)?;
        }
        for event in self.server.store().list(Collection::EVENTS, None).0 {
            let text = |field: &str| event["metadata"][field].as_str().unwrap_or_default();
            self.delete(Collection::EVENTS, text("namespace"), text("name"))?;
        }
        Ok(())
    }

    fn delete(&self, collection: Collection, namespace: &str, name: &str) -> anyhow::Result<()> {
        let at_once = DeleteOptions { grace_seconds: Some(0), ..DeleteOptions::default() };
        let deleted = self.server.api().delete(collection.resource(), namespace, name, &at_once);
        match deleted {
            Ok(_) => Ok(()),
            Err(status) => bail!("cannot delete {name}: {}", status.message),
        }
    }

    async fn bound(&mut self, name: &str) -> anyhow::Result<()> {
        let end = Instant::now() + PATIENCE;
        loop {
            let pod = self.server.api().get(Collection::PODS.resource(), "default", name);
            if pod.is_ok_and(|it| it["spec"]["nodeName"].as_str().is_some_and(|it| !it.is_empty()))
            {
                return Ok(());
            }
            if let Some(status) = self.scheduler.try_wait()? {
                bail!("the scheduler has ended: {status}\n{}", self.last_words());
            }
            if Instant::now() > end {
                bail!("{name} is not bound after {PATIENCE:?}\n{}", self.last_words());
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }

    /// The end of the scheduler's log.
    fn last_words(&self) -> String {
        let log = fs::read_to_string(self.log()).unwrap_or_default();
        let lines: Vec<&str> = log.lines().collect();
        lines[lines.len().saturating_sub(8)..].join("\n")
    }

    fn log(&self) -> PathBuf {
        self.folder.path().join(LOG)
    }

    /// Ends both.
    pub(crate) async fn end(mut self) -> anyhow::Result<()> {
        self.scheduler.start_kill().context("cannot end the scheduler")?;
        let _: ExitStatus = self.scheduler.wait().await.context("cannot end the scheduler")?;
        self.server.shutdown().await;
        Ok(())
    }
}

const LOG: &str = "scheduler.log";

fn create(
    server: &LabServer,
    collection: Collection,
    namespace: &str,
    object: Value,
) -> anyhow::Result<()> {
    match server.api().create(collection.resource(), namespace, object, false) {
        Ok(_) => Ok(()),
        Err(status) => bail!("the lab cluster refuses an object: {}", status.message),
    }
}

fn pod(name: &str) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": {"app": "soak"}},
        "spec": {
            "containers": [{
                "name": "main",
                "image": "registry.k8s.io/pause:3.9",
                "resources": {"requests": {"cpu": "100m", "memory": "64Mi"}},
            }],
            "tolerations": [{"key": "node.kubernetes.io/not-ready", "operator": "Exists"}],
        },
    })
}
