//! What this server lacks.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::RangeInclusive,
};

use serde::Deserialize;

use crate::{
    kind::Kind,
    needs::Need,
    rest::{CallError, Rest},
};

/// The minor versions of Kubernetes 1 that a scheduler can serve.
pub const SUPPORTED_MINORS: RangeInclusive<u32> = 33..=37;

/// The minor version in `v1.36.2`, `v1.33.1-lab` or `v1.34+`; `None` for anything that is no
/// Kubernetes 1.
pub fn minor(version: &str) -> Option<u32> {
    let rest = version.strip_prefix("v1.")?;
    let end = rest.find(|it: char| !it.is_ascii_digit()).unwrap_or(rest.len());
    rest[..end].parse().ok()
}

/// A kind that plugins read and that this server does not serve: for them there are no objects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lacking {
    /// The kind.
    pub kind: Kind,
    /// Who reads it.
    pub readers: BTreeSet<&'static str>,
}

impl Lacking {
    /// Whether the need is about this kind alone: of what is not served nothing need be allowed.
    pub fn excuses(&self, need: &Need) -> bool {
        let group = self.kind.api_version().split_once('/').map_or("", |it| it.0);
        need.scope.group == group && need.scope.resource == self.kind.plural()
    }
}

impl std::fmt::Display for Lacking {
    /// `resourceclaims of resource.k8s.io/v1, read by DynamicResources`.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let readers: Vec<_> = self.readers.iter().copied().collect();
        let (plural, version) = (self.kind.plural(), self.kind.api_version());
        write!(f, "{plural} of {version}, read by {}", readers.join(", "))
    }
}

/// Which of the kinds in `readers` the server does not serve.
///
/// # Errors
/// [`CallError`] where the server does not say what it serves.
pub async fn lacking(
    rest: &Rest,
    readers: &BTreeMap<Kind, BTreeSet<&'static str>>,
) -> Result<Vec<Lacking>, CallError> {
    let mut served: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for version in readers.keys().map(|it| it.api_version()) {
        if !served.contains_key(version) {
            served.insert(version, resources(rest, version).await?);
        }
    }
    let lacks = |kind: &Kind| {
        let resources = served.get(kind.api_version()).map_or(&[][..], Vec::as_slice);
        !resources.iter().any(|it| it == kind.plural())
    };
    let lacking = readers.iter().filter(|(kind, _)| lacks(kind));
    Ok(lacking.map(|(kind, readers)| Lacking { kind: *kind, readers: readers.clone() }).collect())
}

/// What the server serves in a group's version.
async fn resources(rest: &Rest, version: &str) -> Result<Vec<String>, CallError> {
    #[derive(Deserialize)]
    struct List {
        resources: Vec<Resource>,
    }
    #[derive(Deserialize)]
    struct Resource {
        name: String,
    }
    let root = if version.contains('/') { "apis" } else { "api" };
    match rest.get(&format!("/{root}/{version}")).await {
        Ok(List { resources }) => Ok(resources.into_iter().map(|it| it.name).collect()),
        Err(error) if error.code() == Some(404) => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}
