//! The JSON documents of an image: index, manifest and configuration.
//!
//! Source: the OCI image specification, and Docker's documents, which name the same things.

use serde::Deserialize;

/// The media types of documents that name several platforms' images.
const INDEXES: [&str; 2] = [
    "application/vnd.oci.image.index.v1+json",
    "application/vnd.docker.distribution.manifest.list.v2+json",
];

/// The media types of one platform's image.
const MANIFESTS: [&str; 2] = [
    "application/vnd.oci.image.manifest.v1+json",
    "application/vnd.docker.distribution.manifest.v2+json",
];

/// The largest document that is read.
pub(super) const DOCUMENT_MAX: u64 = 4 << 20;

/// What to ask a registry for.
pub(super) fn accept() -> String {
    INDEXES.iter().chain(&MANIFESTS).copied().collect::<Vec<_>>().join(", ")
}

/// A pointer to a blob.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub(super) struct Descriptor {
    #[serde(default)]
    pub(super) media_type: String,
    pub(super) digest: String,
    pub(super) size: u64,
    pub(super) platform: Option<Platform>,
    #[serde(default)]
    pub(super) annotations: std::collections::BTreeMap<String, String>,
}

/// Which machine an image is for.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq)]
pub(super) struct Platform {
    #[serde(default)]
    pub(super) architecture: String,
    #[serde(default)]
    pub(super) os: String,
}

/// An index or a manifest: which of the two shows in what it has.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub(super) struct Manifest {
    #[serde(default)]
    pub(super) manifests: Vec<Descriptor>,
    pub(super) config: Option<Descriptor>,
    #[serde(default)]
    pub(super) layers: Vec<Descriptor>,
}

/// What the image says about running it.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq)]
pub(super) struct ImageConfig {
    #[serde(default)]
    pub(super) config: RunConfig,
}

/// The part of the configuration that a runtime reads.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "PascalCase")]
pub(super) struct RunConfig {
    #[serde(default)]
    pub(super) user: String,
    #[serde(default, deserialize_with = "null_is_empty")]
    pub(super) env: Vec<String>,
    #[serde(default, deserialize_with = "null_is_empty")]
    pub(super) entrypoint: Vec<String>,
    #[serde(default, deserialize_with = "null_is_empty")]
    pub(super) cmd: Vec<String>,
    #[serde(default)]
    pub(super) working_dir: String,
}

/// Docker writes `null` for an empty list.
fn null_is_empty<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Vec<String>, D::Error> {
    Ok(Option::deserialize(from)?.unwrap_or_default())
}

impl Manifest {
    /// The image for this machine, where this is an index.
    ///
    /// # Errors
    /// The platforms that there are, when this machine's is not among them.
    pub(super) fn for_this_machine(&self) -> Result<&Descriptor, String> {
        let wanted = crate::kubelet::architecture();
        let fits = |it: &&Descriptor| {
            it.platform.as_ref().is_some_and(|it| it.os == "linux" && it.architecture == wanted)
        };
        self.manifests.iter().find(fits).ok_or_else(|| {
            let names: Vec<String> = self
                .manifests
                .iter()
                .filter_map(|it| it.platform.as_ref())
                .map(|it| format!("{}/{}", it.os, it.architecture))
                .collect();
            format!(
                "no match for platform linux/{wanted} in manifest: not found (it has {names:?})"
            )
        })
    }

    /// Whether this names several images.
    pub(super) fn is_index(&self) -> bool {
        self.config.is_none()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn this_machines_image_is_chosen_and_its_absence_told() {
        let entry = |os: &str, architecture: &str, digest: &str| {
            json!({"mediaType": MANIFESTS[0], "digest": digest, "size": 1,
                "platform": {"os": os, "architecture": architecture}})
        };
        let here = crate::kubelet::architecture();
        let index = |manifests| -> Manifest {
            serde_json::from_value(json!({"manifests": manifests})).unwrap()
        };
        let both =
            index(json!([entry("windows", here, "sha256:1"), entry("linux", here, "sha256:2")]));
        assert_eq!(both.for_this_machine().unwrap().digest, "sha256:2");
        let other = index(json!([entry("linux", "s390x", "sha256:1")]));
        let refusal = other.for_this_machine().unwrap_err();
        assert!(refusal.contains("linux/s390x"), "{refusal}");
    }

    #[test]
    fn a_configuration_of_docker_with_nulls_is_read() {
        let config: ImageConfig = serde_json::from_value(
            json!({"config": {"Env": null, "Cmd": ["x"], "User": "65532:65532"}}),
        )
        .unwrap();
        assert_eq!(config.config.cmd, ["x"]);
        assert!(config.config.env.is_empty());
    }
}
