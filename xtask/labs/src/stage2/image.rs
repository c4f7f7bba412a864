//! The image in the registry: verified, and by its digest.

use std::{
    ffi::OsStr,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use anyhow::Context as _;
use serde::{Deserialize, Serialize};

use crate::{UserError, stage1::progress::note};

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
    /// [`UserError`] when the registry has no such image, or not all of it, or cannot be asked.
    pub(crate) fn verified(program: &Path, root: &Path, reference: &str) -> anyhow::Result<Self> {
        match Self::asked(program, root, reference)? {
            Ok(image) => Ok(image),
            Err(said) => {
                let text =
                    format!("the image {reference} cannot be verified: {said}\n\nhint: {HINT}");
                Err(UserError(text).into())
            }
        }
    }

    /// What an archive of `digest` holds, held against what the registry has, where that can be asked.
    ///
    /// # Errors
    /// [`UserError`] when the registry has another image under that name, or not all of it.
    pub(super) fn in_archive(
        program: &Path,
        root: &Path,
        reference: &str,
        (archive, digest): (&Path, &str),
    ) -> anyhow::Result<Self> {
        let archive = archive.display();
        match Self::asked(program, root, reference)? {
            Ok(image) if image.digest == digest => Ok(image),
            Ok(image) => {
                let text = format!(
                    "the archive {archive} holds {digest}, and the registry has {} under {reference}                     .\n\nhint: write the archive again with `cargo xtask build-image NAME --output \
                     oci-archive:{archive}`, or push what it holds",
                    image.digest
                );
                Err(UserError(text).into())
            }
            Err(said) => {
                note(&format!("Not held against the registry: {said}"));
                let (reference, digest) = (reference.to_owned(), digest.to_owned());
                Ok(Self { reference, digest, registry: archive.to_string(), parts: Vec::new() })
            }
        }
    }

    /// Asks the registry; where it cannot be asked, what was said.
    fn asked(program: &Path, root: &Path, reference: &str) -> anyhow::Result<Result<Self, String>> {
        let mut command = Command::new(program);
        command.arg("--root").arg(root).args(["verify-tags", reference, "--output", "json"]);
        let output = command.current_dir(root).stdin(Stdio::null()).output();
        let output = output.context("cannot run the program behind `cargo xtask verify-tags`")?;
        match Self::read(reference, &output.stdout) {
            Some(read) => read.map(Ok),
            None => Ok(Err(said(&output.stderr))),
        }
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

/// The program of an image, taken out of it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub(super) struct Program {
    /// Of the image.
    pub(super) digest: String,
    /// Where the program is.
    pub(super) program: PathBuf,
}

impl Program {
    /// Takes it to the folder `to`, `from` an image or an archive: `["--image", REFERENCE]`.
    ///
    /// # Errors
    /// [`UserError`] when it cannot be had.
    pub(super) fn unpack(
        program: &Path,
        root: &Path,
        from: [&OsStr; 2],
        to: &Path,
    ) -> anyhow::Result<Self> {
        let mut command = Command::new(program);
        command.arg("--root").arg(root).arg("unpack").args(from).arg("--to").arg(to);
        let output = command.stdin(Stdio::null()).output();
        let output = output.context("cannot run the program behind the images' commands")?;
        if !output.status.success() {
            let said = said(&output.stderr);
            let text =
                format!("the image's program cannot be taken out of it: {said}\n\nhint: {HINT}");
            return Err(UserError(text).into());
        }
        serde_json::from_slice(&output.stdout).context("cannot read where the program is")
    }
}

/// What a program said on its way out.
fn said(stderr: &[u8]) -> String {
    String::from_utf8_lossy(stderr).trim().trim_start_matches("error: ").to_owned()
}

const HINT: &str = "start a registry with `cargo xtask forge up`, and build and push the image with `cargo xtask build-image concentrate-scheduler --push`";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::tests::script;

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

    /// A program that answers as the one behind `verify-tags` does.
    fn answering(folder: &Path, words: &str) -> PathBuf {
        let program = folder.join("images");
        script(&program, &format!("#!/bin/sh\n{words}\n"));
        program
    }

    #[test]
    fn an_archive_is_held_against_the_registry_where_that_answers() {
        let folder = tempfile::tempdir().unwrap();
        let archive = folder.path().join("image.tar");
        let json = r#"{"right":true,"images":[{"registry":"r","found":"sha256:1","parts":[]}]}"#;
        let held = |words: &str, digest: &str| {
            let program = answering(folder.path(), words);
            Image::in_archive(&program, folder.path(), NAME, (&archive, digest))
        };
        let there = format!("echo '{json}'");
        assert_eq!(held(&there, "sha256:1").unwrap().registry, "r");
        let error = held(&there, "sha256:2").unwrap_err().to_string();
        assert!(error.contains("holds sha256:2") && error.contains("has sha256:1"), "{error}");
        let alone = held("echo 'error: no registry answers' >&2; exit 2", "sha256:2").unwrap();
        assert_eq!((alone.digest.as_str(), alone.parts.len()), ("sha256:2", 0));
        let error = Image::verified(
            &answering(folder.path(), "echo 'error: nobody' >&2; exit 2"),
            folder.path(),
            NAME,
        );
        let error = error.unwrap_err().to_string();
        assert!(error.contains("cannot be verified: nobody"), "{error}");
    }
}
