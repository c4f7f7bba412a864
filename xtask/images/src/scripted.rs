//! A registry within a test: the distribution specification in memory, with faults as ordered.

use std::{
    collections::BTreeMap,
    net::SocketAddr,
    sync::{Arc, Mutex, MutexGuard},
    time::Duration,
};

use axum::{
    Router,
    body::{Body, to_bytes},
    extract::{Request, State},
    http::{HeaderMap, Method, StatusCode, header, request::Parts},
    response::{IntoResponse as _, Response},
    serve::Listener,
};
use bytes::Bytes;
use oci_client::secrets::RegistryAuth;
use serde_json::json;
use tokio::net::{TcpListener, TcpStream};

use crate::{
    digest::Digest,
    push::Progress,
    transport::{Endpoint, Fault, OnBytes, Patience, Policy, Repository, Retries, Wait},
};

/// The repository of the tests.
pub(crate) const NAME: &str = "academy/concentrate-scheduler";

/// What goes wrong.
#[derive(Clone, Default)]
pub(crate) struct Faults {
    /// Each connection of that number is dropped before it is read from.
    pub(crate) drop_every: Option<u64>,
    /// Requests whose `METHOD PATH` has this in it are answered so, the given number of times.
    pub(crate) answers: Vec<(&'static str, usize, StatusCode, String)>,
    /// No answer says where something now is.
    pub(crate) no_location: bool,
    /// Answers to requests with this in their path say this digest.
    pub(crate) digest: Option<(&'static str, String)>,
    /// Content with this in its path breaks off in the middle.
    pub(crate) cut: Option<&'static str>,
    /// Who refers to what is listed by the API of version 1.1 of the specification.
    pub(crate) referrers: bool,
    /// All tags are listed at once, whatever is asked for.
    pub(crate) no_pages: bool,
    /// Only those who ask at `/token` as `me:secret` come in, with this token.
    pub(crate) token: Option<&'static str>,
}

/// What the registry has.
#[derive(Default)]
struct Inside {
    faults: Faults,
    blobs: BTreeMap<String, Bytes>,
    /// By tag and by digest, with the media type.
    manifests: BTreeMap<String, (String, Bytes)>,
    log: Vec<String>,
}

/// A registry that runs as long as the test's runtime.
#[derive(Clone)]
pub(crate) struct Scripted {
    inside: Arc<Mutex<Inside>>,
    address: SocketAddr,
}

impl Scripted {
    pub(crate) async fn start(faults: Faults) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let drop_every = faults.drop_every;
        let inside = Arc::new(Mutex::new(Inside { faults, ..Inside::default() }));
        let it = Self { inside, address };
        let app = Router::new().fallback(answer).with_state(it.clone());
        let listener = Dropping { listener, drop_every, count: 0 };
        tokio::spawn(async move { axum::serve(listener, app).await });
        it
    }

    /// A repository of it, for somebody who does not wait between attempts.
    pub(crate) fn repository(&self) -> Repository {
        self.repository_as(RegistryAuth::Anonymous)
    }

    pub(crate) fn repository_as(&self, auth: RegistryAuth) -> Repository {
        repository(self.address, auth)
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Every request so far, as `METHOD PATH`, the repository left out.
    pub(crate) fn log(&self) -> Vec<String> {
        self.inside().log.clone()
    }

    /// What is under a tag or digest.
    pub(crate) fn manifest(&self, at: &str) -> Option<Bytes> {
        self.inside().manifests.get(at).map(|(_, content)| content.clone())
    }

    /// The tags.
    pub(crate) fn tags(&self) -> Vec<String> {
        self.inside().tags()
    }

    /// Puts nothing much under that many tags.
    pub(crate) fn fill(&self, tags: usize) {
        let nothing = (String::new(), Bytes::new());
        let tags = (0..tags).map(|it| (format!("t{it:05}"), nothing.clone()));
        self.inside().manifests.extend(tags);
    }

    /// Changes what is under a digest.
    pub(crate) fn tamper(&self, digest: &Digest, content: Option<&'static [u8]>) {
        let (mut inside, digest) = (self.inside(), digest.to_string());
        let content = content.map(Bytes::from_static);
        let media_type = inside.manifests.get(&digest).map(|(it, _)| it.clone());
        match (content, media_type) {
            (Some(content), Some(it)) => drop(inside.manifests.insert(digest, (it, content))),
            (Some(content), None) => drop(inside.blobs.insert(digest, content)),
            (None, Some(_)) => drop(inside.manifests.remove(&digest)),
            (None, None) => drop(inside.blobs.remove(&digest)),
        }
    }

    /// From now on this goes wrong. Which connections are dropped stays as it was.
    pub(crate) fn order(&self, faults: Faults) {
        self.inside().faults = faults;
    }

    fn respond(&self, parts: &Parts, body: Bytes) -> Response {
        let (method, path) = (&parts.method, parts.uri.path());
        let query = parts.uri.query().unwrap_or_default();
        let short = path.trim_start_matches("/v2/").trim_start_matches(NAME);
        let line = format!("{method} {short}");
        let mut inside = self.inside();
        let ordered = inside.ordered(&line);
        inside.log.push(line);
        let mut response = if let Some(ordered) = ordered {
            ordered
        } else if let Some(stop) = refusal(self, inside.faults.token, path, &parts.headers) {
            stop
        } else if method == Method::PUT && path.contains("/manifests/") {
            let kind = parts.headers[header::CONTENT_TYPE].to_str().unwrap();
            inside.put_manifest(path.rsplit('/').next().unwrap(), kind, &body)
        } else {
            inside.answer(method, path, query, body)
        };
        let made_up = inside.faults.digest.as_ref().filter(|(it, _)| path.contains(it));
        if let Some((_, digest)) = made_up {
            response.headers_mut().insert("docker-content-digest", digest.parse().unwrap());
        }
        // Each request comes by a connection of its own, so that connections can be counted.
        response.headers_mut().insert(header::CONNECTION, "close".parse().unwrap());
        response
    }

    fn inside(&self) -> MutexGuard<'_, Inside> {
        self.inside.lock().unwrap()
    }
}

/// The repository of the tests at a registry, for somebody who does not wait between attempts.
pub(crate) fn repository(address: SocketAddr, auth: RegistryAuth) -> Repository {
    repository_of(Endpoint::new(&address.to_string(), &BTreeMap::new(), &[]), auth)
}

pub(crate) fn repository_of(endpoint: Endpoint, auth: RegistryAuth) -> Repository {
    let retries = Retries::new(Policy::default(), 7, Box::new(Quiet));
    Repository::new(endpoint, NAME, auth, retries).unwrap()
}

impl Inside {
    fn tags(&self) -> Vec<String> {
        self.manifests.keys().filter(|it| !it.contains(':')).cloned().collect()
    }

    /// The tags that a query asks for, unless pages are none of this registry's business.
    fn page(&self, query: &str) -> Vec<String> {
        if self.faults.no_pages {
            return self.tags();
        }
        let field = |name: &str| query.split('&').find_map(|it| it.strip_prefix(name));
        let size = field("n=").map_or(usize::MAX, |it| it.parse().unwrap());
        let last = field("last=").unwrap_or_default();
        self.tags().into_iter().filter(|it| &**it > last).take(size).collect()
    }

    /// The answer that was ordered for a request, if one is left.
    fn ordered(&mut self, request: &str) -> Option<Response> {
        let ordered = self.faults.answers.iter_mut();
        let (_, times, code, body) =
            ordered.into_iter().find(|(what, times, ..)| *times > 0 && request.contains(what))?;
        *times -= 1;
        Some((*code, body.clone()).into_response())
    }

    fn answer(&mut self, method: &Method, path: &str, query: &str, body: Bytes) -> Response {
        let at = path.rsplit('/').next().unwrap_or_default().to_owned();
        let is_read = method == Method::GET || method == Method::HEAD;
        if path == "/v2/" {
            StatusCode::OK.into_response()
        } else if path.ends_with("/tags/list") {
            let tags = self.page(query);
            axum::Json(json!({ "name": NAME, "tags": tags })).into_response()
        } else if path.contains("/referrers/") {
            self.referrers(&at)
        } else if method == Method::POST {
            self.with_location(StatusCode::ACCEPTED, "uploads/1?state=x")
        } else if path.contains("/uploads/") {
            let digest = Digest::of(&body).to_string();
            if !query.contains(&digest.replace(':', "%3A")) {
                return refused(StatusCode::BAD_REQUEST, "DIGEST_INVALID");
            }
            self.blobs.insert(digest.clone(), body);
            self.with_location(StatusCode::CREATED, &digest)
        } else if path.contains("/blobs/") && is_read {
            let found = self.blobs.get(&at).cloned();
            let unknown = || refused(StatusCode::NOT_FOUND, "BLOB_UNKNOWN");
            found.map_or_else(unknown, axum::response::IntoResponse::into_response)
        } else if path.contains("/manifests/") && is_read {
            match self.manifests.get(&at).cloned() {
                Some((kind, it)) => ([(header::CONTENT_TYPE, kind)], it).into_response(),
                None => refused(StatusCode::NOT_FOUND, "MANIFEST_UNKNOWN"),
            }
        } else {
            StatusCode::METHOD_NOT_ALLOWED.into_response()
        }
    }

    fn referrers(&self, subject: &str) -> Response {
        if !self.faults.referrers {
            return StatusCode::NOT_FOUND.into_response();
        }
        let parsed =
            self.manifests.iter().filter(|(at, _)| at.contains(':')).map(|(at, (_, it))| {
                let manifest: serde_json::Value = serde_json::from_slice(it).unwrap();
                (at, it.len(), manifest)
            });
        let found = parsed.filter(|(.., it)| it["subject"]["digest"] == subject);
        let found = found.map(|(digest, size, it)| json!({ "mediaType": it["mediaType"], "digest": digest, "size": size }));
        axum::Json(json!({ "schemaVersion": 2, "manifests": found.collect::<Vec<_>>() }))
            .into_response()
    }

    fn put_manifest(&mut self, at: &str, kind: &str, content: &Bytes) -> Response {
        let digest = Digest::of(content).to_string();
        let parsed: serde_json::Value = serde_json::from_slice(content).unwrap();
        // As real ones do: what a manifest names must be there before it.
        let list = |field: &str| parsed[field].as_array().cloned().unwrap_or_default();
        let named = |it: &serde_json::Value| it["digest"].as_str().unwrap().to_owned();
        let blobs: Vec<String> =
            list("layers").iter().chain(parsed.get("config")).map(named).collect();
        let is_whole = blobs.iter().all(|it| self.blobs.contains_key(it))
            && list("manifests").iter().all(|it| self.manifests.contains_key(&named(it)));
        if !is_whole {
            return refused(StatusCode::NOT_FOUND, "MANIFEST_BLOB_UNKNOWN");
        }
        for at in [at, &digest] {
            self.manifests.insert(at.to_owned(), (kind.to_owned(), content.clone()));
        }
        self.with_location(StatusCode::CREATED, &digest)
    }

    fn with_location(&self, code: StatusCode, tail: &str) -> Response {
        if self.faults.no_location {
            return code.into_response();
        }
        let location = format!("/v2/{NAME}/blobs/{tail}");
        (code, [(header::LOCATION, location)]).into_response()
    }
}

async fn answer(State(it): State<Scripted>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let body = to_bytes(body, usize::MAX).await.unwrap_or_default();
    let cut = it.inside().faults.cut;
    let response = it.respond(&parts, body);
    let is_cut = cut.is_some_and(|it| parts.uri.path().contains(it));
    if is_cut && parts.method == Method::GET { cut_short(response).await } else { response }
}

/// Where a token is wanted, what somebody without one is told, or the token itself.
fn refusal(
    it: &Scripted,
    token: Option<&str>,
    path: &str,
    headers: &HeaderMap,
) -> Option<Response> {
    let token = token?;
    let shown = headers.get(header::AUTHORIZATION).and_then(|it| it.to_str().ok());
    if path == "/token" {
        // `me:secret` in base64.
        let knows = shown == Some("Basic bWU6c2VjcmV0");
        return Some(if knows {
            axum::Json(json!({ "token": token })).into_response()
        } else {
            (StatusCode::UNAUTHORIZED, "who are you?").into_response()
        });
    }
    if shown == Some(&format!("Bearer {token}")) {
        return None;
    }
    let challenge = format!("Bearer realm=\"http://{}/token\",service=\"test\"", it.address);
    Some((StatusCode::UNAUTHORIZED, [(header::WWW_AUTHENTICATE, challenge)]).into_response())
}

fn refused(code: StatusCode, reason: &str) -> Response {
    let body = json!({ "errors": [{ "code": reason, "message": reason.to_lowercase() }] });
    (code, axum::Json(body)).into_response()
}

/// Announces all of a body and sends its first byte.
async fn cut_short(response: Response) -> Response {
    let (parts, body) = response.into_parts();
    let body = to_bytes(body, usize::MAX).await.unwrap();
    let pieces = [Ok(body.slice(..1)), Err(std::io::Error::other("cut"))];
    let pieces = Body::from_stream(futures::stream::iter(pieces));
    let mut response = Response::from_parts(parts, pieces);
    response.headers_mut().insert(header::CONTENT_LENGTH, body.len().into());
    response
}

/// A listener that drops some of the connections that it takes.
struct Dropping {
    listener: TcpListener,
    drop_every: Option<u64>,
    count: u64,
}

impl Listener for Dropping {
    type Io = TcpStream;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (TcpStream, SocketAddr) {
        loop {
            let (stream, address) = Listener::accept(&mut self.listener).await;
            self.count += 1;
            if self.drop_every.is_none_or(|every| !self.count.is_multiple_of(every)) {
                return (stream, address);
            }
        }
    }

    fn local_addr(&self) -> std::io::Result<SocketAddr> {
        self.listener.local_addr()
    }
}

/// Nobody is told, and nobody waits.
pub(crate) struct Quiet;

impl Progress for Quiet {
    fn begin(&self, _: &str, _: u64) -> OnBytes {
        Arc::new(|_| ())
    }

    fn end(&self, _: &str, _: bool) {}
}

impl Patience for Quiet {
    fn wait(&self, _: Duration, _: &Fault) -> Wait {
        Box::pin(async {})
    }
}
