//! A kind cluster: the image's archive on its nodes, and how to reach it.

use std::{
    fs, io,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

use anyhow::Context as _;

use crate::UserError;

/// Its name in PATH.
pub(super) const PROGRAM: &str = "kind";

/// Has the program `kind` load the archive into the cluster `name`; answers a kubeconfig for it, in `folder`.
///
/// # Errors
/// [`UserError`] when kind is missing or refuses.
pub(super) fn load(
    kind: &Path,
    name: &str,
    archive: &Path,
    folder: &Path,
) -> anyhow::Result<PathBuf> {
    if !archive.is_file() {
        let text = format!(
            "{} is no file.\n\nhint: write it with `cargo xtask build-image concentrate-scheduler \
             --output oci-archive:{0}`",
            archive.display()
        );
        return Err(UserError(text).into());
    }
    let mut command = Command::new(kind);
    command.args(["load", "image-archive", "--name", name]).arg(archive);
    run(command)?;
    let mut command = Command::new(kind);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::tests::script;

    /// A `kind` that notes what it is told, and knows the cluster `academy`.
    const KIND: &str = "#!/bin/sh\necho \"$*\" >> \"$0.log\"\ncase \"$*\" in\n\
        *'--name academy'*) echo 'kind: Config' ;;\n\
        *) echo 'no nodes found for cluster' >&2; exit 1 ;;\nesac\n";

    #[test]
    fn the_archive_is_loaded_and_the_clusters_kubeconfig_kept() {
        let folder = tempfile::tempdir().unwrap();
        let (kind, archive) = (folder.path().join("kind"), folder.path().join("image.tar"));
        script(&kind, KIND);
        let load = |name| load(&kind, name, &archive, folder.path());
        let error = load("academy").unwrap_err().to_string();
        assert!(
            error.contains("image.tar is no file") && error.contains("oci-archive:"),
            "{error}"
        );

        fs::write(&archive, "").unwrap();
        let kubeconfig = load("academy").unwrap();
        assert_eq!(fs::read_to_string(kubeconfig).unwrap(), "kind: Config\n");
        let told = fs::read_to_string(folder.path().join("kind.log")).unwrap();
        let archive = archive.display();
        let expected =
            format!("load image-archive --name academy {archive}\nget kubeconfig --name academy\n");
        assert_eq!(told, expected);

        let error = load("other").unwrap_err().to_string();
        assert!(error.contains("kind refuses: no nodes found"), "{error}");
        let gone = super::load(Path::new("no-kind-here"), "academy", &kind, folder.path());
        let error = gone.unwrap_err().to_string();
        assert!(error.contains("no `kind` in PATH"), "{error}");
    }
}
