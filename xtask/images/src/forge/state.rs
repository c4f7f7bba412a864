//! What is remembered of a registry that runs.

use std::{
    fs::{self, File},
    io::ErrorKind,
    net::SocketAddr,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};
use xtask_heavy::process::started;

use super::{Result, failed};

/// A registry that runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Running {
    /// Where it listens.
    pub address: SocketAddr,
    /// Its process.
    pub pid: u32,
    /// When that was started, in the kernel's ticks since boot: a number that another process of the
    /// same ID does not have.
    pub started: u64,
    /// What it logs.
    pub log: PathBuf,
    /// Where it keeps images.
    pub data: PathBuf,
}

/// Holds the folder's lock as long as the answer lives, so that one command at a time starts or stops.
pub(super) fn lock(dir: &Path) -> Result<File> {
    fs::create_dir_all(dir).map_err(|it| failed("write", dir, it))?;
    let path = dir.join("lock");
    let file = File::create(&path).map_err(|it| failed("write", &path, it))?;
    file.lock().map_err(|it| failed("lock", &path, it))?;
    Ok(file)
}

/// The registry that is remembered, if it still runs.
pub(super) fn running(dir: &Path) -> Result<Option<Running>> {
    let path = file(dir);
    let text = match fs::read(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(failed("read", &path, error)),
    };
    // What is not understood was not written by this version; what it tells of is looked for anew.
    let found: Option<Running> = serde_json::from_slice(&text).ok();
    Ok(found.filter(|it| started(it.pid) == Some(it.started)))
}

pub(super) fn write(dir: &Path, running: &Running) -> Result<()> {
    let path = file(dir);
    let text = serde_json::to_vec_pretty(running).map_err(std::io::Error::from);
    let written = text.and_then(|text| fs::write(&path, text));
    written.map_err(|it| failed("write", &path, it))
}

pub(super) fn forget(dir: &Path) -> Result<()> {
    super::remove(&file(dir))
}

fn file(dir: &Path) -> PathBuf {
    dir.join("running.json")
}
