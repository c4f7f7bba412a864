//! What stands behind `cargo xtask doctor`, `build`, `build-image`, `verify-tags`, `forge` and `write-down`.
//!
//! A program of its own, since it links what the other commands should not have to compile.

use std::{env, ffi::OsString, path::PathBuf, process::ExitCode};

use anstream::eprintln;
use clap::{Parser, Subcommand};
use xtask_images::{measure, signals::Stop};

mod commands;
mod options;
mod progress;

/// What stands behind the images' commands.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask", about = "What stands behind the images' commands")]
struct Cli {
    /// The repository.
    #[arg(long)]
    root: PathBuf,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Begin(commands::begin::Options),
    Doctor(options::doctor::Options),
    Build(options::build::Options),
    BuildImage(options::build_image::Options),
    Unpack(commands::unpack::Options),
    VerifyTags(options::verify_tags::Options),
    Forge(options::forge::Options),
    WriteDown(options::write_down::Options),
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    // `guard -- PROGRAM …`: how this program starts others; for nobody else.
    let words: Vec<OsString> = env::args_os().skip(1).collect();
    if let [guard, _, command @ ..] = words.as_slice()
        && guard == measure::GUARD
    {
        return measure::guard(command).unwrap_or_else(|error| {
            eprintln!("error: cannot run {command:?}: {error}");
            ExitCode::from(127)
        });
    }
    let Cli { root, command } = Cli::parse();
    let outcome = async {
        match command {
            Command::Begin(it) => commands::begin::run(&it, &root).await,
            Command::Doctor(it) => commands::doctor::run(&it, &root).await,
            Command::Build(it) => commands::build::run(&it, &root, &mut Stop::listen()?).await,
            Command::BuildImage(it) => {
                commands::build_image::run(&it, &root, &mut Stop::listen()?).await
            }
            Command::Unpack(it) => commands::unpack::run(&it, &root, &mut Stop::listen()?).await,
            Command::VerifyTags(it) => {
                commands::verify_tags::run(&it, &root, &mut Stop::listen()?).await
            }
            Command::WriteDown(it) => commands::write_down::run(&it, &root),
            Command::Forge(it) => commands::forge::run(&it, &root, &mut Stop::listen()?).await,
        }
    };
    outcome.await.unwrap_or_else(|error| {
        let code = commands::exit_code(&error);
        // Whoever stopped it knows.
        if code <= 128 {
            eprintln!("error: {error:#}");
            if let Some(hint) = commands::hint(&error) {
                eprintln!("\nhint: {hint}");
            }
        }
        ExitCode::from(code)
    })
}
