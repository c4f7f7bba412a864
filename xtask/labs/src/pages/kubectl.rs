//! The kubectl that pages type.

use std::{
    env, fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
};

use anyhow::Context as _;
use tempfile::TempDir;

use crate::UserError;

/// A kubectl, reachable by that name.
#[derive(Debug)]
pub(super) struct Kubectl {
    folder: PathBuf,
    _link: Option<TempDir>,
}

impl Kubectl {
    /// The folder that holds it, for PATH.
    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }
}

/// Finds kubectl: the file in `KUBECTL`, else in PATH.
///
/// # Errors
/// [`UserError`] that says where to get it.
pub(super) fn find() -> anyhow::Result<Kubectl> {
    if let Some(given) = env::var_os("KUBECTL").filter(|it| !it.is_empty()) {
        let given = PathBuf::from(given);
        let file = fs::canonicalize(&given).map_err(|error| {
            UserError(format!(
                "KUBECTL is {}, and that is no file: {error}.{HINT}",
                given.display()
            ))
        })?;
        let link = tempfile::Builder::new().prefix("loadmaster-kubectl-").tempdir();
        let link = link.context("cannot make a folder for temporary files")?;
        symlink(file, link.path().join("kubectl")).context("cannot link to kubectl")?;
        return Ok(Kubectl { folder: link.path().to_owned(), _link: Some(link) });
    }
    let path = env::var_os("PATH").unwrap_or_default();
    let found = env::split_paths(&path).find(|it| it.join("kubectl").is_file());
    let folder = found.ok_or_else(|| {
        UserError(format!("the pages need kubectl, and there is none in PATH.{HINT}"))
    })?;
    Ok(Kubectl { folder, _link: None })
}

const HINT: &str = "\n\nhint: install it as https://kubernetes.io/docs/tasks/tools/ says (1.32 or later), or name the file with KUBECTL=FILE";
