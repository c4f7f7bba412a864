//! What the command line can say: kube-scheduler's flags that still mean something, by subject.
//!
//! Source: `cmd/kube-scheduler/app/options/options.go`, 1.36.

mod accepted;
mod client;
mod gates;
mod leader;
mod logging;
mod serving;
mod value;

use std::path::PathBuf;

use clap::{Parser, Subcommand};
use loadmaster_framework::duration::GoDuration;

use super::{
    completions::Completions, config::Config, doctor::Doctor, explain::Explain, man::Man,
    manifests::Manifests,
};
pub(crate) use accepted::AcceptedFlags;
pub(crate) use client::ClientFlags;
pub(crate) use gates::GateFlags;
pub(crate) use leader::LeaderFlags;
pub(crate) use logging::{LogFormat, LoggingFlags};
pub(crate) use serving::{ServingFlags, TlsVersion};
pub(crate) use value::{hyphenated, values};

/// Schedules the pods that ask for one of its profiles by `spec.schedulerName`.
///
/// Without --config it is a default scheduler: one profile, `default-scheduler`, with
/// kube-scheduler's plugins and weights.
#[derive(Debug, Parser)]
#[command(
    name = "scheduler",
    version = concat!(env!("CARGO_PKG_VERSION"), " (decides as kube-scheduler 1.36)"),
    args_conflicts_with_subcommands = true,
    args_override_self = true,
    after_help = "Examples:
  scheduler --config scheduler.yaml --kubeconfig ~/.kube/config --leader-elect=false
  scheduler config check scheduler.yaml
  scheduler manifests --config scheduler.yaml --image registry.example/scheduler:1 | kubectl apply -f -

Exit codes: 0 stopped on request, 1 stopped by a second signal or a check found something, 2 bad \
                  usage, configuration or cluster, 70 a fault of the program, as a plugin that does \
                  not return when it is to stop."
)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
    #[command(flatten)]
    pub(crate) run: Run,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Checks a configuration, or shows what it comes to.
    Config(Config),
    /// Shows the page of a plugin, or lists the plugins.
    Explain(Explain),
    /// Prints what a cluster needs to run a scheduler.
    Manifests(Manifests),
    /// Says which pods wait in a cluster, and why.
    Doctor(Doctor),
    /// Prints a completion script for a shell.
    Completions(Completions),
    /// Prints the manual page of a command, or writes those of all.
    Man(Man),
}

/// How the scheduler runs.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Run {
    /// A `KubeSchedulerConfiguration` of `kubescheduler.config.k8s.io/v1`
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Writes the configuration with defaults and flags filled in to this file, and ends
    #[arg(long, value_name = "FILE")]
    pub(crate) write_config_to: Option<PathBuf>,
    /// Draws among equally good nodes from this seed, so that a run can be repeated
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
    /// How long one plugin may work on one pod in a cycle before the cycle ends in an error that
    /// names it
    #[arg(long, value_name = "DURATION", default_value = "10s")]
    pub(crate) plugin_time_budget: GoDuration,
    /// How long a pod that fits nowhere may wait before it is tried again though nothing changed
    #[arg(long, value_name = "DURATION", default_value = "5m")]
    pub(crate) pod_max_in_unschedulable_pods_duration: GoDuration,
    #[command(flatten)]
    pub(crate) client: ClientFlags,
    #[command(flatten)]
    pub(crate) leader: LeaderFlags,
    #[command(flatten)]
    pub(crate) serving: ServingFlags,
    #[command(flatten)]
    pub(crate) logging: LoggingFlags,
    #[command(flatten)]
    pub(crate) gates: GateFlags,
    #[command(flatten)]
    pub(crate) accepted: AcceptedFlags,
}

#[cfg(test)]
mod tests;
