//! `cargo xtask forge`: a registry of one's own, CNCF distribution on the loopback.

mod process;
mod state;

#[cfg(test)]
mod tests;

use std::{
    fs,
    net::{Ipv4Addr, SocketAddr},
    path::{Path, PathBuf},
};

use serde::Serialize;

pub use self::state::Running;

/// The variable that names the registry's program.
pub const PROGRAM: &str = "FORGE_REGISTRY_BIN";

/// The program's name in Debian.
const DEBIAN: &str = "docker-registry";

/// The registry's place below the repository's `target/`.
#[derive(Clone, Debug)]
pub struct Forge {
    dir: PathBuf,
}

/// Whether a registry is running, and where.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Status {
    /// The registry that this project started, if it runs.
    pub running: Option<Running>,
    /// Where its data is, or was.
    pub data: PathBuf,
    /// How much that is, in bytes.
    pub size: u64,
}

/// Why the registry cannot be started, stopped or asked about.
#[derive(Debug, thiserror::Error)]
pub enum ForgeError {
    /// Its program is not there.
    #[error(
        "there is no registry program: {0}; `apt-get install docker-registry` installs Debian's, and \
         {PROGRAM}=FILE names another build of CNCF distribution"
    )]
    NoProgram(String),
    /// Something else has the port.
    #[error(
        "something else listens on {0}; stop it, or choose another port with `--port` (0 takes any \
         that is free)"
    )]
    Taken(SocketAddr),
    /// One is running, elsewhere than asked for.
    #[error(
        "the registry is running already, on {running}, and {wanted} is asked for; `cargo xtask forge \
         down` stops it"
    )]
    Elsewhere {
        /// Where it is.
        running: SocketAddr,
        /// The port that is asked for.
        wanted: u16,
    },
    /// It ended at once, or does not answer.
    #[error("the registry does not come up: {why}; its log is {}", log.display())]
    NotUp {
        /// What was seen.
        why: String,
        /// Its log.
        log: PathBuf,
    },
    /// It does not end.
    #[error("the registry, process {0}, does not end; `kill -9 {0}` ends it")]
    NotDown(u32),
    /// The disk fails.
    #[error("cannot {doing} {}", file.display())]
    Io {
        /// `read`, `write`, `remove`.
        doing: &'static str,
        /// What.
        file: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
}

type Result<T> = std::result::Result<T, ForgeError>;

impl Forge {
    /// The registry of the repository that builds into `target`.
    pub fn of(target: &Path) -> Self {
        Self::at(target.join("forge"))
    }

    /// The registry that keeps everything in `dir`.
    pub fn at(dir: PathBuf) -> Self {
        Self { dir }
    }

    /// Starts the registry in the background unless it runs, and waits until it answers; says whether
    /// it had to be started.
    ///
    /// `port` is that of the loopback; 0 takes any that is free. `program` is what the environment
    /// names, if anything.
    ///
    /// # Errors
    /// When there is no program, the port is taken, or it does not come up.
    pub async fn up(&self, port: u16, program: Option<PathBuf>) -> Result<(Running, bool)> {
        let _alone = state::lock(&self.dir)?;
        if let Some(running) = state::running(&self.dir)? {
            return if port == 0 || running.address.port() == port {
                Ok((running, false))
            } else {
                Err(ForgeError::Elsewhere { running: running.address, wanted: port })
            };
        }
        let program = process::program(program, DEBIAN)?;
        let wanted = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        if port != 0 && process::is_taken(wanted).await {
            return Err(ForgeError::Taken(wanted));
        }
        let config = self.write_config(wanted)?;
        let running = process::start(&program, &config, &self.log(), &self.data()).await?;
        state::write(&self.dir, &running)?;
        Ok((running, true))
    }

    /// Stops the registry; gives what was stopped. Its data stays, unless `delete` says otherwise.
    ///
    /// # Errors
    /// When it does not end, or the data cannot be removed.
    pub async fn down(&self, delete: bool) -> Result<Option<Running>> {
        let _alone = state::lock(&self.dir)?;
        let running = state::running(&self.dir)?;
        if let Some(running) = &running {
            process::stop(running).await?;
        }
        state::forget(&self.dir)?;
        if delete {
            remove(&self.data())?;
            remove(&self.log())?;
            remove(&self.dir.join("config.yml"))?;
        }
        Ok(running)
    }

    /// What there is.
    ///
    /// # Errors
    /// When the folder cannot be read.
    pub fn status(&self) -> Result<Status> {
        let running = state::running(&self.dir)?;
        let data = self.data();
        let size = size(&data);
        Ok(Status { running, data, size })
    }

    /// Where the registry keeps images.
    pub fn data(&self) -> PathBuf {
        self.dir.join("data")
    }

    fn log(&self) -> PathBuf {
        self.dir.join("registry.log")
    }

    /// The registry's configuration. JSON is YAML, and leaves no question of how a path is quoted.
    fn write_config(&self, address: SocketAddr) -> Result<PathBuf> {
        let data = self.data();
        fs::create_dir_all(&data).map_err(|it| failed("write", &data, it))?;
        let config = serde_json::json!({
            "version": 0.1,
            "log": { "level": "info", "accesslog": { "disabled": true } },
            "storage": {
                "filesystem": { "rootdirectory": data },
                "delete": { "enabled": true },
            },
            // The secret signs the state of uploads; here nobody but their owner could see it.
            "http": { "addr": address.to_string(), "secret": "of no use outside of this machine" },
        });
        let file = self.dir.join("config.yml");
        fs::write(&file, format!("{config:#}\n")).map_err(|it| failed("write", &file, it))?;
        Ok(file)
    }
}

/// Removes a file or a folder, if it is there.
fn remove(path: &Path) -> Result<()> {
    let removed = if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) };
    match removed {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(failed("remove", path, error))
        }
        _ => Ok(()),
    }
}

/// The bytes in the files below a folder. What vanishes meanwhile is not counted.
fn size(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let sizes = entries.map(|entry| match entry.metadata() {
        Ok(it) if it.is_dir() => size(&entry.path()),
        Ok(it) => it.len(),
        Err(_) => 0,
    });
    sizes.sum()
}

fn failed(doing: &'static str, file: &Path, source: std::io::Error) -> ForgeError {
    ForgeError::Io { doing, file: file.to_owned(), source }
}
