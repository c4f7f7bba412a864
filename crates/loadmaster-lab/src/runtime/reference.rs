//! Names of images, as pods write them.

use std::fmt;

/// The registry that a name without one means.
const DEFAULT_REGISTRY: &str = "docker.io";

/// A parsed image name: `registry/repository:tag@digest`, with at least one of tag and digest.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Reference {
    /// Host and port.
    pub(super) registry: String,
    /// The path within the registry.
    pub(super) repository: String,
    /// The tag; `latest` where neither tag nor digest is given.
    pub(super) tag: Option<String>,
    /// `sha256:…`, if the name pins the image.
    pub(super) digest: Option<String>,
}

impl Reference {
    /// Reads a name by the rules that container tools share: the part before the first slash is a
    /// registry if it has a dot or a colon in it or is `localhost`.
    ///
    /// # Errors
    /// What is wrong with the name.
    pub fn parse(name: &str) -> Result<Self, String> {
        let invalid = || format!("couldn't parse image name {name:?}: invalid reference format");
        let (rest, digest) = match name.split_once('@') {
            Some((rest, digest)) if is_digest(digest) => (rest, Some(digest.to_owned())),
            Some(_) => return Err(invalid()),
            None => (name, None),
        };
        let (registry, path) = match rest.split_once('/') {
            Some((first, path)) if first.contains(['.', ':']) || first == "localhost" => {
                (first.to_owned(), path.to_owned())
            }
            Some(_) => (DEFAULT_REGISTRY.to_owned(), rest.to_owned()),
            None => (DEFAULT_REGISTRY.to_owned(), format!("library/{rest}")),
        };
        let (repository, tag) = match path.split_once(':') {
            Some((repository, tag)) => (repository.to_owned(), Some(tag.to_owned())),
            None => (path, None),
        };
        let fine_tag = |it: &String| {
            !it.is_empty()
                && it.len() <= 128
                && it.bytes().all(|b| b.is_ascii_alphanumeric() || b"._-".contains(&b))
        };
        let fine_part = |it: &str| {
            !it.is_empty()
                && it
                    .bytes()
                    .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b"._-".contains(&b))
                && it != ".."
        };
        let fine_host = |it: &str| {
            !it.is_empty() && it.bytes().all(|b| b.is_ascii_alphanumeric() || b".-:[]".contains(&b))
        };
        if !fine_host(&registry)
            || !repository.split('/').all(fine_part)
            || !tag.iter().all(fine_tag)
        {
            return Err(invalid());
        }
        let tag = tag.or_else(|| digest.is_none().then(|| "latest".to_owned()));
        Ok(Self { registry, repository, tag, digest })
    }

    /// What the registry is asked for: the digest where there is one.
    pub(super) fn wanted(&self) -> &str {
        self.digest.as_deref().or(self.tag.as_deref()).unwrap_or("latest")
    }

    /// `registry/repository`.
    pub(super) fn name(&self) -> String {
        format!("{}/{}", self.registry, self.repository)
    }

    /// Whether this name, given to a map of images, means the image that a pod calls `other`: the
    /// same repository, and the same tag unless the pod pins a digest.
    pub(super) fn covers(&self, other: &Self) -> bool {
        self.registry == other.registry
            && self.repository == other.repository
            && (other.digest.is_some() || self.tag == other.tag)
    }
}

impl fmt::Display for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.registry, self.repository)?;
        if let Some(tag) = &self.tag {
            write!(f, ":{tag}")?;
        }
        if let Some(digest) = &self.digest {
            write!(f, "@{digest}")?;
        }
        Ok(())
    }
}

/// Whether the text is the digest of a blob, of the one kind that registries use.
pub(super) fn is_digest(text: &str) -> bool {
    text.strip_prefix("sha256:").is_some_and(|it| {
        it.len() == 64 && it.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(name: &str) -> String {
        Reference::parse(name).map_or_else(|error| error, |it| it.to_string())
    }

    #[test]
    fn names_are_completed_as_every_container_tool_does() {
        let digest = format!("sha256:{}", "0a".repeat(32));
        for (name, full) in [
            ("busybox", "docker.io/library/busybox:latest".to_owned()),
            ("me/app:1", "docker.io/me/app:1".to_owned()),
            ("forge.lab:5000/academy/s:v1", "forge.lab:5000/academy/s:v1".to_owned()),
            ("localhost/x", "localhost/x:latest".to_owned()),
            (&format!("r.io/x@{digest}"), format!("r.io/x@{digest}")),
            (&format!("r.io/x:v1@{digest}"), format!("r.io/x:v1@{digest}")),
        ] {
            assert_eq!(shown(name), full);
        }
        for name in ["Busybox", "a b", "r.io/x@sha256:12", "r.io/../x", "r.io/x:", "", "r.io//x"] {
            let refusal = format!("couldn't parse image name {name:?}: invalid reference format");
            assert_eq!(shown(name), refusal);
        }
    }

    #[test]
    fn a_mapped_name_covers_its_tag_and_every_digest() {
        let parse = |name: &str| Reference::parse(name).unwrap();
        let mapped = parse("forge.lab:5000/a/b:v1");
        assert!(mapped.covers(&parse("forge.lab:5000/a/b:v1")));
        assert!(mapped.covers(&parse(&format!("forge.lab:5000/a/b@sha256:{}", "0".repeat(64)))));
        assert!(!mapped.covers(&parse("forge.lab:5000/a/b:v2")));
        assert!(!mapped.covers(&parse("forge.lab/a/b:v1")));
    }
}
