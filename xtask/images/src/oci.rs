//! The documents of the OCI image specification, version 1.1.
//!
//! Of our own rather than of a crate: maps are written in order here, so that the same image has the
//! same digest each time.

use std::{collections::BTreeMap, fmt, str::FromStr};

use serde::{Deserialize, Serialize};

use crate::digest::Digest;

/// What kind of content a descriptor points at.
pub mod media_type {
    /// One image for each of several platforms.
    pub const INDEX: &str = "application/vnd.oci.image.index.v1+json";
    /// One image, or an artifact.
    pub const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
    /// An image's configuration.
    pub const CONFIG: &str = "application/vnd.oci.image.config.v1+json";
    /// A layer, compressed by gzip.
    pub const LAYER_GZIP: &str = "application/vnd.oci.image.layer.v1.tar+gzip";
    /// A layer, compressed by zstd.
    pub const LAYER_ZSTD: &str = "application/vnd.oci.image.layer.v1.tar+zstd";
    /// The configuration of an artifact that needs none: the content is `{}`.
    pub const EMPTY: &str = "application/vnd.oci.empty.v1+json";
}

/// The annotations that the specification gives a meaning.
pub mod annotation {
    /// The tag; in a layout's `index.json` alone.
    pub const REF_NAME: &str = "org.opencontainers.image.ref.name";
    /// When it was made, as RFC 3339 has it.
    pub const CREATED: &str = "org.opencontainers.image.created";
    /// Where its source is.
    pub const SOURCE: &str = "org.opencontainers.image.source";
    /// The commit that it was made from.
    pub const REVISION: &str = "org.opencontainers.image.revision";
    /// The version of what is in it.
    pub const VERSION: &str = "org.opencontainers.image.version";
    /// What people call it.
    pub const TITLE: &str = "org.opencontainers.image.title";
    /// What it is for.
    pub const DESCRIPTION: &str = "org.opencontainers.image.description";
    /// Under which licences, as SPDX writes it.
    pub const LICENSES: &str = "org.opencontainers.image.licenses";
}

/// Points at content by its digest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Descriptor {
    /// See [`media_type`].
    pub media_type: String,
    /// Of the content.
    pub digest: Digest,
    /// Of the content, in bytes.
    pub size: u64,
    /// For which machines, where it is an image.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub platform: Option<Platform>,
    /// What kind of artifact, where it is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub artifact_type: Option<String>,
    /// See [`annotation`].
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub annotations: BTreeMap<String, String>,
}

/// An operating system on a processor, `linux/amd64`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Platform {
    /// `amd64`, `arm64`, as Go names them.
    pub architecture: String,
    /// `linux`.
    pub os: String,
    /// A variant of the processor; images here have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub variant: Option<String>,
}

/// Not the name of a platform.
#[derive(Debug, thiserror::Error)]
#[error("`{0}` is no platform; write `OS/ARCHITECTURE`, such as `linux/amd64`")]
pub struct NoPlatform(String);

impl fmt::Display for Platform {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.os, self.architecture)?;
        self.variant.iter().try_for_each(|it| write!(f, "/{it}"))
    }
}

impl FromStr for Platform {
    type Err = NoPlatform;

    fn from_str(text: &str) -> Result<Self, NoPlatform> {
        let parts: Vec<&str> = text.split('/').collect();
        let (os, architecture, variant) = match parts[..] {
            [os, architecture] => (os, architecture, None),
            [os, architecture, variant] => (os, architecture, Some(variant.to_owned())),
            _ => return Err(NoPlatform(text.to_owned())),
        };
        if parts.iter().any(|it| it.is_empty()) {
            return Err(NoPlatform(text.to_owned()));
        }
        Ok(Self { architecture: architecture.to_owned(), os: os.to_owned(), variant })
    }
}

/// A list of images or artifacts: of one image for several platforms, or of all that a layout holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Index {
    /// 2.
    pub schema_version: u8,
    /// [`media_type::INDEX`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub media_type: Option<String>,
    /// What is listed.
    pub manifests: Vec<Descriptor>,
    /// See [`annotation`].
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub annotations: BTreeMap<String, String>,
}

impl Index {
    /// An index of `manifests`.
    pub fn new(manifests: Vec<Descriptor>, annotations: BTreeMap<String, String>) -> Self {
        let media_type = Some(media_type::INDEX.to_owned());
        Self { schema_version: 2, media_type, manifests, annotations }
    }
}

/// One image for one platform, or an artifact that refers to one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Manifest {
    /// 2.
    pub schema_version: u8,
    /// [`media_type::MANIFEST`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub media_type: Option<String>,
    /// What kind of artifact, where it is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub artifact_type: Option<String>,
    /// The configuration.
    pub config: Descriptor,
    /// The layers, the lowest first.
    pub layers: Vec<Descriptor>,
    /// The manifest that this one says something about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<Descriptor>,
    /// See [`annotation`].
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub annotations: BTreeMap<String, String>,
}

impl Manifest {
    /// An image.
    pub fn image(
        config: Descriptor,
        layers: Vec<Descriptor>,
        annotations: BTreeMap<String, String>,
    ) -> Self {
        let media_type = Some(media_type::MANIFEST.to_owned());
        let (artifact_type, subject) = (None, None);
        Self { schema_version: 2, media_type, artifact_type, config, layers, subject, annotations }
    }
}

/// What a container of an image runs, and as whom.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImageConfig {
    /// When it was made, as RFC 3339 has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created: Option<String>,
    /// For which machines.
    #[serde(flatten)]
    pub platform: Platform,
    /// How it runs.
    #[serde(default)]
    pub config: RunConfig,
    /// The layers before compression.
    pub rootfs: RootFs,
    /// How each layer came to be.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub history: Vec<History>,
}

/// How a container runs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct RunConfig {
    /// `UID` or `UID:GID`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub user: String,
    /// `NAME=VALUE`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub env: Vec<String>,
    /// What is run.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub entrypoint: Vec<String>,
    /// Its arguments where nobody gives others.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub cmd: Vec<String>,
    /// The folder that it runs in.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub working_dir: String,
    /// What people ask images for.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
}

/// The layers before compression.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RootFs {
    /// `layers`.
    #[serde(rename = "type")]
    pub kind: String,
    /// The digests of the archives, the lowest first.
    pub diff_ids: Vec<Digest>,
}

/// How a layer came to be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct History {
    /// When, as RFC 3339 has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created: Option<String>,
    /// By what.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created_by: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn platforms_are_read_and_written_alike() {
        for text in ["linux/amd64", "linux/arm64", "linux/arm/v7"] {
            assert_eq!(text.parse::<Platform>().unwrap().to_string(), text);
        }
        for wrong in ["", "linux", "linux/", "/amd64", "a/b/c/d"] {
            assert!(wrong.parse::<Platform>().is_err(), "{wrong}");
        }
    }
}
