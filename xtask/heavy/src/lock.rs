//! One heavy step at a time: a file that says who is at it.

use std::{
    fs::{self, File, TryLockError},
    io::{self, Read as _, Seek as _, Write as _},
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

/// The file's name, in the target folder.
const FILE: &str = "heavy-step.lock";

/// Held while a heavy step runs; the system lets go of it when the process ends, however it ends.
#[derive(Debug)]
pub struct Lock {
    file: File,
}

/// Who is at a heavy step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holder {
    /// The process.
    pub pid: u32,
    /// What it does.
    pub command: String,
    /// Since when, as RFC 3339 has it.
    pub since: String,
}

/// The step cannot begin.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// Somebody else is at one.
    #[error(
        "another heavy step is running: {0}; wait for it, or end it with `kill {pid}`",
        pid = .0.pid
    )]
    Held(Holder),
    /// The file cannot be used.
    #[error("cannot lock {}", .0.display())]
    Io(PathBuf, #[source] io::Error),
}

impl std::fmt::Display for Holder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "`{}`, process {}, since {}", self.command, self.pid, self.since)
    }
}

impl Lock {
    /// Takes the lock of the target folder `target` for this process, which does `command` from now on.
    ///
    /// # Errors
    /// When another process has it.
    pub fn take(target: &Path, command: &str) -> Result<Self, LockError> {
        let path = target.join(FILE);
        let failed = |it| LockError::Io(path.clone(), it);
        fs::create_dir_all(target).map_err(failed)?;
        let mut file = open(&path).map_err(failed)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(LockError::Held(read(&mut file))),
            Err(TryLockError::Error(error)) => return Err(failed(error)),
        }
        let now = jiff::Timestamp::now().as_second();
        let since =
            jiff::Timestamp::from_second(now).map_or_else(|_| String::new(), |it| it.to_string());
        let holder = Holder { pid: std::process::id(), command: command.to_owned(), since };
        let text = serde_json::to_string(&holder).map_err(io::Error::other).map_err(failed)?;
        let write = |file: &mut File| {
            file.set_len(0)?;
            file.rewind()?;
            file.write_all(text.as_bytes())
        };
        write(&mut file).map_err(failed)?;
        Ok(Self { file })
    }

    /// Who has the lock of the target folder, if anybody.
    pub fn holder(target: &Path) -> Option<Holder> {
        let mut file = File::open(target.join(FILE)).ok()?;
        match file.try_lock_shared() {
            Err(TryLockError::WouldBlock) => Some(read(&mut file)),
            _ => None,
        }
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // What the file says is only read while somebody holds it.
        let _ = self.file.set_len(0);
    }
}

fn open(path: &Path) -> io::Result<File> {
    File::options().read(true).write(true).create(true).truncate(false).open(path)
}

/// What the file says, or as much as is known where its holder has not written it yet.
fn read(file: &mut File) -> Holder {
    let mut text = String::new();
    let said = file.read_to_string(&mut text).ok().and_then(|_| serde_json::from_str(&text).ok());
    said.unwrap_or_else(|| Holder {
        pid: 0,
        command: "a step that has just begun".to_owned(),
        since: "now".to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_step_is_told_who_is_at_the_first() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(Lock::holder(dir.path()), None);
        let lock = Lock::take(dir.path(), "cargo xtask build").unwrap();
        let error = Lock::take(dir.path(), "cargo xtask soak").unwrap_err().to_string();
        let Holder { pid, since, .. } = Lock::holder(dir.path()).unwrap();
        assert!(since.starts_with("20") && since.ends_with('Z'), "{since}");
        let told = format!("`cargo xtask build`, process {pid}, since {since}");
        assert!(error.contains(&told) && error.contains(&format!("`kill {pid}`")), "{error}");
        assert_eq!(pid, std::process::id());
        drop(lock);
        assert_eq!(Lock::holder(dir.path()), None);
        Lock::take(dir.path(), "cargo xtask soak").unwrap();
    }
}
