//! The repository, and where cargo keeps its things.

use std::{
    env,
    ffi::OsString,
    io,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use serde::Deserialize;

/// The repository, and where cargo keeps its things.
#[derive(Clone, Debug)]
pub struct Site {
    /// The repository.
    pub root: PathBuf,
    /// Where cargo puts what it builds.
    pub target: PathBuf,
    /// Where cargo puts what it downloads.
    pub cargo_home: PathBuf,
    /// This program, which guards those that it starts.
    pub own: PathBuf,
    packages: Vec<Package>,
}

/// A package of the workspace.
#[derive(Clone, Debug, Deserialize)]
pub struct Package {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// Its licences, as SPDX writes them.
    #[serde(default)]
    pub license: Option<String>,
    targets: Vec<Target>,
}

#[derive(Clone, Debug, Deserialize)]
struct Target {
    name: String,
    kind: Vec<String>,
}

#[derive(Deserialize)]
struct Metadata {
    target_directory: PathBuf,
    packages: Vec<Package>,
}

/// Cargo cannot be asked about the repository.
#[derive(Debug, thiserror::Error)]
pub enum SiteError {
    /// It cannot be run.
    #[error("cannot run cargo")]
    Run(#[source] io::Error),
    /// This program does not find itself.
    #[error("cannot find the program that runs")]
    Own(#[source] io::Error),
    /// It refuses.
    #[error("cargo cannot read the workspace: {0}")]
    Refused(String),
    /// Its answer is not understood.
    #[error("cannot read cargo's answer")]
    Answer(#[source] serde_json::Error),
    /// There is no such package or binary.
    #[error("there is no binary `{binary}` in a package `{package}`; {advice}")]
    NoBinary {
        /// What was asked for.
        package: String,
        /// What was asked for.
        binary: String,
        /// What there is.
        advice: String,
    },
}

impl Site {
    /// Asks cargo about the repository at `root`.
    ///
    /// # Errors
    /// When it does not answer.
    pub fn find(root: &Path) -> Result<Self, SiteError> {
        let mut command = Command::new(cargo());
        command.args(["metadata", "--no-deps", "--locked", "--format-version", "1"]);
        let output =
            command.current_dir(root).stdin(Stdio::null()).output().map_err(SiteError::Run)?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
            return Err(SiteError::Refused(said));
        }
        let metadata: Metadata =
            serde_json::from_slice(&output.stdout).map_err(SiteError::Answer)?;
        let home = env::var_os("CARGO_HOME").map(PathBuf::from);
        let home = home.or_else(|| env::home_dir().map(|it| it.join(".cargo")));
        Ok(Self {
            root: root.to_owned(),
            target: metadata.target_directory,
            cargo_home: home.unwrap_or_else(|| root.join(".cargo")),
            own: env::current_exe().map_err(SiteError::Own)?,
            packages: metadata.packages,
        })
    }

    /// The package that has the binary.
    ///
    /// # Errors
    /// When there is none.
    pub fn package(&self, package: &str, binary: &str) -> Result<&Package, SiteError> {
        let binaries = |it: &Package| -> Vec<String> {
            let targets = it.targets.iter().filter(|it| it.kind.iter().any(|it| it == "bin"));
            targets.map(|it| it.name.clone()).collect()
        };
        let found = self.packages.iter().find(|it| it.name == package);
        if let Some(found) = found.filter(|it| binaries(it).iter().any(|it| it == binary)) {
            return Ok(found);
        }
        let names = || self.packages.iter().map(|it| it.name.as_str()).collect::<Vec<_>>();
        let advice = found.map_or_else(
            || format!("the packages are {}", names().join(", ")),
            |it| format!("the package has {}", binaries(it).join(", ")),
        );
        Err(SiteError::NoBinary { package: package.into(), binary: binary.into(), advice })
    }

    /// Where the finished image `name` is.
    pub fn image(&self, name: &str) -> PathBuf {
        self.target.join("images").join(name)
    }
}

/// The cargo that runs this program, or the one in PATH.
pub(crate) fn cargo() -> OsString {
    env::var_os("CARGO").unwrap_or_else(|| "cargo".into())
}
