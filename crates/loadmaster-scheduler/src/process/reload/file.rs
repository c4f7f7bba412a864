//! Noticing that a file holds something else.

use std::{
    fs::File,
    io::{self, Read as _},
    path::{Path, PathBuf},
    time::Duration,
};

use tokio::{signal::unix::Signal, time::sleep};

use crate::app::CONFIG_BYTES_MAX;

/// A file that may change, whichever way: written anew, replaced, or swapped with the folder that a
/// link leads through, as a mounted `ConfigMap` is.
pub(crate) struct ConfigFile {
    /// `None`: there is no file, and nothing ever changes.
    path: Option<PathBuf>,
    interval: Duration,
    /// Asks for the file to be taken for changed.
    hangup: Option<Signal>,
    /// What it held when it was last taken up; `None` where it could not be read.
    seen: Option<Vec<u8>>,
}

/// How often the file is looked at.
pub(crate) const INTERVAL: Duration = Duration::from_secs(5);
/// A file that is being written holds the same twice in a row only when that is over.
const SETTLE: Duration = Duration::from_millis(200);

impl ConfigFile {
    /// What the file holds now counts as known.
    pub(crate) fn new(path: Option<PathBuf>, interval: Duration, hangup: Option<Signal>) -> Self {
        let seen = path.as_ref().and_then(|it| held(it).ok());
        Self { path, interval, hangup, seen }
    }

    /// Waits until the file holds something else, for two looks in a row, or until a signal asks for
    /// it to be read again.
    pub(super) async fn changed(&mut self) {
        let Some(path) = self.path.clone() else { return self.never().await };
        let mut forced = false;
        loop {
            tokio::select! {
                () = sleep(self.interval) => {}
                () = next(self.hangup.as_mut()) => {
                    tracing::info!("SIGHUP: the configuration is read again");
                    forced = true;
                }
            }
            if let Some(held) = settled(&path).await.filter(|it| forced || *it != self.seen) {
                self.seen = held;
                return;
            }
        }
    }

    /// Without a file nothing changes, whoever asks.
    async fn never(&mut self) {
        loop {
            next(self.hangup.as_mut()).await;
            tracing::info!(
                "SIGHUP: nothing is read again, since the scheduler was started without --config"
            );
        }
    }

    /// A short name of what the file held when it was last taken up.
    pub(super) fn digest(&self) -> String {
        // FNV-1a: tells one content from another, and nothing depends on it beyond that.
        let content = self.seen.as_deref().unwrap_or_default();
        let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3);
        format!("{:016x}", content.iter().fold(0xcbf2_9ce4_8422_2325, step))
    }
}

async fn next(hangup: Option<&mut Signal>) {
    match hangup {
        Some(signal) => _ = signal.recv().await,
        None => std::future::pending().await,
    }
}

/// What the file holds (`None`: it cannot be read), unless that changes under the reader.
async fn settled(path: &Path) -> Option<Option<Vec<u8>>> {
    let look = || {
        let path = path.to_owned();
        let look = tokio::task::spawn_blocking(move || held(&path).ok());
        async { look.await.ok().flatten() }
    };
    let first = look().await;
    sleep(SETTLE).await;
    let second = look().await;
    (first == second).then_some(second)
}

/// What a file holds, the beginning of one that is too large to be a configuration. A pipe holds
/// nothing that can be read again, and would keep its reader waiting.
fn held(path: &Path) -> io::Result<Vec<u8>> {
    if !std::fs::metadata(path)?.is_file() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let mut content = Vec::new();
    File::open(path)?.take(CONFIG_BYTES_MAX + 1).read_to_end(&mut content)?;
    Ok(content)
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::symlink};

    use super::*;

    /// A mounted `ConfigMap`: `config.yaml` leads through `..data` into a folder.
    struct Mount(tempfile::TempDir);

    impl Mount {
        fn new() -> Self {
            let mount = Self(tempfile::tempdir().unwrap());
            mount.swap("first", "1");
            symlink("..data/config.yaml", mount.0.path().join("config.yaml")).unwrap();
            mount
        }

        /// Puts another folder in the place of the one that `..data` leads to, as the kubelet does.
        fn swap(&self, folder: &str, text: &str) {
            let at = |name: &str| self.0.path().join(name);
            fs::create_dir(at(folder)).unwrap();
            fs::write(at(folder).join("config.yaml"), text).unwrap();
            symlink(folder, at("..data_tmp")).unwrap();
            fs::rename(at("..data_tmp"), at("..data")).unwrap();
        }

        fn file(&self) -> ConfigFile {
            ConfigFile::new(Some(self.0.path().join("config.yaml")), INTERVAL, None)
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_config_map_that_is_swapped_is_noticed_at_the_next_look() {
        let mount = Mount::new();
        let mut file = mount.file();
        let before = file.digest();
        let none = tokio::time::timeout(10 * INTERVAL, file.changed()).await;
        assert!(none.is_err(), "nothing has changed");
        mount.swap("second", "2");
        file.changed().await;
        assert_ne!(file.digest(), before);
        let none = tokio::time::timeout(10 * INTERVAL, file.changed()).await;
        assert!(none.is_err(), "it has been taken up");
    }

    #[tokio::test(start_paused = true)]
    async fn a_pipe_keeps_nobody_waiting() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let mut file = ConfigFile::new(Some(pipe), INTERVAL, None);
        let none = tokio::time::timeout(10 * INTERVAL, file.changed()).await;
        assert!(none.is_err(), "a pipe never changes");
    }

    #[tokio::test(start_paused = true)]
    async fn a_file_that_vanishes_is_a_change_and_its_coming_back_is_another() {
        let mount = Mount::new();
        let mut file = mount.file();
        let data = mount.0.path().join("..data");
        fs::rename(&data, mount.0.path().join("away")).unwrap();
        file.changed().await;
        fs::rename(mount.0.path().join("away"), &data).unwrap();
        file.changed().await;
    }
}
