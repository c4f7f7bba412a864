//! Verifying from outside that a registry has what was built.
//!
//! Everything is read anew from the registry and hashed here: the tag, the image's index, each
//! platform's manifest and configuration, each layer, and what refers to them. Nothing that the
//! registry says about its content is believed.

mod table;

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use oci_client::RegistryOperation;
use serde::{Serialize, de::DeserializeOwned};

use crate::{
    digest::Digest,
    layout::Image,
    oci::{Descriptor, Index, Manifest},
    push::Progress,
    transport::{Fault, Kind, Repository, Stored},
};

pub use self::table::table;

/// What a registry has under a tag, held against what should be there.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    /// What was verified.
    pub reference: String,
    /// Where the registry is.
    pub registry: String,
    /// The repository's tags, without those that stand in for the referrers API.
    pub tags: Vec<String>,
    /// The digest of the image's index that was built here; none where nothing was.
    pub built: Option<Digest>,
    /// The digest of what the tag stands for in the registry.
    pub found: Option<Digest>,
    /// Everything that belongs to the image.
    pub parts: Vec<Part>,
}

/// Something that belongs to an image.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Part {
    /// What it is.
    pub what: String,
    /// Of which platform it is, or of what kind.
    pub of: String,
    /// What it should be.
    pub digest: Digest,
    /// How large it should be, in bytes.
    pub size: u64,
    /// What it is in the registry.
    pub state: State,
}

/// What a part is in the registry.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "is", rename_all = "camelCase")]
pub enum State {
    /// There, with the right content.
    Right,
    /// Not there.
    Missing,
    /// There under its digest, with other content.
    Tampered {
        /// The digest of the content.
        content: String,
    },
    /// There, of another size than the manifest says.
    Size {
        /// In bytes.
        found: u64,
    },
    /// Right by itself, but something else was built here.
    Other {
        /// What was built here.
        built: Digest,
    },
    /// Right by itself, but nothing like it was built here.
    Unknown,
    /// Not listed where clients look for it.
    Unlisted,
    /// No document of its kind.
    Malformed {
        /// What is wrong with it.
        why: String,
    },
}

impl Report {
    /// Whether the registry has all of the image, and nothing else under its tag.
    pub fn is_right(&self) -> bool {
        self.found.is_some() && self.parts.iter().all(|it| it.state == State::Right)
    }
}

/// Reads what the repository has under the tag (or digest), and holds it against `built`; without that, against
/// what it says itself.
///
/// # Errors
/// When the registry cannot be asked. Whatever is wrong with its content stands in the report.
pub async fn verify(
    repository: &Repository,
    tag: &str,
    built: Option<&Image>,
    progress: &dyn Progress,
) -> Result<Report, Fault> {
    repository.greet(RegistryOperation::Pull).await?;
    let tags = repository.tags().await?;
    let mut reading = Reading { repository, progress, parts: Vec::new(), read: BTreeSet::new() };
    let found = reading.image(tag, built).await?;
    Ok(Report {
        reference: repository.named(tag),
        registry: repository.endpoint().url(),
        tags: tags.into_iter().filter(|it| !stands_for_referrers(it)).collect(),
        built: built.map(|it| it.index.digest.clone()),
        found,
        parts: reading.parts,
    })
}

/// Whether a tag is a list of referrers, made for want of an API, and nothing that people push.
fn stands_for_referrers(tag: &str) -> bool {
    tag.strip_prefix("sha256-").is_some_and(|hex| format!("sha256:{hex}").parse::<Digest>().is_ok())
}

/// One pass over an image.
struct Reading<'a> {
    repository: &'a Repository,
    progress: &'a dyn Progress,
    parts: Vec<Part>,
    /// Blobs that were right, so that what platforms share is read once.
    read: BTreeSet<Digest>,
}

impl Reading<'_> {
    /// The image under the tag; gives the digest of what is there.
    async fn image(&mut self, tag: &str, built: Option<&Image>) -> Result<Option<Digest>, Fault> {
        let named = if tag.contains(':') { "by digest" } else { tag };
        let stored = match self.repository.manifest(tag).await {
            Ok(stored) => stored,
            Err(Fault { kind: Kind::WrongDigest { expected, actual }, .. }) => {
                // The registry contradicts itself; both digests are shown.
                let digest = expected.parse().ok().or_else(|| actual.parse().ok());
                let digest = digest.or_else(|| built.map(|it| it.index.digest.clone()));
                let state = State::Tampered { content: actual };
                self.parts.extend(digest.map(|it| part("index", named, it, 0, state)));
                None
            }
            Err(fault) => return Err(fault),
        };
        let Some(stored) = stored else {
            if self.parts.is_empty() {
                let missing = |it: &Image| {
                    part("index", named, it.index.digest.clone(), it.index.size, State::Missing)
                };
                self.parts.extend(built.map(missing));
            }
            return Ok(None);
        };
        let size = stored.content.len() as u64;
        let (index, state) = match parse::<Index>(&stored) {
            Ok(index) => (Some(index), against(&stored.digest, built.map(|it| &it.index))),
            Err(why) => (None, State::Malformed { why }),
        };
        self.parts.push(part("index", named, stored.digest.clone(), size, state));
        if let Some(index) = index {
            self.platforms(&index, built).await?;
            self.referrers(&stored.digest, &index, built).await?;
        }
        Ok(Some(stored.digest))
    }

    async fn platforms(&mut self, index: &Index, built: Option<&Image>) -> Result<(), Fault> {
        for entry in &index.manifests {
            let platform = entry.platform.as_ref();
            let named = platform.map_or_else(|| "no platform".to_owned(), ToString::to_string);
            let mut ours = built.iter().flat_map(|it| &it.platforms);
            let ours = ours.find(|it| Some(&it.platform) == platform).map(|it| &it.descriptor);
            let state = match (built, ours) {
                (Some(_), None) => State::Unknown,
                (_, ours) => against(&entry.digest, ours),
            };
            self.manifest("manifest", &named, entry, state).await?;
        }
        let there = |it: &&crate::layout::PlatformImage| {
            index.manifests.iter().all(|entry| entry.platform.as_ref() != Some(&it.platform))
        };
        let absent = built.iter().flat_map(|it| &it.platforms).filter(there);
        self.parts.extend(absent.map(|it| {
            let Descriptor { digest, size, .. } = &it.descriptor;
            part("manifest", &it.platform.to_string(), digest.clone(), *size, State::Missing)
        }));
        Ok(())
    }

    /// What refers to the image or to one of its platforms: what was built here, and what is listed.
    async fn referrers(
        &mut self,
        image: &Digest,
        index: &Index,
        built: Option<&Image>,
    ) -> Result<(), Fault> {
        let mut listed: BTreeSet<Digest> = BTreeSet::new();
        for subject in std::iter::once(image).chain(index.manifests.iter().map(|it| &it.digest)) {
            listed.extend(self.repository.referrers(subject).await?);
        }
        for referrer in built.iter().flat_map(|it| &it.referrers) {
            let kind = referrer.manifest.artifact_type.as_deref().unwrap_or("artifact");
            let is_listed = listed.remove(&referrer.descriptor.digest);
            let state = if is_listed { State::Right } else { State::Unlisted };
            self.manifest("referrer", kind, &referrer.descriptor, state).await?;
        }
        if built.is_some() {
            // Signatures and the like, which others add, are none of ours to judge.
            return Ok(());
        }
        for digest in listed {
            let Some(stored) = self.repository.manifest(&digest.to_string()).await? else {
                self.parts.push(part("referrer", "", digest, 0, State::Missing));
                continue;
            };
            let manifest = parse::<Manifest>(&stored);
            let kind = manifest.as_ref().ok().and_then(|it| it.artifact_type.clone());
            let kind = kind.unwrap_or_else(|| "artifact".to_owned());
            let size = stored.content.len() as u64;
            self.document("referrer", &kind, (&digest, size), State::Right, manifest).await?;
        }
        Ok(())
    }

    /// A manifest that something names, with all that it names. `state` is what it is if it is there
    /// and whole.
    async fn manifest(
        &mut self,
        what: &str,
        of: &str,
        entry: &Descriptor,
        state: State,
    ) -> Result<(), Fault> {
        let Descriptor { digest, size, .. } = entry;
        let (digest, size) = (digest.clone(), *size);
        let state = match self.repository.manifest(&digest.to_string()).await {
            Ok(Some(stored)) if stored.content.len() as u64 == size => {
                let manifest = parse::<Manifest>(&stored);
                return self.document(what, of, (&digest, size), state, manifest).await;
            }
            Ok(Some(stored)) => State::Size { found: stored.content.len() as u64 },
            Ok(None) => State::Missing,
            Err(fault) => tampered(fault)?,
        };
        self.parts.push(part(what, of, digest, size, state));
        Ok(())
    }

    /// A manifest's content.
    async fn document(
        &mut self,
        what: &str,
        of: &str,
        (digest, size): (&Digest, u64),
        state: State,
        manifest: Result<Manifest, String>,
    ) -> Result<(), Fault> {
        let manifest = match manifest {
            Ok(manifest) => manifest,
            Err(why) => {
                self.parts.push(part(what, of, digest.clone(), size, State::Malformed { why }));
                return Ok(());
            }
        };
        self.parts.push(part(what, of, digest.clone(), size, state));
        self.blob("config", of, &manifest.config).await?;
        for layer in &manifest.layers {
            self.blob("layer", of, layer).await?;
        }
        Ok(())
    }

    async fn blob(&mut self, what: &str, of: &str, entry: &Descriptor) -> Result<(), Fault> {
        let Descriptor { digest, size, .. } = entry;
        let name = format!("{of} {what}");
        let state = if self.read.contains(digest) {
            State::Right
        } else {
            let moved = self.progress.begin(&name, *size);
            let read = self.repository.check_blob(digest, moved).await;
            self.progress.end(&name, true);
            match read {
                Ok(found) if found == *size => State::Right,
                Ok(found) => State::Size { found },
                Err(Fault { kind: Kind::NotFound(_), .. }) => State::Missing,
                Err(fault) => tampered(fault)?,
            }
        };
        if state == State::Right {
            self.read.insert(digest.clone());
        }
        self.parts.push(part(what, of, digest.clone(), *size, state));
        Ok(())
    }
}

fn part(what: &str, of: &str, digest: Digest, size: u64, state: State) -> Part {
    Part { what: what.to_owned(), of: of.to_owned(), digest, size, state }
}

/// Whether what is there is what was built, where something was.
fn against(there: &Digest, built: Option<&Descriptor>) -> State {
    match built {
        Some(built) if built.digest != *there => State::Other { built: built.digest.clone() },
        _ => State::Right,
    }
}

/// Content that is not what its digest says, if that is what went wrong.
fn tampered(fault: Fault) -> Result<State, Fault> {
    match fault.kind {
        Kind::WrongDigest { actual, .. } => Ok(State::Tampered { content: actual }),
        _ => Err(fault),
    }
}

fn parse<T: DeserializeOwned>(stored: &Stored) -> Result<T, String> {
    let mut reader = serde_json::Deserializer::from_slice(&stored.content);
    serde_path_to_error::deserialize(&mut reader).map_err(|it| it.to_string())
}
