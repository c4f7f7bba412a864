//! What the command line can say.

use std::path::PathBuf;

use clap::{ArgAction, Parser, Subcommand, ValueEnum};

use super::{completions::Completions, config::Config, explain::Explain};

/// Schedules the pods that ask for one of its profiles by `spec.schedulerName`.
///
/// Without --config it is a default scheduler: one profile, `default-scheduler`, with
/// kube-scheduler's plugins and weights.
#[derive(Debug, Parser)]
#[command(
    name = "scheduler",
    version = concat!(env!("CARGO_PKG_VERSION"), " (decides as kube-scheduler 1.36)"),
    args_conflicts_with_subcommands = true,
    after_help = "Exit codes: 0 stopped on request, 1 stopped by a second signal or a check found \
                  something, 2 bad usage, configuration or cluster, 70 a fault of the program."
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
    /// Prints a completion script for a shell.
    Completions(Completions),
}

/// How the scheduler runs.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Run {
    /// A `KubeSchedulerConfiguration` of `kubescheduler.config.k8s.io/v1`
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// A kubeconfig; comes before the configuration's `clientConnection.kubeconfig`, the variable
    /// KUBECONFIG, the service account in a pod and ~/.kube/config
    #[arg(long, value_name = "FILE")]
    pub(crate) kubeconfig: Option<PathBuf>,
    /// The context of the kubeconfig; its current one where this is left out
    #[arg(long, value_name = "NAME")]
    pub(crate) context: Option<String>,
    /// The API server's address; takes the place of the kubeconfig's
    #[arg(long, value_name = "URL")]
    pub(crate) master: Option<String>,
    /// How much is logged: 0 decisions, 4 plugins, 10 every node
    #[arg(short, long = "v", value_name = "N", default_value_t = 0)]
    pub(crate) verbosity: u8,
    /// How log lines are written
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t)]
    pub(crate) logging_format: LogFormat,
    /// Whether to take part in a leader election; comes before the configuration's own word
    #[arg(
        long,
        value_name = "BOOL",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "true",
        action = ArgAction::Set
    )]
    pub(crate) leader_elect: Option<bool>,
    /// Draws among equally good nodes from this seed, so that a run can be repeated
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogFormat {
    /// A line for a person.
    #[default]
    Text,
    /// A JSON object a line.
    Json,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verbosity(args: &[&str]) -> u8 {
        Cli::try_parse_from([&["scheduler"], args].concat()).unwrap().run.verbosity
    }

    #[test]
    fn verbosity_is_read_in_every_notation_of_the_original() {
        for args in [&["-v=4"][..], &["-v", "4"], &["-v4"], &["--v=4"], &["--v", "4"]] {
            assert_eq!(verbosity(args), 4, "{args:?}");
        }
    }

    #[test]
    fn leader_election_is_switched_as_in_the_original() {
        let leader_elect = |args: &[&str]| {
            Cli::try_parse_from([&["scheduler"], args].concat()).unwrap().run.leader_elect
        };
        assert_eq!(leader_elect(&[]), None);
        assert_eq!(leader_elect(&["--leader-elect"]), Some(true));
        assert_eq!(leader_elect(&["--leader-elect=false"]), Some(false));
    }

    #[test]
    fn the_command_line_is_consistent() {
        <Cli as clap::CommandFactory>::command().debug_assert();
    }
}
