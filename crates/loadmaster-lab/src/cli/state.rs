//! The files of a running lab: its lock, and what others need to know to reach it.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use serde::{Deserialize, Serialize};

use super::error::UserError;
use super::kubeconfig;

/// What a running lab tells about itself; also what `lab up --output json` prints.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Facts {
    /// Whether the API server answers and the nodes are Ready.
    pub(super) ready: bool,
    /// The API server's URL.
    pub(super) server: String,
    /// The API server's URL for HTTPS, where credentials are asked for.
    pub(super) https: String,
    /// The kubeconfig, absolute.
    pub(super) kubeconfig: PathBuf,
    /// Its context.
    pub(super) context: String,
    /// The state directory, absolute.
    pub(super) state_dir: PathBuf,
    /// The nodes that the lab started with.
    pub(super) nodes: Vec<String>,
    /// The processes.
    pub(super) pids: Pids,
}

/// The processes of a lab.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Pids {
    /// The API server, controllers and nodes.
    pub(super) lab: u32,
    /// The scheduler, if there is one now.
    pub(super) scheduler: Option<u32>,
}

/// The state directory of a lab, by its paths.
#[derive(Clone, Debug)]
pub(super) struct Files {
    dir: PathBuf,
}

impl Files {
    /// The files in this directory.
    pub(super) fn in_dir(dir: &Path) -> Self {
        Self { dir: dir.to_owned() }
    }

    pub(super) fn dir(&self) -> &Path {
        &self.dir
    }

    pub(super) fn lab_log(&self) -> PathBuf {
        self.dir.join("lab.log")
    }

    pub(super) fn scheduler_log(&self) -> PathBuf {
        self.dir.join("scheduler.log")
    }

    pub(super) fn kubeconfig(&self) -> PathBuf {
        self.dir.join("kubeconfig")
    }

    /// Where the files of containers are that really run.
    pub(super) fn containers(&self) -> PathBuf {
        self.dir.join("containers")
    }

    fn facts_file(&self) -> PathBuf {
        self.dir.join("lab.json")
    }

    fn lock_file(&self) -> PathBuf {
        self.dir.join("lab.lock")
    }

    /// What the lab here told about itself last.
    pub(super) fn facts(&self) -> Option<Facts> {
        serde_json::from_str(&fs::read_to_string(self.facts_file()).ok()?).ok()
    }

    /// Whether a lab runs here now.
    pub(super) fn is_in_use(&self) -> bool {
        let opened = OpenOptions::new().read(true).write(true).open(self.lock_file());
        opened.is_ok_and(|file| matches!(file.try_lock(), Err(TryLockError::WouldBlock)))
    }

    /// Creates the directory, absolute from here on, without taking it.
    pub(super) fn create(&self) -> Result<Self, UserError> {
        let failed = |reason| UserError::StateDir { dir: self.dir.clone(), reason };
        fs::create_dir_all(&self.dir).map_err(failed)?;
        Ok(Self { dir: fs::canonicalize(&self.dir).map_err(failed)? })
    }

    /// Takes the directory for this process.
    ///
    /// # Errors
    /// When it cannot be written, or another lab runs here.
    pub(super) fn claim(&self) -> Result<Claim, UserError> {
        let files = self.create()?;
        let failed = |reason| UserError::StateDir { dir: files.dir.clone(), reason };
        let mut options = OpenOptions::new();
        let lock = options.read(true).write(true).create(true).truncate(false);
        let lock = lock.open(files.lock_file()).map_err(failed)?;
        match lock.try_lock() {
            Ok(()) => {
                files.remove_kubeconfig();
                files.remove_containers();
                Ok(Claim { files, _lock: lock })
            }
            Err(TryLockError::Error(reason)) => Err(failed(reason)),
            Err(TryLockError::WouldBlock) => {
                let what = files.facts().map_or_else(
                    || "still starting".to_owned(),
                    |facts| {
                        let kubeconfig = facts.kubeconfig.display();
                        format!("pid {}, KUBECONFIG={kubeconfig}", facts.pids.lab)
                    },
                );
                Err(UserError::AlreadyRunning { dir: files.dir.clone(), what })
            }
        }
    }

    /// Removes the kubeconfig of the lab that was here last, wherever it is.
    fn remove_kubeconfig(&self) {
        if let Some(facts) = self.facts()
            && let Err(error) = kubeconfig::remove(&facts.kubeconfig)
        {
            tracing::warn!(%error, "the kubeconfig could not be removed");
        }
    }

    /// Removes the files of containers that did not outlive their lab.
    fn remove_containers(&self) {
        match fs::remove_dir_all(self.containers()) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                let folder = self.containers();
                tracing::warn!(folder = %folder.display(), %error, "a folder could not be removed");
            }
            _ => {}
        }
    }

    /// Removes what a lab leaves behind, and the directory if nothing else is in it.
    pub(super) fn sweep(&self) {
        self.remove_kubeconfig();
        self.remove_containers();
        for file in [self.facts_file(), self.scheduler_log(), self.lab_log(), self.lock_file()] {
            match fs::remove_file(&file) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    tracing::warn!(file = %file.display(), %error, "a file could not be removed");
                }
                _ => {}
            }
        }
        // Somebody else's files keep the directory.
        let _ = fs::remove_dir(&self.dir);
    }
}

/// A state directory that belongs to this process; its files go with this value.
#[derive(Debug)]
pub(super) struct Claim {
    files: Files,
    _lock: File,
}

impl Claim {
    pub(super) fn files(&self) -> &Files {
        &self.files
    }

    /// Tells others how to reach this lab.
    pub(super) fn publish(&self, facts: &Facts) -> anyhow::Result<()> {
        let file = self.files.facts_file();
        let fresh = file.with_extension("new");
        // Readers see the old file or the new one, never half of it.
        fs::write(&fresh, serde_json::to_string(facts)?)
            .and_then(|()| fs::rename(&fresh, &file))
            .with_context(|| format!("cannot write {}", file.display()))
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        self.files.sweep();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_lab_at_a_time_and_nothing_is_left() {
        let dir = tempfile::tempdir().unwrap();
        let files = Files::in_dir(&dir.path().join("lab"));
        assert!(!files.is_in_use());
        let claim = files.claim().unwrap();
        assert!(files.is_in_use());
        assert!(matches!(files.claim(), Err(UserError::AlreadyRunning { .. })));
        drop(claim);
        assert!(!files.dir().exists());
    }

    #[test]
    fn a_directory_that_cannot_be_made_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("file");
        fs::write(&file, "").unwrap();
        let refusal = Files::in_dir(&file.join("lab")).claim().unwrap_err().to_string();
        assert!(refusal.contains("--state-dir DIR"), "{refusal}");
    }

    #[test]
    fn foreign_files_keep_the_directory() {
        let dir = tempfile::tempdir().unwrap();
        let files = Files::in_dir(dir.path());
        fs::write(dir.path().join("notes"), "mine").unwrap();
        drop(files.claim().unwrap());
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }
}
