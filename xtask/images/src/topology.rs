//! `labs/topology.toml`: the machines that the labs are followed on, and where their registry is.

use std::{collections::BTreeMap, fs, path::Path};

use serde::Deserialize;

use crate::size::Size;

/// The file's place in the repository.
pub const FILE: &str = "labs/topology.toml";

/// The machines that the labs are followed on.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Topology {
    /// What all guests together may use on the machine that carries them.
    pub ceiling: Size,
    /// The guest that builds.
    pub builder: String,
    /// The guests by name.
    pub guests: BTreeMap<String, Guest>,
    /// The registries that are not found by their name alone.
    #[serde(default)]
    pub registries: BTreeMap<String, RegistryPlace>,
}

/// A virtual machine, or several that are counted as one.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Guest {
    /// What it is given.
    pub memory: Size,
    /// What of that its system takes, and no build may count on.
    #[serde(default)]
    pub system: Size,
}

/// How a registry is reached.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct RegistryPlace {
    /// `HOST:PORT` to connect to.
    pub address: String,
    /// Whether it speaks HTTP without TLS. No other registry is ever spoken to so.
    #[serde(default)]
    pub plain_http: bool,
}

/// The file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TopologyError {
    /// It cannot be read.
    #[error("cannot read {FILE}")]
    Read(#[source] std::io::Error),
    /// It says something that is not understood.
    #[error("{FILE}: {0}")]
    Parse(#[source] toml::de::Error),
    /// The guest that builds is not among the guests.
    #[error("{FILE}: builder: there is no guest `{0}`")]
    NoBuilder(String),
}

impl Topology {
    /// Reads the file of the repository at `root`.
    ///
    /// # Errors
    /// When it is missing or says something that is not understood.
    pub fn read(root: &Path) -> Result<Self, TopologyError> {
        let text = fs::read_to_string(root.join(FILE)).map_err(TopologyError::Read)?;
        Self::parse(&text)
    }

    fn parse(text: &str) -> Result<Self, TopologyError> {
        let topology: Self = toml::from_str(text).map_err(TopologyError::Parse)?;
        if !topology.guests.contains_key(&topology.builder) {
            return Err(TopologyError::NoBuilder(topology.builder));
        }
        Ok(topology)
    }

    /// What a build may use on the guest that builds.
    pub fn build_budget(&self) -> Size {
        self.guests.get(&self.builder).map_or_else(Size::default, |it| it.memory - it.system)
    }

    /// What all guests are given together.
    pub fn given(&self) -> Size {
        self.guests.values().map(|it| it.memory).fold(Size::default(), |sum, it| sum + it)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_courses_machines_leave_the_margin_that_the_course_says() {
        let topology =
            Topology::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").as_path());
        let topology = topology.unwrap();
        assert_eq!(topology.guests[&topology.builder].memory, Size::mebi(2560));
        // 7.5 GB against the ceiling of 9.5 GB: 2.0 GB.
        assert_eq!(topology.ceiling - topology.given(), Size::mebi(2048));
        let forge = &topology.registries["forge.lab:5000"];
        assert_eq!((forge.address.as_str(), forge.plain_http), ("127.0.0.1:5000", true));
    }

    #[test]
    fn a_wrong_file_is_refused_with_the_place() {
        let error =
            Topology::parse("ceiling = \"9.5GB\"\nbuilder = \"x\"\n[guests.forge]\nmemory = \"2\"");
        let error = error.unwrap_err().to_string();
        assert!(error.contains("line 4") && error.contains("`2` is no size"), "{error}");
        let error = Topology::parse("ceiling = \"9.5GB\"\nbuilder = \"x\"\n[guests]").unwrap_err();
        assert!(error.to_string().contains("there is no guest `x`"), "{error}");
    }
}
