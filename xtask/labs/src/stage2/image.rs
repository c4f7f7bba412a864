//! The image in the registry: verified, and by its digest.

use std::{
    path::Path,
    process::{Command, Stdio},
};

use anyhow::Context as _;
use serde::{Deserialize, Serialize};

use crate::UserError;

/// An image that the registry has.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Image {
    /// As it was asked for, by tag.
    pub(crate) reference: String,
    /// What the tag stands for.
    pub(crate) digest: String,
    /// The registry's URL.
    pub(crate) registry: String,
    /// The digests of everything that belongs to it.
    pub(crate) parts: Vec<Part>,
}

/// Something that belongs to an image.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Part {
    /// What it is.
    pub(crate) what: String,
    /// Of which platform it is.
    pub(crate) of: String,
    /// Its digest.
    pub(crate) digest: String,
    /// In bytes.
    pub(crate) size: u64,
}

/// What `verify-tags --output json` prints.
#[derive(Deserialize)]
struct Verified {
    right: bool,
    images: Vec<Report>,
}

#[derive(Deserialize)]
struct Report {
    registry: String,
    found: Option<String>,
    parts: Vec<Part>,
}

impl Image {
    /// Has the registry verified by the program behind `cargo xtask verify-tags`.
    ///
    /// # Errors
    /// [`UserError`] when the registry has no such image, or not all of it.
    pub(crate) fn verified(program: &Path, root: &Path, reference: &str) -> anyhow::Result<Self> {
        let mut command = Command::new(program);
        command.arg("--root").arg(root).args(["verify-tags", reference, "--output", "json"]);
        let output = command.current_dir(root).stdin(Stdio::null()).output();
        let output = output.context("cannot run the program behind `cargo xtask verify-tags`")?;
        Self::read(reference, &output.stdout).unwrap_or_else(|| {
            let said = String::from_utf8_lossy(&output.stderr);
            let said = said.trim().trim_start_matches("error: ");
            let text = format!("the image {reference} cannot be verified: {said}\n\nhint: {HINT}");
            Err(UserError(text).into())
        })
    }

    /// Reads what was found; `None` if it is no such report.
    fn read(reference: &str, json: &[u8]) -> Option<anyhow::Result<Self>> {
        let verified: Verified = serde_json::from_slice(json).ok()?;
        let report = verified.images.into_iter().next()?;
        let refuse = |what: &str| {
            let text = format!("the registry at {} {what}.\n\nhint: {HINT}", report.registry);
            Some(Err(UserError(text).into()))
        };
        let Some(digest) = report.found.clone() else {
            return refuse(&format!("has no image {reference}"));
        };
        if !verified.right {
            return refuse(&format!(
                "has not all of {reference}, or not what was built; `cargo xtask verify-tags \
                 {reference}` says what differs"
            ));
        }
        let (reference, registry, parts) = (reference.to_owned(), report.registry, report.parts);
        Some(Ok(Self { reference, digest, registry, parts }))
    }

    /// The name by which it is run: the repository and the digest.
    pub(crate) fn by_digest(&self) -> String {
        let name = match self.reference.rsplit_once(':') {
            // A colon before a slash belongs to the registry's port.
            Some((name, tag)) if !tag.contains('/') => name,
            _ => &self.reference,
        };
        format!("{}@{}", name.split('@').next().unwrap_or(name), self.digest)
    }

    /// What `lab up` is told about the registry.
    pub(crate) fn for_lab(&self) -> String {
        let name = self.reference.split('/').next().unwrap_or_default();
        format!("--registry={name}={}", self.registry)
    }
}

const HINT: &str = "start a registry with `cargo xtask forge up`, and build and push the image with `cargo xtask build-image concentrate-scheduler --push`";

#[cfg(test)]
mod tests {
    use super::*;

    const NAME: &str = "forge.lab:5000/academy/concentrate-scheduler:v1";

    fn read(json: &str) -> anyhow::Result<Image> {
        Image::read(NAME, json.as_bytes()).unwrap()
    }

    #[test]
    fn a_verified_image_is_run_by_its_digest() {
        let image = read(
            r#"{"version":1,"right":true,"images":[{"reference":"x","registry":"http://127.0.0.1:5000",
                "found":"sha256:12","tags":["v1"],"parts":[{"what":"layer","of":"linux/amd64",
                "digest":"sha256:3","size":4,"state":{"is":"right"}}]}]}"#,
        )
        .unwrap();
        let expected = "forge.lab:5000/academy/concentrate-scheduler@sha256:12";
        assert_eq!(image.by_digest(), expected);
        assert_eq!(image.for_lab(), "--registry=forge.lab:5000=http://127.0.0.1:5000");
        assert_eq!(image.parts[0].digest, "sha256:3");
    }

    #[test]
    fn what_is_missing_or_wrong_is_told_with_the_remedy() {
        let missing = r#"{"right":false,"images":[{"registry":"r","found":null,"parts":[]}]}"#;
        let wrong = r#"{"right":false,"images":[{"registry":"r","found":"d","parts":[]}]}"#;
        for (json, what) in [(missing, "has no image"), (wrong, "has not all of")] {
            let text = read(json).unwrap_err().to_string();
            assert!(text.contains(what) && text.contains("--push"), "{text}");
        }
        assert!(Image::read(NAME, b"").is_none());
    }
}
