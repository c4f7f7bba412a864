//! The command.

use std::{collections::BTreeMap, path::PathBuf, process::ExitCode, time::Duration};

use anyhow::Context;
use clap::ValueEnum;
use loadmaster_core::scheduler::SchedulerOptions;
use loadmaster_framework::{Gates, Registry, duration::GoDuration};
use loadmaster_k8s::{
    checks::Subject,
    client::{self, ClientOptions},
    needs::{Wants, permissions, readers_of},
};

use super::{
    super::{
        NEGATIVE,
        args::{ClientFlags, GateFlags},
        config::read_config,
        manifests::leading,
        print::print,
    },
    examine::{Patient, examine},
    text,
};

/// Says which pods wait in a cluster and why: pods that no scheduler takes, gated pods, pods that
/// have waited for long; who leads; and what this scheduler may not do. Exits with 1 if it found
/// anything.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  scheduler doctor --for 5m
  scheduler doctor --config scheduler.yaml --service-account kube-system/my-scheduler --output json")]
pub(crate) struct Doctor {
    /// The configuration of the scheduler in question; its profiles' names are known, its
    /// permissions and its lease are looked at
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Pods of this namespace alone
    #[arg(short, long, value_name = "NAMESPACE")]
    namespace: Option<String>,
    /// Pods of every namespace, as where no namespace is given
    #[arg(short = 'A', long, conflicts_with = "namespace")]
    all_namespaces: bool,
    /// How long a pod may wait before that is a finding
    #[arg(long = "for", value_name = "DURATION", default_value = "1m")]
    patience: GoDuration,
    /// The service account whose permissions are looked at; your own where this is left out
    #[arg(long, value_name = "NAMESPACE/NAME", requires = "config", value_parser = account)]
    service_account: Option<Subject>,
    /// How it is printed
    #[arg(long, value_enum, default_value_t)]
    output: Output,
    #[command(flatten)]
    client: ClientFlags,
    #[command(flatten)]
    gates: GateFlags,
}

#[derive(Clone, Copy, Debug, Default, ValueEnum)]
enum Output {
    /// Tables for a person.
    #[default]
    Text,
    /// One JSON object.
    Json,
}

/// How long the server may take for each answer.
const LIMIT: Duration = Duration::from_secs(15);

impl Doctor {
    pub(crate) fn run(&self, registry: &Registry, gates: &Gates) -> anyhow::Result<ExitCode> {
        let patient = self.patient(registry, gates)?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .context("cannot start")?;
        let options = ClientOptions {
            kubeconfig: self.client.kubeconfig.clone().map(|it| (it, "--kubeconfig".to_owned())),
            context: self.client.context.clone(),
            master: self.client.master.clone(),
        };
        let findings = runtime.block_on(async {
            let cluster = client::connect(&options, LIMIT).await?;
            examine(&cluster, &patient).await
        })?;
        match self.output {
            Output::Text => print(&text::text(&findings, self.patience))?,
            Output::Json => print(&format!("{:#}\n", findings.json()))?,
        }
        Ok(if findings.is_fine() { ExitCode::SUCCESS } else { ExitCode::from(NEGATIVE) })
    }

    /// What is looked for.
    fn patient(&self, registry: &Registry, gates: &Gates) -> anyhow::Result<Patient> {
        let mut gates = gates.clone();
        self.gates.apply_to(&mut gates)?;
        let loaded = read_config(self.config.as_deref(), registry, &gates)?;
        let options = SchedulerOptions::from_config(&loaded, registry, &gates)?;
        let election = leading(&loaded.config.leader_election);
        let wants = Wants { leader_election: election, serving: true };
        let given = self.config.is_some();
        Ok(Patient {
            namespace: self.namespace.clone(),
            patience: self.patience.to_std(),
            profiles: loaded.profiles.iter().map(|it| it.scheduler_name.clone()).collect(),
            needs: if given { permissions(&options.profiles, wants) } else { Vec::new() },
            readers: if given { readers_of(&options.profiles) } else { BTreeMap::new() },
            whose: self.service_account.clone().unwrap_or(Subject::Oneself),
            lease: election
                .filter(|_| given)
                .map(|it| (it.resource_namespace.clone(), it.resource_name.clone())),
        })
    }
}

fn account(text: &str) -> Result<Subject, String> {
    match text.split_once('/') {
        Some((namespace, name)) if !namespace.is_empty() && !name.is_empty() => {
            Ok(Subject::ServiceAccount { namespace: namespace.to_owned(), name: name.to_owned() })
        }
        _ => Err("write it as NAMESPACE/NAME".to_owned()),
    }
}
