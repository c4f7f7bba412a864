//! The options of `lab up` that say which pods are run for real.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Args, ValueEnum};

use crate::runtime::{Isolation, Reference, RuntimeOptions};

/// Which images are run.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Containers")]
pub(super) struct Images {
    /// Run pods with images of this registry, which is at ADDRESS (http:// unless it says https://).
    #[arg(long, value_name = "NAME[=ADDRESS]", value_parser = registry)]
    registry: Vec<Registry>,
    /// Run pods with this image, which is in an OCI layout on disk.
    #[arg(long, value_name = "IMAGE=oci:DIR", value_parser = layout)]
    image: Vec<Layout>,
    /// Run every pod; without this and the two above all containers are hollow.
    #[arg(long = "run-images")]
    all: bool,
    /// How containers are set apart: by bubblewrap, or not at all.
    #[arg(long, value_enum, value_name = "HOW", default_value_t)]
    run_with: RunWith,
}

/// How containers are set apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum RunWith {
    /// By bwrap where it works, else as plain processes.
    #[default]
    Auto,
    /// By bwrap.
    Bwrap,
    /// As plain processes, with the paths of volumes rewritten.
    Process,
}

/// A registry and its URL.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Registry {
    name: String,
    url: String,
    given: String,
}

/// An image and the layout that has it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Layout {
    name: Reference,
    folder: PathBuf,
    given: String,
}

fn registry(given: &str) -> Result<Registry, String> {
    let (name, address) = given.split_once('=').unwrap_or((given, ""));
    if Reference::parse(&format!("{name}/x")).is_err() || name.contains('/') || name.is_empty() {
        return Err(format!("`{name}` is not the name of a registry such as `forge.lab:5000`"));
    }
    let url = match address {
        "" if name.starts_with("localhost") || name.starts_with("127.") => format!("http://{name}"),
        "" => format!("https://{name}"),
        _ if address.contains("://") => address.trim_end_matches('/').to_owned(),
        _ => format!("http://{address}"),
    };
    if !url.starts_with("http://") && !url.starts_with("https://") {
        return Err(format!("`{address}` is not an address such as `127.0.0.1:5000`"));
    }
    Ok(Registry { name: name.to_owned(), url, given: given.to_owned() })
}

fn layout(given: &str) -> Result<Layout, String> {
    let parts = given.split_once("=oci:");
    let (name, folder) =
        parts.ok_or("say which image and where: `forge.lab:5000/me/app:v1=oci:DIR`")?;
    let name = Reference::parse(name)?;
    let folder = std::path::absolute(folder).map_err(|error| error.to_string())?;
    if !folder.join("oci-layout").is_file() {
        return Err(format!(
            "`{}` is no OCI layout: it has no file `oci-layout`",
            folder.display()
        ));
    }
    Ok(Layout { name, folder, given: given.to_owned() })
}

impl Images {
    /// How to run them with files in `folder`; `None` if nothing is run.
    pub(super) fn runtime(&self, folder: PathBuf, guard: Option<&Path>) -> Option<RuntimeOptions> {
        if self.registry.is_empty() && self.image.is_empty() && !self.all {
            return None;
        }
        let registries: BTreeMap<String, String> =
            self.registry.iter().map(|it| (it.name.clone(), it.url.clone())).collect();
        let layouts = self.image.iter().map(|it| (it.name.clone(), it.folder.clone())).collect();
        let isolation = match self.run_with {
            RunWith::Auto => Isolation::best(),
            RunWith::Bwrap => Isolation::Bwrap,
            RunWith::Process => Isolation::Process,
        };
        Some(RuntimeOptions {
            folder,
            registries,
            layouts,
            run_all: self.all,
            isolation,
            guard: guard.map(Path::to_owned),
            backoff: Duration::from_secs(10),
        })
    }

    /// The same options once more, for the process in the background.
    pub(super) fn arguments(&self) -> Vec<OsString> {
        let mut arguments = Vec::new();
        for it in &self.registry {
            arguments.push(format!("--registry={}", it.given).into());
        }
        for it in &self.image {
            arguments.push(format!("--image={}", it.given).into());
        }
        if self.all {
            arguments.push("--run-images".into());
        }
        let how = match self.run_with {
            RunWith::Auto => "auto",
            RunWith::Bwrap => "bwrap",
            RunWith::Process => "process",
        };
        arguments.push(format!("--run-with={how}").into());
        arguments
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_registry_is_where_its_address_says_and_else_where_its_name_does() {
        for (given, name, url) in [
            ("forge.lab:5000=127.0.0.1:5000", "forge.lab:5000", "http://127.0.0.1:5000"),
            ("forge.lab=https://forge.lab:5443/", "forge.lab", "https://forge.lab:5443"),
            ("localhost:5000", "localhost:5000", "http://localhost:5000"),
            ("quay.io", "quay.io", "https://quay.io"),
        ] {
            let found = registry(given).unwrap();
            assert_eq!((found.name.as_str(), found.url.as_str()), (name, url));
        }
        for given in ["", "forge.lab/academy", "forge.lab=ftp://x"] {
            assert!(registry(given).is_err(), "{given}");
        }
    }

    #[test]
    fn a_layout_must_be_one() {
        let folder = tempfile::tempdir().unwrap();
        let given = format!("forge.lab:5000/a/b:v1=oci:{}", folder.path().display());
        let refusal = layout(&given).unwrap_err();
        assert!(refusal.contains("no file `oci-layout`"), "{refusal}");
        std::fs::write(folder.path().join("oci-layout"), "{}").unwrap();
        assert_eq!(layout(&given).unwrap().folder, folder.path());
        assert!(layout("forge.lab:5000/a/b:v1").is_err());
    }
}
