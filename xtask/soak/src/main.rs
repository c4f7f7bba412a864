//! What stands behind `cargo xtask soak`.
//!
//! A program of its own, since it links the lab cluster and the other commands should not.

use std::{path::PathBuf, process::ExitCode};

use anstream::eprintln;
use clap::Parser;
use tokio::signal::unix::{SignalKind, signal};
use xtask_heavy::lock::Lock;

mod cluster;
mod memory;
mod options;
mod soak;

/// What stands behind `cargo xtask soak`.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask soak", bin_name = "cargo xtask soak")]
struct Cli {
    /// The program `scheduler`.
    #[arg(long, hide = true)]
    scheduler: PathBuf,
    /// Where cargo builds.
    #[arg(long, hide = true)]
    target: PathBuf,
    #[command(flatten)]
    options: options::Options,
}

#[tokio::main]
async fn main() -> ExitCode {
    let Cli { scheduler, target, options } = Cli::parse();
    // A build beside it would be in what is measured.
    let _lock = match Lock::take(&target, "cargo xtask soak") {
        Ok(lock) => lock,
        Err(error) => {
            eprintln!("error: {error}");
            return ExitCode::from(2);
        }
    };
    let outcome = tokio::select! {
        outcome = soak::run(&options, &scheduler) => outcome,
        // What was started ends with what started it.
        code = interrupted() => return code,
    };
    outcome.unwrap_or_else(|error| {
        eprintln!("error: {error:#}");
        ExitCode::from(2)
    })
}

/// Completes when somebody wants the program to stop; for ever where that cannot be heard.
async fn interrupted() -> ExitCode {
    let heard = signal(SignalKind::interrupt()).and_then(|it| {
        let terminate = signal(SignalKind::terminate())?;
        Ok((it, terminate))
    });
    let Ok((mut interrupt, mut terminate)) = heard else { return std::future::pending().await };
    tokio::select! {
        _ = interrupt.recv() => ExitCode::from(130),
        _ = terminate.recv() => ExitCode::from(143),
    }
}
