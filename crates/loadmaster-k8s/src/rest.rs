//! One call to the API server, and what can go wrong with it.

use std::{
    fmt::Write as _,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use futures::{AsyncBufRead, TryStreamExt};
use http::{HeaderMap, Method, Request, StatusCode, header};
use http_body_util::BodyExt;
use kube::client::Body;
use serde::Deserialize;
use serde_json::Value;
use tokio::time::{Instant, sleep_until};

use crate::leader::{Fence, NotLeading};

/// Why a call came to nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CallError {
    /// The server answered with an error.
    #[error("{message} ({code} {reason})")]
    Answer {
        /// The HTTP status code.
        code: u16,
        /// The API's word for it (`NotFound`), or HTTP's.
        reason: String,
        /// The server's sentence.
        message: String,
        /// How long the server asks to be left alone.
        retry_after: Option<Duration>,
    },
    /// No answer in time; the server may have done it all the same.
    #[error("no answer within {} s", .0.as_secs())]
    TimedOut(Duration),
    /// The connection failed; the server may have done it all the same.
    #[error("{0}")]
    Transport(String),
    /// This scheduler did not lead when the call was to begin, or does not lead any more; in the
    /// latter case the server may have done it all the same.
    #[error("the call was given up: {0}")]
    NotLeading(#[from] NotLeading),
    /// The answer could not be read.
    #[error("the answer cannot be read: {0}")]
    Unreadable(String),
}

impl CallError {
    /// The HTTP status code, where the server answered.
    pub fn code(&self) -> Option<u16> {
        if let Self::Answer { code, .. } = self { Some(*code) } else { None }
    }

    pub(crate) fn is(&self, status: StatusCode) -> bool {
        self.code() == Some(status.as_u16())
    }
}

impl From<kube::Error> for CallError {
    fn from(error: kube::Error) -> Self {
        match error {
            kube::Error::Service(error) => Self::Transport(chain(&*error)),
            kube::Error::HyperError(error) => Self::Transport(chain(&error)),
            other => Self::Transport(chain(&other)),
        }
    }
}

/// An error with its causes, each said once.
pub(crate) fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(it) = source {
        let more = it.to_string();
        if !text.contains(&more) {
            text = format!("{text}: {more}");
        }
        source = it.source();
    }
    text
}

/// A client for calls whose answers are short, each of which ends in time.
#[derive(Clone)]
pub struct Rest {
    client: kube::Client,
    limit: Duration,
    fence: Option<Fence>,
    rate: Option<Arc<Rate>>,
    observer: Option<Arc<dyn CallObserver>>,
}

/// Hears of every call that was made.
pub trait CallObserver: Send + Sync {
    /// A call was answered with the HTTP status `code`, or with nothing that could be read.
    fn answered(&self, method: &Method, code: Option<u16>, took: Duration);

    /// A stream was opened by `GET`, or was not, with the same meaning of `code`.
    fn opened(&self, code: Option<u16>);
}

impl std::fmt::Debug for Rest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Rest(limit {} s)", self.limit.as_secs())
    }
}

/// A 429 is waited out at most this often; the server has done nothing yet when it answers so.
const PATIENCE_WITH_429: u32 = 5;
/// What is waited where the server names no time.
const PAUSE_AFTER_429: Duration = Duration::from_secs(1);
/// No server is obeyed that asks to be left alone for longer.
const PAUSE_MAX: Duration = Duration::from_secs(30);

impl Rest {
    /// Calls by `client`, each of which may take `limit`.
    pub fn new(client: kube::Client, limit: Duration) -> Self {
        Self { client, limit, fence: None, rate: None, observer: None }
    }

    /// Opens a stream (`GET`) and returns what comes of it. Only its beginning must come in time.
    ///
    /// # Errors
    /// [`CallError`].
    pub(crate) async fn open(
        &self,
        path: &str,
    ) -> Result<impl AsyncBufRead + Unpin + use<>, CallError> {
        if let Some(rate) = &self.rate {
            rate.turn().await;
        }
        let opened = tokio::time::timeout(self.limit, open(&self.client, path)).await;
        let opened = opened.unwrap_or(Err(CallError::TimedOut(self.limit)));
        if let Some(observer) = &self.observer {
            let ok = StatusCode::OK.as_u16();
            observer.opened(opened.as_ref().map_or_else(CallError::code, |_| Some(ok)));
        }
        opened
    }

    pub(crate) fn client(&self) -> &kube::Client {
        &self.client
    }

    /// The same client with another limit.
    #[must_use]
    pub fn with_limit(&self, limit: Duration) -> Self {
        Self { limit, ..self.clone() }
    }

    /// The same client, of whose calls `observer` hears.
    #[must_use]
    pub fn with_observer(&self, observer: Arc<dyn CallObserver>) -> Self {
        Self { observer: Some(observer), ..self.clone() }
    }

    /// The same client, whose calls that change anything are made only while this scheduler leads.
    #[must_use]
    pub fn with_fence(&self, fence: Option<Fence>) -> Self {
        Self { fence, ..self.clone() }
    }

    /// The same client with a bound on how often it calls, in common with its clones: `qps` calls a
    /// second in the long run, `burst` at once. Not above 0 is no bound, as upstream.
    #[must_use]
    pub fn with_rate(&self, qps: f32, burst: u32) -> Self {
        Self { rate: (qps > 0.0).then(|| Arc::new(Rate::new(qps, burst))), ..self.clone() }
    }

    /// Makes a call and returns the answer's body. A call that the server is too busy for (429) is
    /// made again when the server says so.
    ///
    /// # Errors
    /// [`CallError`].
    pub async fn call(
        &self,
        method: Method,
        path: &str,
        content_type: &'static str,
        body: Option<&Value>,
    ) -> Result<Vec<u8>, CallError> {
        let body = body.map(Value::to_string).unwrap_or_default().into_bytes();
        let changes = method != Method::GET;
        let call = self.until_answered(method, path, content_type, body);
        if changes { self.while_leading(call).await? } else { call.await }
    }

    /// Runs what changes something, for as long as this scheduler leads.
    ///
    /// # Errors
    /// [`CallError::NotLeading`].
    pub(crate) async fn while_leading<T>(
        &self,
        call: impl Future<Output = T>,
    ) -> Result<T, CallError> {
        match &self.fence {
            Some(fence) => Ok(fence.guard(call).await?),
            None => Ok(call.await),
        }
    }

    async fn until_answered(
        &self,
        method: Method,
        path: &str,
        content_type: &'static str,
        body: Vec<u8>,
    ) -> Result<Vec<u8>, CallError> {
        let mut busy = 0;
        loop {
            if let Some(rate) = &self.rate {
                rate.turn().await;
            }
            match self.try_once(&method, path, content_type, &body).await {
                Err(CallError::Answer { code: 429, retry_after, .. })
                    if busy < PATIENCE_WITH_429 =>
                {
                    busy += 1;
                    let pause = retry_after.unwrap_or(PAUSE_AFTER_429);
                    tokio::time::sleep(pause).await;
                }
                result => return result,
            }
        }
    }

    fn observe(&self, method: &Method, began: Instant, status: Option<StatusCode>) {
        if let Some(observer) = &self.observer {
            observer.answered(method, status.map(|it| it.as_u16()), began.elapsed());
        }
    }

    async fn try_once(
        &self,
        method: &Method,
        path: &str,
        content_type: &'static str,
        body: &[u8],
    ) -> Result<Vec<u8>, CallError> {
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header(header::ACCEPT, JSON)
            .header(header::CONTENT_TYPE, content_type)
            .body(Body::from(body.to_vec()))
            .map_err(|error| CallError::Transport(error.to_string()))?;
        let answer = async {
            let (head, body) = self.client.send(request).await?.into_parts();
            Ok::<_, kube::Error>((head, body.collect_bytes().await?))
        };
        let (limit, began) = (self.limit, Instant::now());
        let answer = tokio::time::timeout(limit, answer).await;
        let status = answer.as_ref().ok().and_then(|it| it.as_ref().ok()).map(|it| it.0.status);
        self.observe(method, began, status);
        let (head, body) = answer.map_err(|_| CallError::TimedOut(limit))??;
        if head.status.is_success() {
            return Ok(body.to_vec());
        }
        Err(refusal(head.status, &body, retry_after(&head.headers)))
    }

    /// `GET`, decoded.
    ///
    /// # Errors
    /// [`CallError`].
    pub async fn get<T: for<'de> Deserialize<'de>>(&self, path: &str) -> Result<T, CallError> {
        let body = self.call(Method::GET, path, JSON, None).await?;
        serde_json::from_slice(&body).map_err(|error| CallError::Unreadable(error.to_string()))
    }
}

/// A rate below one call a day is one a day: moments so far off cannot be told any more.
const INTERVAL_MAX: Duration = Duration::from_hours(24);

/// Asks for a stream and returns what comes of it, once the server has agreed.
pub(crate) async fn open(
    client: &kube::Client,
    path: &str,
) -> Result<impl AsyncBufRead + Unpin + use<>, CallError> {
    let request = Request::get(path)
        .header(header::ACCEPT, JSON)
        // A stream that is compressed event by event is more than the client can unpack.
        .header(header::ACCEPT_ENCODING, "identity")
        .body(Body::empty())
        .map_err(|error| CallError::Transport(error.to_string()))?;
    let (head, body) = client.send(request).await?.into_parts();
    if !head.status.is_success() {
        let said = body.collect_bytes().await?;
        return Err(refusal(head.status, &said, retry_after(&head.headers)));
    }
    Ok(Box::pin(body.into_data_stream().map_err(std::io::Error::other).into_async_read()))
}

/// How long the server asks to be left alone, as far as it is obeyed.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let seconds = headers.get(header::RETRY_AFTER)?.to_str().ok()?.parse().ok()?;
    Some(Duration::from_secs(seconds).min(PAUSE_MAX))
}

/// How often calls may be made (client-go: `flowcontrol`). Turns are given out in order.
#[derive(Debug)]
struct Rate {
    interval: Duration,
    burst: u32,
    /// When the turns given out so far would be over at an even pace.
    paid: Mutex<Option<Instant>>,
}

impl Rate {
    fn new(qps: f32, burst: u32) -> Self {
        let interval = Duration::try_from_secs_f64(1.0 / f64::from(qps));
        let interval = interval.unwrap_or(INTERVAL_MAX).min(INTERVAL_MAX);
        Self { interval, burst: burst.max(1), paid: Mutex::new(None) }
    }

    /// Waits for a turn.
    async fn turn(&self) {
        let now = Instant::now();
        let turn = {
            let mut paid = self.paid.lock().unwrap_or_else(PoisonError::into_inner);
            let over = paid.unwrap_or(now).max(now) + self.interval;
            *paid = Some(over);
            over
        };
        let credit = self.interval * self.burst;
        if let Some(begin) = turn.checked_sub(credit).filter(|it| *it > now) {
            sleep_until(begin).await;
        }
    }
}

/// A text as part of a query.
pub(crate) fn encoded(text: &str) -> String {
    let plain = |it: u8| it.is_ascii_alphanumeric() || b"-._~".contains(&it);
    text.bytes().fold(String::new(), |mut out, byte| {
        if plain(byte) {
            out.push(char::from(byte));
        } else {
            let _ = write!(out, "%{byte:02X}");
        }
        out
    })
}

pub(crate) const JSON: &str = "application/json";
pub(crate) const STRATEGIC: &str = "application/strategic-merge-patch+json";
pub(crate) const MERGE: &str = "application/merge-patch+json";

/// The server's refusal: a `Status` where it sent one, else what it said.
fn refusal(status: StatusCode, body: &[u8], retry_after: Option<Duration>) -> CallError {
    #[derive(Deserialize)]
    struct Status {
        kind: String,
        #[serde(default)]
        reason: String,
        #[serde(default)]
        message: String,
    }
    let code = status.as_u16();
    match serde_json::from_slice::<Status>(body) {
        Ok(it) if it.kind == "Status" => {
            CallError::Answer { code, reason: it.reason, message: it.message, retry_after }
        }
        _ => {
            let reason = status.canonical_reason().unwrap_or("error").to_owned();
            let said = String::from_utf8_lossy(body);
            let message = said.lines().next().unwrap_or_default().trim().to_owned();
            CallError::Answer { code, reason, message, retry_after }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_server::{self, Reply, TestServer};

    #[test]
    fn a_refusal_is_told_in_the_servers_words() {
        let body =
            br#"{"kind":"Status","code":404,"reason":"NotFound","message":"pods \"a\" not found"}"#;
        let error = refusal(StatusCode::NOT_FOUND, body, None);
        assert_eq!(error.to_string(), r#"pods "a" not found (404 NotFound)"#);
        assert!(error.is(StatusCode::NOT_FOUND));
    }

    /// What an observer heard.
    #[derive(Default)]
    struct Heard(Mutex<Vec<(String, Option<u16>)>>);

    impl CallObserver for Heard {
        fn answered(&self, method: &Method, code: Option<u16>, _: Duration) {
            self.0.lock().unwrap().push((method.to_string(), code));
        }

        fn opened(&self, code: Option<u16>) {
            self.0.lock().unwrap().push(("a stream".to_owned(), code));
        }
    }

    #[tokio::test]
    async fn an_observer_hears_of_every_call_and_its_status() {
        let replies = vec![
            Reply::Json(201, serde_json::json!({})),
            test_server::refusal(404, "NotFound"),
            Reply::Nothing,
            Reply::Json(200, serde_json::json!({})),
            test_server::refusal(410, "Expired"),
        ];
        let server = TestServer::start(replies).await;
        let heard = Arc::new(Heard::default());
        let rest = server.rest().with_observer(Arc::clone(&heard) as Arc<dyn CallObserver>);
        for method in [Method::POST, Method::GET, Method::DELETE] {
            let _ = rest.call(method, "/x", JSON, None).await;
        }
        for _ in 0..2 {
            let _ = rest.open("/x").await;
        }
        let expected = [
            ("POST", Some(201)),
            ("GET", Some(404)),
            ("DELETE", None),
            ("a stream", Some(200)),
            ("a stream", Some(410)),
        ];
        assert_eq!(*heard.0.lock().unwrap(), expected.map(|(what, code)| (what.to_owned(), code)));
    }

    #[tokio::test(start_paused = true)]
    async fn calls_come_in_a_burst_and_then_at_an_even_pace() {
        let rate = Rate::new(10.0, 3);
        let start = Instant::now();
        let mut begun = Vec::new();
        for _ in 0..5 {
            rate.turn().await;
            begun.push(start.elapsed().as_millis());
        }
        assert_eq!(begun[..3], [0, 0, 0]);
        assert!((100..=101).contains(&begun[3]) && (200..=201).contains(&begun[4]), "{begun:?}");
        // A second of rest is worth a burst again, and no more than that.
        tokio::time::sleep(Duration::from_secs(10)).await;
        let start = Instant::now();
        for _ in 0..4 {
            rate.turn().await;
        }
        assert!((100..=101).contains(&start.elapsed().as_millis()));
    }

    #[tokio::test(start_paused = true)]
    async fn the_lowest_rate_that_can_be_written_still_has_its_burst() {
        let rate = Rate::new(f32::from_bits(1), u32::MAX);
        let start = Instant::now();
        for _ in 0..100 {
            rate.turn().await;
        }
        assert_eq!(start.elapsed(), Duration::ZERO);
        let rate = Rate::new(f32::MIN_POSITIVE, 1);
        rate.turn().await;
        rate.turn().await;
        assert!(start.elapsed() >= INTERVAL_MAX);
    }

    #[test]
    fn a_server_is_left_alone_for_as_long_as_it_asks_but_not_for_longer_than_half_a_minute() {
        let asked = |text: &'static str| {
            retry_after(&HeaderMap::from_iter([(header::RETRY_AFTER, text.parse().unwrap())]))
        };
        assert_eq!(asked("7"), Some(Duration::from_secs(7)));
        assert_eq!(asked("86400"), Some(Duration::from_secs(30)));
        assert_eq!(asked("Wed, 21 Oct 2026 07:28:00 GMT"), None);
    }

    #[test]
    fn a_refusal_that_is_no_status_keeps_its_first_line() {
        let error = refusal(StatusCode::BAD_GATEWAY, b"<html>\n<body>", None);
        assert_eq!(error.to_string(), "<html> (502 Bad Gateway)");
    }
}
