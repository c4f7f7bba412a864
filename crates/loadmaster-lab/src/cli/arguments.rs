//! The command line.

use std::env;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand};

use super::completions::Completions;
use super::down::Down;
use super::error::UserError;
use super::guard::Guard;
use super::output;
use super::state::Files;
use super::status::StatusCommand;
use super::up::Up;

/// A Kubernetes cluster on this machine, without containers: an API server that kubectl can talk
/// to, controllers, hollow nodes and the scheduler under study.
#[derive(Debug, Parser)]
#[command(name = "lab", version, arg_required_else_help = true, after_help = EXAMPLES)]
pub struct Lab {
    #[command(subcommand)]
    command: Command,
}

const EXAMPLES: &str = "\
Examples:
  lab up --nodes 3                        a cluster of three nodes until Ctrl-C
  lab up --detach && export KUBECONFIG=$PWD/target/lab/kubeconfig
  kubectl create deployment web --image=registry.k8s.io/pause:3.9 --replicas=6
  lab down                                stop what `lab up --detach` started";

#[derive(Debug, Subcommand)]
enum Command {
    /// Start a cluster.
    Up(Up),
    /// Stop the cluster and remove its files.
    Down(Down),
    /// Say whether a cluster runs and how to reach it; exit code 1 when none does.
    Status(StatusCommand),
    /// Print completions for a shell.
    Completions(Completions),
    #[command(hide = true)]
    Guard(Guard),
}

/// Where a lab keeps its files.
#[derive(Clone, Debug, Args)]
pub(super) struct StateDir {
    /// Where the lab keeps its files; one lab runs per directory. Without it `target/lab`, in the
    /// root of the Cargo workspace from anywhere inside of one.
    #[arg(long, value_name = "DIR")]
    state_dir: Option<PathBuf>,
}

impl StateDir {
    /// The files of the lab that is meant.
    pub(super) fn files(&self) -> Files {
        match &self.state_dir {
            Some(dir) => Files::in_dir(dir),
            None => Files::in_dir(&workspace_root().join("target/lab")),
        }
    }
}

/// The nearest folder upwards that has a `Cargo.lock`; here, as an empty path, where there is none
/// or this is it, so that what is told about it stays short.
fn workspace_root() -> PathBuf {
    let Ok(here) = env::current_dir() else { return PathBuf::new() };
    let root = here.ancestors().find(|it| it.join("Cargo.lock").is_file());
    root.filter(|it| *it != here).map(Path::to_owned).unwrap_or_default()
}

/// Runs the command with these arguments, the program's name first: exit code 0 when all is well, 1
/// when the finding is negative, 2 when the user must change something, 70 for a fault of ours.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let parsed = match Lab::try_parse_from(arguments) {
        Ok(parsed) => parsed,
        Err(error) => {
            // Help and version come this way too; a closed stream leaves nobody to tell.
            let _ = error.print();
            return if error.use_stderr() { ExitCode::from(2) } else { ExitCode::SUCCESS };
        }
    };
    let outcome = match parsed.command {
        Command::Up(up) => up.run(),
        Command::Down(down) => down.run(),
        Command::Status(status) => status.run(),
        Command::Completions(completions) => completions.run(),
        Command::Guard(guard) => guard.run(),
    };
    outcome.unwrap_or_else(|error| {
        let cause = error.downcast_ref::<io::Error>();
        if cause.is_some_and(|it| it.kind() == io::ErrorKind::BrokenPipe) {
            // Whoever read the answer has heard enough.
            return ExitCode::SUCCESS;
        }
        output::complain(format_args!("{error:#}"));
        let expected = error.downcast_ref::<UserError>().is_some();
        ExitCode::from(if expected { 2 } else { 70 })
    })
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Lab::command().debug_assert();
    }

    #[test]
    fn a_quantity_that_is_none_is_refused() {
        let parse = |cpu| Lab::try_parse_from(["lab", "up", "--node-cpu", cpu]);
        assert!(parse("500m").is_ok());
        let refusal = parse("four").unwrap_err().to_string();
        assert!(refusal.contains("`four` is not a quantity"), "{refusal}");
        assert!(parse("-1").is_err());
    }
}
