//! Speaking to a registry: `oci-client`, with what it leaves to its callers.
//!
//! That is: names that no resolver knows, attempts after failures that may pass, an error where the
//! client would panic, and failures in words that say what to do.

mod endpoint;
mod fault;
mod retry;

use std::{
    future::Future,
    panic::AssertUnwindSafe,
    pin::Pin,
    sync::{Arc, Once},
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use futures::{FutureExt as _, StreamExt as _, stream};
use oci_client::{
    Client, Reference as Target, RegistryOperation,
    client::{ClientConfig, ClientProtocol},
    errors::OciDistributionError,
    secrets::RegistryAuth,
};
use tokio::io::AsyncWrite;

pub use self::{
    endpoint::Endpoint,
    fault::{Fault, Kind},
    retry::{Patience, Policy, Retries, Wait},
};
use crate::{digest::Digest, oci::media_type};

/// What an upload hands to the connection at once, and how finely progress is told.
const PIECE: usize = 64 * 1024;

/// How long a connection may take to come up, and an answer to go on.
const CONNECT: Duration = Duration::from_secs(10);
const READ: Duration = Duration::from_mins(1);

/// How many tags are asked for at once.
const PAGE: usize = 1000;

/// Docker's own kinds of index and manifest, which a registry may have under a tag.
const DOCKER: [&str; 2] = [
    "application/vnd.docker.distribution.manifest.list.v2+json",
    "application/vnd.docker.distribution.manifest.v2+json",
];

/// Is told how many bytes of some content went over the wire in the present attempt.
pub type OnBytes = Arc<dyn Fn(u64) + Send + Sync>;

/// One repository of a registry.
pub struct Repository {
    endpoint: Endpoint,
    name: String,
    client: Client,
    auth: RegistryAuth,
    retries: Retries,
}

/// A manifest or an index as a registry has it, its content checked against its digest.
#[derive(Clone, Debug)]
pub struct Stored {
    /// Of `content`.
    pub digest: Digest,
    /// The document.
    pub content: Bytes,
}

type Result<T> = std::result::Result<T, Fault>;

impl std::fmt::Debug for Repository {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Repository")
            .field("endpoint", &self.endpoint)
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

impl Repository {
    /// The repository `name` of a registry; nothing is sent yet.
    ///
    /// # Errors
    /// When this machine has nothing to check a server's certificate with.
    pub fn new(
        endpoint: Endpoint,
        name: &str,
        auth: RegistryAuth,
        retries: Retries,
    ) -> Result<Self> {
        let client = client(&endpoint)?;
        Ok(Self { endpoint, name: name.to_owned(), client, auth, retries })
    }

    /// The registry.
    pub fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// `REGISTRY/REPOSITORY`.
    pub fn full_name(&self) -> String {
        format!("{}/{}", self.endpoint.name(), self.name)
    }

    /// Asks whether the registry is there, and shows it who we are.
    ///
    /// # Errors
    /// When nobody answers, or it does not want us.
    pub async fn greet(&self, operation: RegistryOperation) -> Result<()> {
        let doing = format!("reach the registry {}", self.endpoint);
        let target = self.at("any");
        let greet = async || {
            let answer = self.client.auth(&target, &self.auth, operation);
            guarded(&doing, answer).await.map(drop)
        };
        self.retries.run(greet).await
    }

    /// Every tag of the repository, in order; none where there is no such repository.
    ///
    /// # Errors
    /// When the registry does not say.
    pub async fn tags(&self) -> Result<Vec<String>> {
        let doing = format!("list the tags of {}", self.full_name());
        let mut tags: Vec<String> = Vec::new();
        loop {
            let (target, last) = (self.at("any"), tags.last().cloned());
            let page = async || {
                let last = last.as_deref();
                let answer = self.client.list_tags(&target, &self.auth, Some(PAGE), last);
                guarded(&doing, answer).await
            };
            let page = match self.retries.run(page).await {
                Ok(page) => page.tags,
                Err(fault) if matches!(fault.kind, Kind::NotFound(_)) => Vec::new(),
                Err(fault) => return Err(fault),
            };
            let is_last = page.len() < PAGE;
            let before = tags.len();
            // A registry that ignores the page's bounds gives the same tags again.
            tags.extend(page.into_iter().filter(|it| last.as_ref().is_none_or(|last| it > last)));
            if is_last || tags.len() == before {
                tags.sort_unstable();
                tags.dedup();
                return Ok(tags);
            }
            tags.sort_unstable();
        }
    }

    /// The manifest under a tag or digest, if there is one.
    ///
    /// # Errors
    /// When the registry does not say, or has something else than the digest says.
    pub async fn manifest(&self, at: &str) -> Result<Option<Stored>> {
        let doing = format!("read {}", self.named(at));
        // By digest the client checks the content, by tag what the registry says about it.
        let target = match at.parse::<Digest>() {
            Ok(digest) => self.by_digest(&digest),
            Err(_) => self.at(at),
        };
        let read = async || {
            let kinds = [media_type::INDEX, media_type::MANIFEST, DOCKER[0], DOCKER[1]];
            let answer = self.client.pull_manifest_raw(&target, &self.auth, &kinds);
            guarded(&doing, answer).await
        };
        match self.retries.run(read).await {
            Ok((content, _)) => Ok(Some(Stored { digest: Digest::of(&content), content })),
            Err(fault) if matches!(fault.kind, Kind::NotFound(_)) => Ok(None),
            Err(fault) => Err(fault),
        }
    }

    /// Puts a manifest under a tag or under its digest.
    ///
    /// # Errors
    /// When the registry does not take it.
    pub async fn put_manifest(&self, at: &str, media_type: &str, content: &[u8]) -> Result<()> {
        let doing = format!("write {}", self.named(at));
        let media_type = http::HeaderValue::from_str(media_type).map_err(|_| {
            Fault::new(&*doing, Kind::Here(format!("`{media_type}` is no media type")))
        })?;
        // As if the digest were a tag: for a registry that does not say where the manifest now is,
        // the client looks for the tag at the end of the address, and panics where there is none.
        let target = self.at(at);
        let content = Bytes::copy_from_slice(content);
        let put = async || {
            let answer =
                self.client.push_manifest_raw(&target, content.clone(), media_type.clone());
            guarded(&doing, answer).await.map(drop)
        };
        self.retries.run(put).await
    }

    /// Whether the registry has that content in this repository.
    ///
    /// # Errors
    /// When it does not say.
    pub async fn has(&self, digest: &Digest) -> Result<bool> {
        let doing = format!("ask {} for {digest}", self.full_name());
        let (target, digest) = (self.at("any"), digest.to_string());
        let ask = async || guarded(&doing, self.client.blob_exists(&target, &digest)).await;
        self.retries.run(ask).await
    }

    /// Uploads content. An upload that broke off is begun again from its start.
    ///
    /// # Errors
    /// When the registry does not take it.
    pub async fn put_blob(&self, digest: &Digest, content: Bytes, sent: OnBytes) -> Result<()> {
        let doing = format!("upload {digest} to {}", self.full_name());
        let (target, digest, size) = (self.at("any"), digest.to_string(), content.len() as u64);
        let put = async || {
            let pieces = pieces(content.clone(), Arc::clone(&sent));
            let answer = self.client.push_blob_stream(&target, pieces, &digest, Some(size));
            guarded(&doing, answer).await.map(drop)
        };
        self.retries.run(put).await
    }

    /// Reads content to its end and checks it against its digest; gives its size.
    ///
    /// # Errors
    /// When it is not there, or something else.
    pub async fn check_blob(&self, digest: &Digest, read: OnBytes) -> Result<u64> {
        let doing = format!("read {digest} of {}", self.full_name());
        let target = self.at("any");
        let digest = digest.to_string();
        let check = async || {
            let mut counter = Counter { size: 0, read: Arc::clone(&read) };
            let answer = self.client.pull_blob(&target, digest.as_str(), &mut counter);
            guarded(&doing, answer).await.map(|()| counter.size)
        };
        self.retries.run(check).await
    }

    /// Content, checked against its digest.
    ///
    /// # Errors
    /// When it is not there, or something else.
    pub async fn blob(&self, digest: &Digest) -> Result<Vec<u8>> {
        let doing = format!("read {digest} of {}", self.full_name());
        let (target, digest) = (self.at("any"), digest.to_string());
        let read = async || {
            let mut content = Vec::new();
            let answer = self.client.pull_blob(&target, digest.as_str(), &mut content);
            guarded(&doing, answer).await.map(|()| content)
        };
        self.retries.run(read).await
    }

    /// What the registry lists as referring to the manifest of that digest: by its referrers API, or
    /// by the tag that stands in for it where it has none.
    ///
    /// # Errors
    /// When it does not say.
    pub async fn referrers(&self, subject: &Digest) -> Result<Vec<Digest>> {
        let doing = format!("list what refers to {subject} in {}", self.full_name());
        let target = self.by_digest(subject);
        let list = async || guarded(&doing, self.client.pull_referrers(&target, None)).await;
        let found = self.retries.run(list).await?.manifests;
        Ok(found.iter().filter_map(|it| it.digest.parse().ok()).collect())
    }

    fn at(&self, at: &str) -> Target {
        Target::with_tag(self.endpoint.authority().into(), self.name.clone(), at.to_owned())
    }

    fn by_digest(&self, digest: &Digest) -> Target {
        let digest = digest.to_string();
        Target::with_digest(self.endpoint.authority().into(), self.name.clone(), digest)
    }

    /// `REGISTRY/REPOSITORY:TAG`, or with `@` and a digest.
    pub fn named(&self, at: &str) -> String {
        let separator = if at.contains(':') { '@' } else { ':' };
        format!("{}{separator}{at}", self.full_name())
    }
}

/// Gives clients the workspace's one cryptography; they bring none of their own.
pub(crate) fn install_cryptography() {
    static PROVIDER: Once = Once::new();
    // An error means that somebody installed one before, which serves as well.
    PROVIDER.call_once(|| drop(rustls::crypto::ring::default_provider().install_default()));
}

/// The client for a registry.
fn client(endpoint: &Endpoint) -> Result<Client> {
    install_cryptography();
    let plain = endpoint.is_plain();
    // A registry without TLS is near; no proxy of the environment's may come between.
    let (http_proxy, no_proxy) = if plain {
        (Some("http://127.0.0.1:9".to_owned()), Some("*,0.0.0.0/0,::/0".to_owned()))
    } else {
        (None, None)
    };
    let config = ClientConfig {
        protocol: if plain { ClientProtocol::Http } else { ClientProtocol::Https },
        // One request for all of a blob: every registry takes it, and nothing is there by halves.
        use_monolithic_push: true,
        connect_timeout: Some(CONNECT),
        read_timeout: Some(READ),
        user_agent: concat!("loadmaster-xtask/", env!("CARGO_PKG_VERSION")),
        http_proxy,
        no_proxy,
        ..ClientConfig::default()
    };
    let client = std::panic::catch_unwind(AssertUnwindSafe(|| Client::try_from(config)));
    let cause = match client {
        Ok(Ok(client)) => return Ok(client),
        Ok(Err(error)) => fault::root(&error),
        Err(_) => "TLS does not start".to_owned(),
    };
    let advice = "`apt-get install ca-certificates` installs those that are missing";
    let doing = format!("prepare for speaking to {endpoint}");
    Err(Fault::new(doing, Kind::Here(format!("{cause}; {advice}"))))
}

/// Awaits the client's answer; what it panics on becomes a fault.
async fn guarded<T>(
    doing: &str,
    answer: impl Future<Output = std::result::Result<T, OciDistributionError>>,
) -> Result<T> {
    let kind = match AssertUnwindSafe(answer).catch_unwind().await {
        Ok(Ok(answer)) => return Ok(answer),
        Ok(Err(error)) => Kind::from(error),
        Err(_) => Kind::Odd("something that the client gives up on".to_owned()),
    };
    Err(Fault::new(doing, kind))
}

/// The content in pieces; as each is taken, the number of bytes before and in it is told.
fn pieces(
    content: Bytes,
    sent: OnBytes,
) -> impl futures::Stream<Item = std::result::Result<Bytes, OciDistributionError>> + Send {
    let size = content.len();
    stream::iter((0..size).step_by(PIECE)).map(move |begin| {
        let end = size.min(begin + PIECE);
        sent(end as u64);
        Ok(content.slice(begin..end))
    })
}

/// Takes everything and keeps how much that was.
struct Counter {
    size: u64,
    read: OnBytes,
}

impl AsyncWrite for Counter {
    fn poll_write(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<std::io::Result<usize>> {
        let this = self.get_mut();
        this.size += bytes.len() as u64;
        (this.read)(this.size);
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use crate::scripted::{Faults, Scripted};

    #[tokio::test]
    async fn tags_are_listed_to_the_last_page_whether_the_registry_has_pages_or_not() {
        for (no_pages, requests) in [(false, 3), (true, 2)] {
            let registry = Scripted::start(Faults { no_pages, ..Faults::default() }).await;
            registry.fill(2 * super::PAGE + 1);
            let tags = registry.repository().tags().await.unwrap();
            assert_eq!(tags, registry.tags());
            let pages = registry.log().into_iter().filter(|it| it.contains("tags/list"));
            assert_eq!(pages.count(), requests);
        }
    }
}
