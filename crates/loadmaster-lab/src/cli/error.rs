//! Errors that a user can do something about.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

use crate::server::StartError;

/// An expected failure; its text says what to do. Exit code 2.
#[derive(Debug, Error)]
pub(super) enum UserError {
    #[error(
        "a lab is already running in {dir} ({what}).\n\nhint: use it, stop it with `lab down \
         --state-dir {dir}`, or start another with `--state-dir OTHER`"
    )]
    AlreadyRunning { dir: PathBuf, what: String },
    #[error(
        "cannot write to the state directory {dir}: {reason}.\n\nhint: choose a directory that you \
         may write to with `--state-dir DIR`"
    )]
    StateDir { dir: PathBuf, reason: io::Error },
    #[error(
        "the port {port} on 127.0.0.1 cannot be had: {reason}.\n\nhint: stop what listens there, \
         choose another with `--port P`, or leave `--port` out for a free one"
    )]
    Port { port: u16, reason: String },
    #[error(
        "{file} exists and was not written by `lab`; it is left alone.\n\nhint: name another file \
         with `--kubeconfig FILE`, or leave it out to write one in the state directory"
    )]
    ForeignKubeconfig { file: PathBuf },
    #[error(
        "cannot write the kubeconfig {file}: {reason}.\n\nhint: name a file that you may write with \
         `--kubeconfig FILE`"
    )]
    Kubeconfig { file: PathBuf, reason: io::Error },
    #[error(
        "no scheduler found: {looked}.\n\nhint: build it with `cargo build -p \
         loadmaster-scheduler`, name it with `--scheduler BIN`, or go without one with \
         `--no-scheduler`"
    )]
    NoScheduler { looked: String },
    #[error(
        "the scheduler {binary} cannot be started: {reason}.\n\nhint: name another with \
         `--scheduler BIN`, or go without one with `--no-scheduler`"
    )]
    SchedulerStart { binary: PathBuf, reason: io::Error },
    #[error("the lab in the background did not come up:\n\n{log}")]
    Detached { log: String },
    #[error(
        "the lab in {dir} (pid {pid}) does not end.\n\nhint: end it with `kill -9 {pid}`; its \
         scheduler ends with it"
    )]
    DoesNotEnd { dir: PathBuf, pid: i32 },
}

impl UserError {
    /// Why the API server did not start.
    pub(super) fn from_start(error: StartError) -> anyhow::Error {
        match error {
            StartError::Listen { address, source } => {
                Self::Port { port: address.port(), reason: source.to_string() }.into()
            }
            other @ StartError::Certificate(_) => other.into(),
        }
    }
}
