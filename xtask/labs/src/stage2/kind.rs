//! A kind cluster: the image's archive on its nodes, and how to reach it.

use std::{
    fs, io,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

use anyhow::Context as _;

use crate::UserError;

/// Loads the archive into the cluster `name`; answers a kubeconfig for it, in `folder`.
///
/// # Errors
/// [`UserError`] when kind is missing or refuses.
pub(super) fn load(name: &str, archive: &Path, folder: &Path) -> anyhow::Result<PathBuf> {
    if !archive.is_file() {
        let text = format!(
            "{} is no file.\n\nhint: write it with `cargo xtask build-image concentrate-scheduler \
             --output oci-archive:{0}`",
            archive.display()
        );
        return Err(UserError(text).into());
    }
    let mut command = Command::new("kind");
    command.args(["load", "image-archive", "--name", name]).arg(archive);
    run(command)?;
    let mut command = Command::new("kind");
    command.args(["get", "kubeconfig", "--name", name]);
    let kubeconfig = folder.join("kind.kubeconfig");
    fs::write(&kubeconfig, run(command)?.stdout).context("cannot write the kubeconfig")?;
    Ok(kubeconfig)
}

fn run(mut command: Command) -> anyhow::Result<Output> {
    let output = command.stdin(Stdio::null()).output().map_err(|error| {
        let text = match error.kind() {
            io::ErrorKind::NotFound => "there is no `kind` in PATH.\n\nhint: install it as https://kind.sigs.k8s.io says, or leave --kind out for a lab cluster".to_owned(),
            _ => format!("cannot run kind: {error}"),
        };
        UserError(text)
    })?;
    if output.status.success() {
        return Ok(output);
    }
    let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    let text = format!("kind refuses: {said}\n\nhint: `kind get clusters` lists what there is");
    Err(UserError(text).into())
}
