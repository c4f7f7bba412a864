//! The command.

use std::{
    fs,
    io::Write,
    net::IpAddr,
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::{Context, bail};
use clap::ValueEnum;
use loadmaster_config::LeaderElection;
use loadmaster_core::scheduler::SchedulerOptions;
use loadmaster_framework::{Gates, Registry};
use loadmaster_k8s::needs::{Need, Wants, permissions};
use serde_json::json;

use super::{
    super::{
        args::GateFlags,
        config::{read, read_config},
        election::election,
        print::print,
    },
    chart, kustomize, objects, yaml,
};

/// Prints what a cluster needs to run a scheduler: account, permissions, configuration, deployment.
///
/// The permissions are the least that the configuration's plugins, its election and serving need.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  scheduler manifests --config scheduler.yaml --image registry.example/scheduler:1 | kubectl apply -f -
  scheduler manifests --config scheduler.yaml --replicas 2 --kustomize deploy/base --helm deploy/chart")]
pub(crate) struct Manifests {
    /// The configuration that the scheduler runs by
    #[arg(long, value_name = "FILE")]
    config: PathBuf,
    /// The image that runs
    #[arg(long, value_name = "REF", default_value = concat!("loadmaster-scheduler:", env!("CARGO_PKG_VERSION")))]
    image: String,
    /// Where it runs; one other than kube-system is made too
    #[arg(long, value_name = "NAMESPACE", default_value = "kube-system")]
    namespace: String,
    /// The name of everything; the first profile's `schedulerName` where this is left out
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// How many copies run, of which one schedules
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=9))]
    replicas: u8,
    /// Where its pods serve health and metrics. Their own address leaves every other one of a network
    /// that pods share to others; `0.0.0.0` is every address, as `kubectl port-forward` needs it
    #[arg(long, value_name = "IP", default_value = POD_IP)]
    bind_address: String,
    /// The account and its permissions alone, to renew those of a scheduler that runs
    #[arg(long, conflicts_with_all = ["kustomize", "helm"])]
    permissions: bool,
    /// How it is printed
    #[arg(long, value_enum, default_value_t)]
    output: Output,
    /// Writes a Kustomize base to this folder instead
    #[arg(long, value_name = "DIR")]
    kustomize: Option<PathBuf>,
    /// Writes a Helm chart to this folder instead
    #[arg(long, value_name = "DIR")]
    helm: Option<PathBuf>,
    #[command(flatten)]
    gates: GateFlags,
}

#[derive(Clone, Copy, Debug, Default, ValueEnum)]
enum Output {
    /// A document an object, each rule with who needs it.
    #[default]
    Yaml,
    /// One `List`.
    Json,
}

/// What is to be deployed.
#[derive(Clone, Debug)]
pub(super) struct Deployed {
    /// The name of everything.
    pub(super) name: String,
    /// Where it runs.
    pub(super) namespace: String,
    /// The image that runs.
    pub(super) image: String,
    /// How many copies.
    pub(super) replicas: u8,
    /// The text of the configuration.
    pub(super) config: String,
    /// Where its pods serve.
    pub(super) bind_address: String,
    /// Flags beside `--config`.
    pub(super) flags: Vec<String>,
    /// Whether copies may run side by side, since one of them is elected.
    pub(super) elects: bool,
    /// What it must be allowed.
    pub(super) needs: Vec<Need>,
}

/// The pod's own address, as the kubelet puts it into arguments.
pub(super) const POD_IP: &str = "$(POD_IP)";

/// The configuration's file name, wherever it lies.
pub(super) const CONFIG_FILE: &str = "scheduler.yaml";

impl Manifests {
    pub(crate) fn run(&self, registry: &Registry, gates: &Gates) -> anyhow::Result<ExitCode> {
        let deployed = self.deployed(registry, gates)?;
        if let Some(folder) = &self.kustomize {
            write_all(folder, &kustomize::files(&deployed)?)?;
        }
        if let Some(folder) = &self.helm {
            write_all(folder, &chart::files(&deployed)?)?;
        }
        if self.kustomize.is_none() && self.helm.is_none() {
            let mut objects = objects::all(&deployed);
            objects.retain(|it| !self.permissions || it.is_about_permissions());
            let text = match self.output {
                Output::Yaml => yaml::documents(&objects)?,
                Output::Json => {
                    let items: Vec<_> = objects.iter().map(objects::Object::value).collect();
                    format!("{:#}\n", json!({"apiVersion": "v1", "kind": "List", "items": items}))
                }
            };
            print(&text)?;
        }
        Ok(ExitCode::SUCCESS)
    }

    /// What the flags and the configuration come to.
    pub(super) fn deployed(&self, registry: &Registry, gates: &Gates) -> anyhow::Result<Deployed> {
        let mut gates = gates.clone();
        self.gates.apply_to(&mut gates)?;
        let loaded = read_config(Some(&self.config), registry, &gates)?;
        let file = self.config.display().to_string();
        election(&loaded, &file, "a-copy")?;
        let elect = &loaded.config.leader_election;
        if self.replicas > 1 && !elect.leader_elect {
            bail!(
                "{} copies of a scheduler that elects no leader would place the same pods without \
                 knowing of each other; set leaderElection.leaderElect to true in {file}, or leave \
                 --replicas out",
                self.replicas
            );
        }
        if !loaded.config.client_connection.kubeconfig.is_empty() {
            bail!(
                "clientConnection.kubeconfig of {file} names a file that the container does not \
                 have; take the line out, and the scheduler uses its service account"
            );
        }
        let names = loaded.profiles.iter().map(|it| &it.scheduler_name);
        let name = self.name.as_ref().or_else(|| names.into_iter().next());
        let name = name.map_or("default-scheduler", String::as_str).to_owned();
        let options = SchedulerOptions::from_config(&loaded, registry, &gates)?;
        let wants = Wants { leader_election: leading(elect), serving: true };
        let switched = self.gates.feature_gates.join(",");
        let flags = (!switched.is_empty()).then(|| format!("--feature-gates={switched}"));
        Ok(Deployed {
            name: check_name(name)?,
            namespace: check_name(self.namespace.clone())?,
            image: self.image.clone(),
            replicas: self.replicas,
            config: read(&self.config)?,
            bind_address: check_address(&self.bind_address)?,
            flags: flags.into_iter().collect(),
            elects: elect.leader_elect,
            needs: permissions(&options.profiles, wants),
        })
    }
}

/// The settings of an election that takes place.
pub(crate) fn leading(settings: &LeaderElection) -> Option<&LeaderElection> {
    settings.leader_elect.then_some(settings)
}

/// A name that may stand for every object (RFC 1123).
fn check_name(name: String) -> anyhow::Result<String> {
    let fits = |it: char| it.is_ascii_lowercase() || it.is_ascii_digit() || it == '-';
    if name.is_empty()
        || name.len() > 63
        || !name.chars().all(fits)
        || name.starts_with('-')
        || name.ends_with('-')
    {
        bail!(
            "{name:?} cannot name the objects: write at most 63 small letters, digits and hyphens, \
             with a letter or digit at both ends; --name chooses another than the profile's"
        );
    }
    Ok(name)
}

/// An address, or the pod's own.
fn check_address(address: &str) -> anyhow::Result<String> {
    if address != POD_IP && address.parse::<IpAddr>().is_err() {
        bail!("--bind-address {address:?} is no IP address; write 0.0.0.0, ::, or leave it out");
    }
    Ok(address.to_owned())
}

/// Writes files below `folder`, which is made, and says so.
fn write_all(folder: &Path, files: &[(String, String)]) -> anyhow::Result<()> {
    for (name, text) in files {
        let path = folder.join(name);
        let parent = path.parent().unwrap_or(folder);
        fs::create_dir_all(parent).and_then(|()| fs::write(&path, text)).with_context(|| {
            format!("cannot write {}; name a folder that can be written to", path.display())
        })?;
        let _ = writeln!(anstream::stderr(), "wrote {}", path.display());
    }
    Ok(())
}
