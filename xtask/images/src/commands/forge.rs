//! `cargo xtask forge`.

use std::{
    env,
    path::{Path, PathBuf},
    process::ExitCode,
};

use anstream::println;
use serde_json::json;
use xtask_images::{
    forge::{Forge, PROGRAM, Running, Status},
    signals::Stop,
    site::Site,
    size::Size,
};

use crate::{
    options::{
        build::Output,
        forge::{Action, Options},
    },
    progress::note,
};

/// Starts, stops or tells of the registry.
pub(crate) async fn run(
    options: &Options,
    root: &Path,
    stop: &mut Stop,
) -> anyhow::Result<ExitCode> {
    let forge = Forge::of(&Site::find(root)?.target);
    match options.action {
        Action::Up { port, output } => {
            let program = env::var_os(PROGRAM).map(PathBuf::from);
            let (running, is_new) = tokio::select! {
                up = forge.up(port, program) => up?,
                stopped = stop.wanted() => return Err(stopped.into()),
            };
            tell(&running, is_new, output)?;
        }
        Action::Down { delete_data } => {
            let stopped = forge.down(delete_data).await?;
            note(&match stopped {
                Some(it) => format!("The registry on {} is stopped.", it.address),
                None => "No registry of this repository is running.".to_owned(),
            });
            if !delete_data && forge.data().exists() {
                note(&format!("Its images stay in {}.", forge.data().display()));
            }
        }
        Action::Status { output } => return status(&forge.status()?, output),
    }
    Ok(ExitCode::SUCCESS)
}

fn tell(running: &Running, is_new: bool, output: Output) -> anyhow::Result<()> {
    if output == Output::Json {
        let document = json!({ "version": 1, "started": is_new, "running": running });
        println!("{}", serde_json::to_string_pretty(&document)?);
        return Ok(());
    }
    let how = if is_new { "is up" } else { "was up already" };
    println!("The registry {how} on http://{}, process {}.", running.address, running.pid);
    println!("  images  {}", running.data.display());
    println!("  log     {}", running.log.display());
    println!("  stop    cargo xtask forge down");
    Ok(())
}

fn status(status: &Status, output: Output) -> anyhow::Result<ExitCode> {
    let code = ExitCode::from(u8::from(status.running.is_none()));
    if output == Output::Json {
        let document = json!({ "version": 1, "status": status });
        println!("{}", serde_json::to_string_pretty(&document)?);
        return Ok(code);
    }
    match &status.running {
        Some(it) => println!("The registry is up on http://{}, process {}.", it.address, it.pid),
        None => println!("No registry is running; `cargo xtask forge up` starts one."),
    }
    let size = Size::bytes(status.size);
    println!("  images  {} ({size})", status.data.display());
    Ok(code)
}
