//! What stands behind `cargo xtask stage1`, `stage2`, `teardown` and `lab run`.
//!
//! A program of its own, since it links a Kubernetes client and the other commands should not.

use std::{path::PathBuf, process::ExitCode};

use anstream::eprintln;
use clap::{Parser, Subcommand};

mod kept;
mod pages;
mod process;
mod signals;
mod stage;
mod stage1;
mod stage2;
mod teardown;

/// The programs that were built for this one.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask", about = "What stands behind the labs' commands")]
struct Cli {
    #[command(flatten)]
    programs: Programs,
    #[command(subcommand)]
    command: Command,
}

/// Where the repository and its programs are.
#[derive(Clone, Debug, clap::Args)]
struct Programs {
    /// The repository.
    #[arg(long)]
    root: PathBuf,
    /// Where cargo puts what it builds, and stages what they keep.
    #[arg(long)]
    target: PathBuf,
    /// The program `lab`.
    #[arg(long)]
    lab: PathBuf,
    /// The program `scheduler`.
    #[arg(long)]
    scheduler: PathBuf,
    /// The program behind the images' commands, for those that need it.
    #[arg(long)]
    images: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// See one plugin change where pods go.
    Stage1(stage1::Options),
    /// Run the image from the registry as a second scheduler.
    Stage2(stage2::Options),
    /// Remove what stages have left.
    Teardown(teardown::Options),
    /// Run lab pages and compare.
    Run(pages::Options),
}

/// A failure that the user can mend; its text says how. Exit code 2.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct UserError(String);

/// One thread is enough, and children that die with the thread that started them live as long as
/// the program.
#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let Cli { programs, command } = Cli::parse();
    let outcome = match command {
        Command::Stage1(options) => stage1::run(options, programs).await,
        Command::Stage2(options) => stage2::run(options, programs).await,
        Command::Teardown(options) => teardown::run(options, programs).await,
        Command::Run(options) => pages::run(options, programs).await,
    };
    outcome.unwrap_or_else(|error| {
        eprintln!("error: {error:#}");
        if error.is::<kube::Error>() {
            eprintln!("\nhint: see whether the cluster answers, by `kubectl get nodes`");
        }
        ExitCode::from(code(&error))
    })
}

/// 2 where the user can mend it, a cluster that does not answer or refuses included; else 70.
fn code(error: &anyhow::Error) -> u8 {
    if error.is::<UserError>() || error.is::<kube::Error>() { 2 } else { 70 }
}

#[cfg(test)]
mod tests {
    use anyhow::Context as _;

    use super::*;

    #[test]
    fn a_cluster_that_does_not_answer_is_no_fault_of_the_program() {
        let gone = kube::Error::Service("connection refused".into());
        let error = Err::<(), _>(gone).context("cannot list the nodes").unwrap_err();
        assert_eq!(code(&error), 2);
        assert_eq!(code(&UserError("mend it".to_owned()).into()), 2);
        assert_eq!(code(&anyhow::anyhow!("a fault")), 70);
    }
}
