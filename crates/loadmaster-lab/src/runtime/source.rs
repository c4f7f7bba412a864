//! Where images come from: a registry, or a folder in the OCI image layout.

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use http::Response;
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use sha2::{Digest as _, Sha256};

use super::http::{HttpError, Trust, get};
use super::manifest::{DOCUMENT_MAX, Descriptor, Manifest, accept};
use super::reference::{Reference, is_digest};

/// The annotation by which a layout names its images.
const REF_NAME: &str = "org.opencontainers.image.ref.name";
/// How often a registry may send a request elsewhere.
const REDIRECTS_MAX: usize = 5;

/// Why an image does not come.
#[derive(Debug, thiserror::Error)]
pub(super) enum PullError {
    /// There is nothing by that name.
    #[error("{0}: not found")]
    NotFound(String),
    /// The request did not succeed.
    #[error("failed to do request: Get \"{url}\": {source}")]
    Request {
        /// What was asked for.
        url: String,
        /// Why there is no answer.
        source: HttpError,
    },
    /// The registry refuses.
    #[error("unexpected status from GET request to {url}: {code}")]
    Status {
        /// What was asked for.
        url: String,
        /// The code and its name.
        code: http::StatusCode,
    },
    /// What came is not what its name says.
    #[error("unexpected commit digest {found}, expected {expected}: failed precondition")]
    Digest {
        /// The digest of what came.
        found: String,
        /// The digest that it should have.
        expected: String,
    },
    /// What came is longer than it should be.
    #[error("{what} is larger than the {limit} bytes that it may have")]
    TooLarge {
        /// What it is.
        what: String,
        /// How many bytes it may have.
        limit: u64,
    },
    /// The document is not one of an image.
    #[error("{0}")]
    Document(String),
    /// A file cannot be read or written.
    #[error("{path}: {source}")]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The layers cannot be unpacked.
    #[error("failed to extract layer: {0}")]
    Unpack(#[from] super::unpack::UnpackError),
}

impl PullError {
    /// Wraps what the system said about a file.
    pub(super) fn io(path: &Path) -> impl FnOnce(io::Error) -> Self + use<> {
        let path = path.to_owned();
        move |source| Self::Io { path, source }
    }
}

/// A place that has an image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Source {
    /// A registry by its URL without a path.
    Registry(String),
    /// A folder in the OCI image layout.
    Layout(PathBuf),
}

/// A document and its digest.
#[derive(Clone, Debug)]
pub(super) struct Document {
    pub(super) manifest: Manifest,
    pub(super) digest: String,
}

impl Source {
    /// What the reference means: an index or a manifest.
    pub(super) async fn root(&self, reference: &Reference) -> Result<Document, PullError> {
        match self {
            Self::Registry(url) => {
                let wanted = reference.wanted();
                let expected = reference.digest.as_deref();
                manifest(url, &reference.repository, wanted, expected).await
            }
            Self::Layout(folder) => {
                let digest = named_in(folder, reference)?;
                document(&read_blob(folder, &digest)?, Some(&digest))
            }
        }
    }

    /// A manifest that an index names.
    pub(super) async fn manifest(
        &self,
        reference: &Reference,
        digest: &str,
    ) -> Result<Document, PullError> {
        match self {
            Self::Registry(url) => manifest(url, &reference.repository, digest, Some(digest)).await,
            Self::Layout(folder) => document(&read_blob(folder, digest)?, Some(digest)),
        }
    }

    /// Writes a blob to `file` and checks that it is the right one.
    pub(super) async fn blob(
        &self,
        reference: &Reference,
        blob: &Descriptor,
        file: &Path,
    ) -> Result<(), PullError> {
        let mut sink = Sink::create(file, blob)?;
        match self {
            Self::Registry(url) => {
                let url = format!("{url}/v2/{}/blobs/{}", reference.repository, blob.digest);
                let mut answer = fetch(&url, "*/*").await?;
                let failed = |source| PullError::Request { url: url.clone(), source };
                while let Some(frame) = answer.frame().await {
                    let frame = frame.map_err(|error| failed(HttpError::Http(error)))?;
                    if let Some(data) = frame.data_ref() {
                        sink.write(data)?;
                    }
                }
            }
            Self::Layout(folder) => {
                let path = blob_path(folder, &blob.digest)?;
                let mut from = std::fs::File::open(&path).map_err(PullError::io(&path))?;
                io::copy(&mut from, &mut sink.file).map_err(PullError::io(file))?;
                // Read again for its digest: the copy is what will be unpacked.
                let mut copy = std::fs::File::open(file).map_err(PullError::io(file))?;
                sink.written = io::copy(&mut copy, &mut sink.hash).map_err(PullError::io(file))?;
            }
        }
        sink.finish()
    }
}

/// A blob on its way to a file.
struct Sink<'a> {
    file: std::fs::File,
    path: &'a Path,
    blob: &'a Descriptor,
    hash: Sha256,
    written: u64,
}

impl<'a> Sink<'a> {
    fn create(path: &'a Path, blob: &'a Descriptor) -> Result<Self, PullError> {
        let file = std::fs::File::create(path).map_err(PullError::io(path))?;
        Ok(Self { file, path, blob, hash: Sha256::new(), written: 0 })
    }

    fn write(&mut self, data: &[u8]) -> Result<(), PullError> {
        self.written += data.len() as u64;
        if self.written > self.blob.size {
            let what = format!("blob {}", self.blob.digest);
            return Err(PullError::TooLarge { what, limit: self.blob.size });
        }
        self.hash.update(data);
        self.file.write_all(data).map_err(PullError::io(self.path))
    }

    fn finish(mut self) -> Result<(), PullError> {
        self.file.flush().map_err(PullError::io(self.path))?;
        let found = hex_digest(self.hash);
        if found != self.blob.digest {
            return Err(PullError::Digest { found, expected: self.blob.digest.clone() });
        }
        Ok(())
    }
}

async fn manifest(
    url: &str,
    repository: &str,
    wanted: &str,
    expected: Option<&str>,
) -> Result<Document, PullError> {
    let url = format!("{url}/v2/{repository}/manifests/{wanted}");
    let mut answer = fetch(&url, &accept()).await?;
    let mut bytes = Vec::new();
    while let Some(frame) = answer.frame().await {
        let frame = frame.map_err(|error| PullError::Request {
            url: url.clone(),
            source: HttpError::Http(error),
        })?;
        bytes.extend(frame.data_ref().map(|it| it.to_vec()).unwrap_or_default());
        if bytes.len() as u64 > DOCUMENT_MAX {
            return Err(PullError::TooLarge { what: url, limit: DOCUMENT_MAX });
        }
    }
    document(&bytes, expected)
}

/// Asks a registry, or where it sends us to.
async fn fetch(url: &str, accept: &str) -> Result<Incoming, PullError> {
    let mut url = url.to_owned();
    for _ in 0..=REDIRECTS_MAX {
        let answer = get(&url, &[("accept", accept)], Trust::System).await;
        let answer = answer.map_err(|source| PullError::Request { url: url.clone(), source })?;
        match answer.status().as_u16() {
            200 => return Ok(answer.into_body()),
            301 | 302 | 303 | 307 | 308 => url = redirected(&url, &answer)?,
            404 => return Err(PullError::NotFound(url)),
            _ => return Err(PullError::Status { url, code: answer.status() }),
        }
    }
    Err(PullError::Document(format!("{url}: stopped after {REDIRECTS_MAX} redirects")))
}

fn redirected(url: &str, answer: &Response<Incoming>) -> Result<String, PullError> {
    let location = answer.headers().get("location").and_then(|it| it.to_str().ok());
    let location =
        location.ok_or_else(|| PullError::Status { url: url.to_owned(), code: answer.status() })?;
    if !location.starts_with('/') {
        return Ok(location.to_owned());
    }
    let path = url.find("://").and_then(|at| url[at + 3..].find('/').map(|it| at + 3 + it));
    Ok(format!("{}{location}", &url[..path.unwrap_or(url.len())]))
}

/// Reads an index or a manifest and checks that it is the right one.
fn document(bytes: &[u8], expected: Option<&str>) -> Result<Document, PullError> {
    let mut hash = Sha256::new();
    hash.update(bytes);
    let found = hex_digest(hash);
    if let Some(expected) = expected.filter(|it| *it != found) {
        return Err(PullError::Digest { found, expected: expected.to_owned() });
    }
    let manifest: Manifest = serde_json::from_slice(bytes)
        .map_err(|error| PullError::Document(format!("{found} is no manifest: {error}")))?;
    Ok(Document { manifest, digest: found })
}

fn hex_digest(hash: Sha256) -> String {
    use std::fmt::Write as _;
    let mut text = String::from("sha256:");
    for byte in hash.finalize() {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}

/// The digest that a layout has under the reference.
fn named_in(folder: &Path, reference: &Reference) -> Result<String, PullError> {
    if let Some(digest) = &reference.digest {
        return Ok(digest.clone());
    }
    let path = folder.join("index.json");
    let bytes = std::fs::read(&path).map_err(PullError::io(&path))?;
    let index: Manifest = serde_json::from_slice(&bytes)
        .map_err(|error| PullError::Document(format!("{}: {error}", path.display())))?;
    let (tag, full) = (reference.tag.clone().unwrap_or_default(), reference.to_string());
    let name = |it: &Descriptor| it.annotations.get(REF_NAME).cloned();
    let named =
        index.manifests.iter().find(|it| name(it).is_some_and(|it| it == tag || it == full));
    let only = match index.manifests.as_slice() {
        [only] if name(only).is_none() => Some(only),
        _ => None,
    };
    named.or(only).map(|it| it.digest.clone()).ok_or_else(|| {
        let names: Vec<String> = index.manifests.iter().filter_map(name).collect();
        PullError::NotFound(format!("{tag} in {} (it has {names:?})", folder.display()))
    })
}

fn blob_path(folder: &Path, digest: &str) -> Result<PathBuf, PullError> {
    if !is_digest(digest) {
        return Err(PullError::Document(format!("{digest:?} is no sha256 digest")));
    }
    Ok(folder.join("blobs").join(digest.replace(':', "/")))
}

fn read_blob(folder: &Path, digest: &str) -> Result<Vec<u8>, PullError> {
    let path = blob_path(folder, digest)?;
    let found = std::fs::metadata(&path).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => PullError::NotFound(path.display().to_string()),
        _ => PullError::Io { path: path.clone(), source: error },
    })?;
    if found.len() > DOCUMENT_MAX {
        let what = path.display().to_string();
        return Err(PullError::TooLarge { what, limit: DOCUMENT_MAX });
    }
    std::fs::read(&path).map_err(PullError::io(&path))
}

#[cfg(test)]
mod tests;
