//! Fetching what a polled feed says: JSON by HTTP, no longer than is allowed.

use futures::AsyncReadExt;
use http::{Uri, uri::InvalidUri};
use serde_json::Value;

use crate::rest::{CallError, Rest, chain, open};

/// Fetches one source.
#[derive(Clone)]
pub struct Fetcher {
    client: kube::Client,
    path: String,
    max_bytes: usize,
}

impl std::fmt::Debug for Fetcher {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Fetcher({})", self.path)
    }
}

/// A source that cannot be asked at all.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{url:?} is no source of a feed: {message}. Write http://HOST/PATH, https://HOST/PATH, or \
     /PATH for a path of the API server"
)]
pub struct SourceError {
    /// What was given.
    pub url: String,
    /// What is wrong.
    pub message: String,
}

impl Fetcher {
    /// Fetches `url`; where that is a path, from the API server of `rest`, as the scheduler itself.
    /// No credentials are sent anywhere else.
    ///
    /// # Errors
    /// [`SourceError`] says what is wrong with `url`.
    pub fn new(rest: &Rest, url: &str, max_bytes: usize) -> Result<Self, SourceError> {
        let (path, base) = parse(url)?;
        let client = match base {
            None => rest.client().clone(),
            Some(base) => {
                let mut config = kube::Config::new(base);
                // It is asked again anyway.
                config.default_retry = false;
                let wrong = |error| SourceError { url: url.to_owned(), message: chain(&error) };
                kube::Client::try_from(config).map_err(wrong)?
            }
        };
        Ok(Self { client, path, max_bytes })
    }

    /// What the source says now. How long that takes is the caller's to bound.
    ///
    /// # Errors
    /// [`CallError`]; too much, and what is no JSON, is [`CallError::Unreadable`].
    pub async fn fetch(&self) -> Result<Value, CallError> {
        let stream = open(&self.client, &self.path).await?;
        let mut body = Vec::new();
        let limit = u64::try_from(self.max_bytes).unwrap_or(u64::MAX).saturating_add(1);
        let read = stream.take(limit).read_to_end(&mut body).await;
        read.map_err(|error| CallError::Transport(chain(&error)))?;
        if body.len() > self.max_bytes {
            return Err(CallError::Unreadable(format!("more than {} bytes", self.max_bytes)));
        }
        serde_json::from_slice(&body).map_err(|error| CallError::Unreadable(error.to_string()))
    }
}

/// Whether `url` can be a source.
///
/// # Errors
/// [`SourceError`] says why not.
pub fn check(url: &str) -> Result<(), SourceError> {
    parse(url).map(drop)
}

/// The path to ask for and the server to ask; `None` is the API server.
fn parse(url: &str) -> Result<(String, Option<Uri>), SourceError> {
    let wrong = |message: String| SourceError { url: url.to_owned(), message };
    let parsed: Uri = url.parse().map_err(|error: InvalidUri| wrong(error.to_string()))?;
    let path = parsed.path_and_query().map_or("/", |it| it.as_str()).to_owned();
    match (parsed.scheme_str(), parsed.authority()) {
        (None, None) if url.starts_with('/') => Ok((path, None)),
        (Some(scheme @ ("http" | "https")), Some(authority)) => {
            let base = format!("{scheme}://{authority}").parse();
            Ok((path, Some(base.map_err(|error: InvalidUri| wrong(error.to_string()))?)))
        }
        _ => Err(wrong("it has another scheme, or none".to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::test_server::{Reply, TestServer, refusal};

    #[tokio::test]
    async fn a_path_is_asked_of_the_api_server_and_an_address_of_whoever_has_it() {
        let replies = || vec![Reply::Json(200, json!({"a": 1}))];
        let mut api = TestServer::start(replies()).await;
        let mut other = TestServer::start(replies()).await;
        let path = "/apis/metrics.k8s.io/v1beta1/nodes?limit=5";
        let fetched = Fetcher::new(&api.rest(), path, 100).unwrap().fetch().await.unwrap();
        assert_eq!((fetched, api.asked().await.line), (json!({"a": 1}), format!("GET {path}")));
        let url = format!("{}/load.json", other.url());
        Fetcher::new(&api.rest(), &url, 100).unwrap().fetch().await.unwrap();
        assert_eq!(other.asked().await.line, "GET /load.json");
    }

    #[tokio::test]
    async fn what_is_too_long_or_refused_or_no_source_is_an_error_that_says_so() {
        let replies = vec![Reply::Json(200, json!("x".repeat(99))), refusal(503, "Down")];
        let server = TestServer::start(replies).await;
        let fetcher = Fetcher::new(&server.rest(), "/x", 100).unwrap();
        let error = fetcher.fetch().await.unwrap_err().to_string();
        assert!(error.contains("more than 100 bytes"), "{error}");
        assert_eq!(fetcher.fetch().await.unwrap_err().code(), Some(503));
        for url in ["ftp://host/x", "host/x", ""] {
            assert!(Fetcher::new(&server.rest(), url, 100).is_err(), "{url:?}");
        }
    }
}
