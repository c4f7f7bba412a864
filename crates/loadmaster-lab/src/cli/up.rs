//! `lab up`.

use std::future::Future;
use std::io;
use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context as _;
use clap::Args;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

use super::arguments::StateDir;
use super::error::UserError;
use super::images::Images;
use super::kubeconfig::Endpoints;
use super::output::{Format, log, note, say};
use super::scheduler::{self, Supervisor};
use super::state::{Claim, Facts, Pids};
use super::{detach, kubeconfig};
use crate::cluster::{Cluster, ClusterOptions};
use crate::defaults::{canonical_quantity, quantity_nanos};
use crate::kubelet::NodeTemplate;

/// Start a cluster.
#[derive(Clone, Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Up {
    /// How many nodes: node-1, node-2, …
    #[arg(long, value_name = "N", default_value_t = 2)]
    pub(super) nodes: usize,
    /// Processors of each node.
    #[arg(long, value_name = "QUANTITY", default_value = "4", value_parser = quantity)]
    pub(super) node_cpu: String,
    /// Memory of each node.
    #[arg(long, value_name = "QUANTITY", default_value = "8Gi", value_parser = quantity)]
    pub(super) node_memory: String,
    /// How many pods each node takes.
    #[arg(long, value_name = "N", default_value_t = 110)]
    pub(super) node_pods: u32,
    /// Spread the nodes over this many zones (label topology.kubernetes.io/zone).
    #[arg(long, value_name = "Z", value_parser = clap::value_parser!(u8).range(1..=26))]
    pub(super) zones: Option<u8>,
    /// The port on 127.0.0.1; a free one when left out.
    #[arg(long, value_name = "P", default_value_t = 0, hide_default_value = true)]
    pub(super) port: u16,
    /// The port on 127.0.0.1 for HTTPS; a free one when left out.
    #[arg(long, value_name = "P", default_value_t = 0, hide_default_value = true)]
    pub(super) https_port: u16,
    #[command(flatten)]
    pub(super) state: StateDir,
    /// Where to write the kubeconfig [default: DIR/kubeconfig].
    #[arg(long, value_name = "FILE")]
    pub(super) kubeconfig: Option<PathBuf>,
    /// The default scheduler's binary [default: `scheduler` beside this program, then in PATH].
    #[arg(long, value_name = "BIN", conflicts_with = "no_scheduler")]
    pub(super) scheduler: Option<PathBuf>,
    /// Run without a default scheduler.
    #[arg(long)]
    pub(super) no_scheduler: bool,
    #[command(flatten)]
    pub(super) images: Images,
    /// Run in the background, logging to DIR/lab.log; stop it with `lab down`.
    #[arg(long, short)]
    pub(super) detach: bool,
    /// How to say that the cluster is ready.
    #[arg(long, value_enum, default_value_t)]
    pub(super) output: Format,
    /// Log every request and decision to stderr.
    #[arg(long, short)]
    pub(super) verbose: bool,
    /// This process is the one in the background.
    #[arg(long, hide = true)]
    pub(super) in_background: bool,
}

const EXAMPLES: &str = "\
Examples:
  lab up --nodes 3 --node-cpu 2 --node-memory 4Gi
  lab up --nodes 6 --zones 3              zone-a, zone-b and zone-c in turn
  lab up --detach --output json           one line of JSON once it is ready
  lab up --no-scheduler                   pods stay Pending until something binds them
  lab up --registry forge.lab:5000=127.0.0.1:5000
                                          pods with images of that registry really run";

/// A positive quantity.
fn quantity(text: &str) -> Result<String, String> {
    let canonical = canonical_quantity(text, true)
        .filter(|it| quantity_nanos(&it.as_str().into()).is_some_and(|nanos| nanos > 0));
    canonical.ok_or_else(|| format!("`{text}` is not a quantity above zero such as `4` or `8Gi`"))
}

impl Up {
    pub(super) fn run(self) -> anyhow::Result<ExitCode> {
        if self.detach && !self.in_background {
            return detach::start(&self);
        }
        if self.in_background {
            // A session of its own: the terminal's end is not the lab's.
            rustix::process::setsid().context("cannot leave the terminal")?;
        }
        log(self.verbose);
        let scheduler = match (self.no_scheduler, &self.scheduler) {
            (true, _) => None,
            (false, given) => Some(scheduler::find(given.as_deref())?),
        };
        let claim = self.state.files().claim()?;
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .enable_all()
            .build()
            .context("cannot start the runtime")?;
        // The main thread starts the scheduler, so that it lives until the very end.
        runtime.block_on(self.serve(&claim, scheduler))?;
        Ok(ExitCode::SUCCESS)
    }

    /// Runs the cluster until a signal comes.
    async fn serve(&self, claim: &Claim, scheduler: Option<PathBuf>) -> anyhow::Result<()> {
        let stopped = stop_signal().context("cannot listen for signals")?;
        let started = Cluster::start(self.cluster_options(claim)).await;
        let mut cluster = started.map_err(UserError::from_start)?;
        let kubeconfig = self.kubeconfig.clone().unwrap_or_else(|| claim.files().kubeconfig());
        let kubeconfig = std::path::absolute(&kubeconfig)?;
        kubeconfig::write(&kubeconfig, &endpoints(&cluster))?;
        let mut facts = Facts {
            ready: true,
            server: cluster.server().url(),
            https: cluster.server().https_url(),
            kubeconfig: kubeconfig.clone(),
            context: "lab".to_owned(),
            state_dir: claim.files().dir().to_owned(),
            nodes: cluster.nodes().to_vec(),
            pids: Pids { lab: std::process::id(), scheduler: None },
        };
        // From here on the kubeconfig is known to whoever cleans up.
        claim.publish(&facts)?;
        let log = claim.files().scheduler_log();
        let supervisor =
            scheduler.map(|binary| Supervisor::start(binary, kubeconfig, log)).transpose()?;
        facts.pids.scheduler = supervisor.as_ref().and_then(|it| *it.pid().borrow());
        claim.publish(&facts)?;
        let mut fault = None;
        if let Err(error) = self.tell(&facts) {
            tracing::warn!(%error, "nobody reads that the cluster is ready, stopping");
        } else {
            let ended = async {
                tokio::select! {
                    () = stopped => {}
                    failed = cluster.failed() => fault = Some(failed),
                }
            };
            supervise(supervisor, claim, facts, ended).await;
        }
        cluster.shutdown().await;
        if let Some(fault) = fault {
            anyhow::bail!("{fault}; this is a fault of `lab`, please report it");
        }
        if self.output == Format::Text && !self.in_background {
            note("The lab cluster is gone.");
        }
        Ok(())
    }

    fn cluster_options(&self, claim: &Claim) -> ClusterOptions {
        let program = std::env::current_exe().ok();
        ClusterOptions {
            address: (Ipv4Addr::LOCALHOST, self.port).into(),
            https: (Ipv4Addr::LOCALHOST, self.https_port).into(),
            nodes: self.nodes,
            template: NodeTemplate {
                cpu: self.node_cpu.clone(),
                memory: self.node_memory.clone(),
                pods: self.node_pods,
            },
            zones: self.zones.unwrap_or_default().into(),
            runtime: self.images.runtime(claim.files().containers(), program.as_deref()),
        }
    }

    /// Says that the cluster is ready and how to use it.
    fn tell(&self, facts: &Facts) -> io::Result<()> {
        if self.output == Format::Json {
            return say(serde_json::to_string(facts)?);
        }
        say(self.instructions(facts))
    }

    pub(super) fn instructions(&self, facts: &Facts) -> String {
        let scheduler = match facts.pids.scheduler {
            Some(pid) => format!("scheduler pid {pid}"),
            None => "no scheduler".to_owned(),
        };
        let nodes = match facts.nodes.as_slice() {
            [] => "no nodes".to_owned(),
            [only] => format!("1 node ({only})"),
            [first, .., last] => format!("{} nodes ({first} to {last})", facts.nodes.len()),
        };
        let stop = if self.detach {
            format!("Stop it with: lab down --state-dir {}", facts.state_dir.display())
        } else {
            "Ctrl-C stops it and removes its files.".to_owned()
        };
        let (server, kubeconfig) = (&facts.server, facts.kubeconfig.display());
        format!(
            "The lab cluster is up: {server}, {nodes}, {scheduler}.\nTo use it:\n  export \
             KUBECONFIG={kubeconfig}\n  kubectl get nodes\n{stop}"
        )
    }
}

/// How to reach the cluster, for its kubeconfig.
fn endpoints(cluster: &Cluster) -> Endpoints {
    let (server, auth) = (cluster.server(), cluster.server().api().auth());
    Endpoints {
        http: server.url(),
        https: server.https_url(),
        ca_pem: auth.authority().ca_pem().to_owned(),
        admin_token: auth.admin_token().to_owned(),
    }
}

/// Keeps the scheduler running and its process known until the lab is to stop.
async fn supervise(
    supervisor: Option<Supervisor>,
    claim: &Claim,
    mut facts: Facts,
    stopped: impl Future<Output = ()>,
) {
    let Some(supervisor) = supervisor else { return stopped.await };
    let stop = CancellationToken::new();
    let mut pid = supervisor.pid();
    let publish = async {
        while pid.changed().await.is_ok() {
            facts.pids.scheduler = *pid.borrow_and_update();
            if let Err(error) = claim.publish(&facts) {
                tracing::warn!(%error, "the scheduler's process could not be noted");
            }
        }
        // Whoever waits for this to end waits for the supervisor instead.
        std::future::pending::<()>().await;
    };
    let ask = async {
        stopped.await;
        stop.cancel();
        std::future::pending::<()>().await;
    };
    tokio::select! {
        () = supervisor.run(stop.clone()) => {}
        () = ask => {}
        () = publish => {}
    }
}

/// Completes on Ctrl-C, `SIGTERM` or the terminal's end.
fn stop_signal() -> io::Result<impl Future<Output = ()>> {
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let mut hang_up = signal(SignalKind::hangup())?;
    Ok(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
            _ = hang_up.recv() => {}
        }
    })
}
