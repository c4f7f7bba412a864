//! Image references: `REGISTRY/REPOSITORY:TAG`, as `forge.lab:5000/academy/concentrate-scheduler:v1`.

use std::{fmt, str::FromStr};

use crate::digest::Digest;

/// Where an image is in a registry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reference {
    /// The registry's host, with its port if it has one.
    pub registry: String,
    /// The repository, `academy/concentrate-scheduler`.
    pub repository: String,
    /// Which image of it.
    pub which: Which,
}

/// Which image of a repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Which {
    /// The one that a name stands for at the moment.
    Tag(String),
    /// That one and no other.
    Digest(Digest),
}

/// Not a reference; says what is wrong with it.
#[derive(Debug, thiserror::Error)]
pub enum NoReference {
    /// The host or its port.
    #[error("`{0}` is no registry; write HOST or HOST:PORT, such as `forge.lab:5000`")]
    Registry(String),
    /// The repository.
    #[error(
        "`{0}` is no repository; its parts between `/` are lower-case letters and digits, with `.`, `_` or `-` \
         between them"
    )]
    Repository(String),
    /// The tag.
    #[error(
        "`{0}` is no tag; one has at most 128 letters, digits, `_`, `.` and `-`, and does not begin with `.` or `-`"
    )]
    Tag(String),
    /// The digest.
    #[error(transparent)]
    Digest(#[from] crate::digest::NoDigest),
    /// There is no registry in front, or nothing behind the name.
    #[error(
        "`{0}` is no whole reference; write REGISTRY/REPOSITORY:TAG, such as `forge.lab:5000/academy/x:v1`"
    )]
    Incomplete(String),
}

impl Reference {
    /// The image under a tag.
    ///
    /// # Errors
    /// When a part has characters that registries do not take.
    pub fn tagged(registry: &str, repository: &str, tag: &str) -> Result<Self, NoReference> {
        if !is_registry(registry) {
            return Err(NoReference::Registry(registry.to_owned()));
        }
        if !is_repository(repository) {
            return Err(NoReference::Repository(repository.to_owned()));
        }
        if !is_tag(tag) {
            return Err(NoReference::Tag(tag.to_owned()));
        }
        let which = Which::Tag(tag.to_owned());
        Ok(Self { registry: registry.to_owned(), repository: repository.to_owned(), which })
    }

    /// The same repository's image of that digest.
    #[must_use]
    pub fn at(&self, digest: Digest) -> Self {
        Self { which: Which::Digest(digest), ..self.clone() }
    }

    /// The tag, where it names one.
    pub fn tag(&self) -> Option<&str> {
        match &self.which {
            Which::Tag(tag) => Some(tag),
            Which::Digest(_) => None,
        }
    }
}

impl fmt::Display for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.registry, self.repository)?;
        match &self.which {
            Which::Tag(tag) => write!(f, ":{tag}"),
            Which::Digest(digest) => write!(f, "@{digest}"),
        }
    }
}

impl FromStr for Reference {
    type Err = NoReference;

    fn from_str(text: &str) -> Result<Self, NoReference> {
        let incomplete = || NoReference::Incomplete(text.to_owned());
        let (registry, rest) = text.split_once('/').ok_or_else(incomplete)?;
        // Elsewhere a first part without dot or port means Docker Hub; here nothing is guessed.
        let names_host = registry.contains(['.', ':']) || registry == "localhost";
        if !names_host {
            return Err(incomplete());
        }
        if let Some((repository, digest)) = rest.split_once('@') {
            // The tag of `name:tag@digest` says nothing more.
            let repository = repository.split_once(':').map_or(repository, |(name, _)| name);
            let reference = Self::tagged(registry, repository, "any")?;
            return Ok(reference.at(digest.parse()?));
        }
        let (repository, tag) = rest.split_once(':').ok_or_else(incomplete)?;
        Self::tagged(registry, repository, tag)
    }
}

fn is_registry(text: &str) -> bool {
    let (host, port) = match text.rsplit_once(':') {
        Some((host, port)) => (host, Some(port)),
        None => (text, None),
    };
    let is_host = |it: u8| it.is_ascii_alphanumeric() || matches!(it, b'.' | b'-');
    let host = host.strip_prefix('[').and_then(|it| it.strip_suffix(']')).map_or_else(
        || !host.is_empty() && host.bytes().all(is_host),
        |it| it.parse::<std::net::Ipv6Addr>().is_ok(),
    );
    host && port.is_none_or(|it| it.parse::<u16>().is_ok_and(|it| it != 0))
}

fn is_repository(text: &str) -> bool {
    let is_word = |it: u8| it.is_ascii_lowercase() || it.is_ascii_digit();
    let is_part = |part: &str| {
        let bytes = part.as_bytes();
        let ends = bytes.first().zip(bytes.last());
        let separators: Vec<&str> =
            part.split(|it: char| it.is_ascii_lowercase() || it.is_ascii_digit()).collect();
        ends.is_some_and(|(first, last)| is_word(*first) && is_word(*last))
            && separators
                .iter()
                .all(|it| matches!(*it, "" | "." | "_" | "__") || it.bytes().all(|it| it == b'-'))
    };
    text.len() <= 255 && text.split('/').all(is_part)
}

fn is_tag(text: &str) -> bool {
    let is_word = |it: u8| it.is_ascii_alphanumeric() || it == b'_';
    let mut bytes = text.bytes();
    text.len() <= 128
        && bytes.next().is_some_and(is_word)
        && bytes.all(|it| is_word(it) || matches!(it, b'.' | b'-'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_courses_reference_is_read_and_written_alike() {
        let text = "forge.lab:5000/academy/concentrate-scheduler:v1";
        let read: Reference = text.parse().unwrap();
        assert_eq!(read.registry, "forge.lab:5000");
        assert_eq!(read.repository, "academy/concentrate-scheduler");
        assert_eq!(read.tag(), Some("v1"));
        assert_eq!(read.to_string(), text);
        let by_digest = read.at(Digest::of(b"")).to_string();
        assert_eq!(by_digest.parse::<Reference>().unwrap().to_string(), by_digest);
        assert!(by_digest.starts_with("forge.lab:5000/academy/concentrate-scheduler@sha256:e3b0"));
    }

    #[test]
    fn what_no_registry_takes_is_refused_with_the_part_that_is_wrong() {
        let cases = [
            ("academy/x:v1", "no whole reference"),
            ("forge.lab:5000/academy/x", "no whole reference"),
            ("forge.lab:5000/Academy/x:v1", "`Academy/x` is no repository"),
            ("forge.lab:5000/a..b:v1", "`a..b` is no repository"),
            ("forge.lab:5000/a/../b:v1", "no repository"),
            ("forge.lab:5000/a:-v1", "`-v1` is no tag"),
            ("forge.lab:99999/a:v1", "no registry"),
            ("forge.lab:5000/a@sha256:12", "no digest"),
        ];
        for (text, why) in cases {
            let error = text.parse::<Reference>().unwrap_err().to_string();
            assert!(error.contains(why), "{text}: {error}");
        }
        assert!("localhost:5000/a__b-c.d/e---f:V_1.2-x".parse::<Reference>().is_ok());
        assert!("[::1]:5000/a:v1".parse::<Reference>().is_ok());
    }
}
