//! The task that watches one kind.

use std::{sync::Arc, time::Duration};

use futures::{AsyncBufRead, AsyncBufReadExt};
use http::{Method, StatusCode};
use serde_json::value::RawValue;
use tokio::{
    sync::mpsc,
    time::{Instant, timeout},
};

use super::{
    Told, WatchOptions,
    backoff::Backoff,
    line::{Line, Mark, Page, Refused},
    link::Link,
    mirror::{Known, Mirror},
    subject::Subject,
};
use crate::rest::{CallError, JSON, Rest, encoded};

/// Watches one kind of object.
pub(super) struct Watch {
    rest: Rest,
    subject: Subject,
    options: WatchOptions,
    tell: mpsc::Sender<Told>,
    mirror: Mirror,
    /// Where to go on from; empty when everything must be listed.
    version: String,
    /// Whether the server is asked to stream lists.
    streams: bool,
    /// Whether what was told is up to date, as far as anybody knows.
    synced: bool,
    /// When it was last said that all of that is true.
    confirmed: Option<Instant>,
    backoff: Backoff,
    link: Arc<Link>,
}

/// Why a session ended.
enum End {
    /// Nobody reads any more.
    Unread,
    /// The server ended it, or was silent for too long: go on from where it ended.
    Resume,
    /// The place to go on from is forgotten: list again.
    Forgotten,
    /// The server does not stream lists.
    NoStreams,
    /// The connection broke.
    Broken(String),
    /// A fault.
    Fault(CallError),
}

impl From<CallError> for End {
    fn from(error: CallError) -> Self {
        if error.is(StatusCode::GONE) { Self::Forgotten } else { Self::Fault(error) }
    }
}

/// Lists and the beginnings of watches are waited for this long.
const OPEN_LIMIT: Duration = Duration::from_mins(1);
/// A watch that has lasted so long, or has said anything, works.
const SETTLED_AFTER: Duration = Duration::from_secs(1);
/// A kind that the server does not serve is asked for again after this long.
const REFUSED_PAUSE: Duration = Duration::from_secs(30);
/// While a fault lasts, every so many tries are worth a line in the log.
const TRIES_PER_LINE: u32 = 10;

impl Watch {
    pub(super) fn new(
        rest: Rest,
        subject: Subject,
        options: WatchOptions,
        tell: mpsc::Sender<Told>,
        link: Arc<Link>,
        known: Known,
    ) -> Self {
        let backoff = Backoff::new(options.first_pause, options.longest_pause);
        let streams = options.streaming_lists;
        let (mirror, version) = (Mirror::of(known), String::new());
        let (synced, confirmed) = (false, None);
        Self {
            rest,
            subject,
            options,
            tell,
            mirror,
            version,
            streams,
            synced,
            confirmed,
            backoff,
            link,
        }
    }

    pub(super) async fn run(mut self) {
        loop {
            let pause = match self.session().await {
                End::Unread => return,
                End::Resume => continue,
                End::NoStreams => {
                    tracing::debug!(
                        kind = self.subject.plural(),
                        "the server does not stream lists"
                    );
                    self.streams = false;
                    continue;
                }
                End::Forgotten => {
                    tracing::debug!(
                        kind = self.subject.plural(),
                        "the watch lags behind; listing again"
                    );
                    self.version.clear();
                    // A server that forgets at once is not to be asked without end.
                    self.backoff.fault()
                }
                End::Broken(error) => {
                    tracing::debug!(kind = self.subject.plural(), error, "the watch broke");
                    self.backoff.fault()
                }
                End::Fault(error) => self.report(&error).await,
            };
            if self.interrupted().await.is_err() {
                return;
            }
            let unread = self.tell.clone();
            tokio::select! {
                () = tokio::time::sleep(pause) => {}
                () = unread.closed() => return,
            }
        }
    }

    /// Lists if need be, then watches until that ends.
    async fn session(&mut self) -> End {
        let listing = self.version.is_empty();
        let result = if listing && self.streams {
            self.mirror.begin_list();
            self.watch(true).await
        } else if listing {
            match self.list().await {
                Ok(()) => self.watch(false).await,
                Err(end) => Err(end),
            }
        } else {
            self.watch(false).await
        };
        match result {
            Ok(()) => End::Resume,
            Err(end) => end,
        }
    }

    /// Lists page by page.
    async fn list(&mut self) -> Result<(), End> {
        self.mirror.begin_list();
        let rest = self.rest.with_limit(OPEN_LIMIT);
        let (base, query) = (self.subject.path(), self.subject.query());
        let mut limit = self.options.page_size;
        let mut more = String::new();
        loop {
            let path = match &*more {
                "" => format!("{base}?limit={limit}{query}"),
                more => format!("{base}?limit={limit}{query}&continue={}", encoded(more)),
            };
            let body = match rest.call(Method::GET, &path, JSON, None).await {
                Ok(body) => body,
                // The list took so long that its rest is forgotten: all at once, then.
                Err(error) if error.is(StatusCode::GONE) && !more.is_empty() => {
                    (limit, more) = (0, String::new());
                    // What the pages named may be gone by now.
                    self.mirror.begin_list();
                    continue;
                }
                Err(error) => return Err(error.into()),
            };
            let page: Page<'_> = serde_json::from_slice(&body)
                .map_err(|error| CallError::Unreadable(error.to_string()))?;
            for item in page.items.unwrap_or_default() {
                self.apply(item, true).await?;
            }
            more = page.metadata.more;
            if more.is_empty() {
                self.version = page.metadata.resource_version;
                return self.listed().await;
            }
        }
    }

    /// The list is complete.
    async fn listed(&mut self) -> Result<(), End> {
        for change in self.mirror.end_list() {
            self.say(self.subject.change(change)).await?;
        }
        self.up_to_date().await
    }

    /// All is well, and everything has been told.
    async fn up_to_date(&mut self) -> Result<(), End> {
        self.well();
        if let Some(confirmed) = self.subject.confirmed(&mut self.confirmed) {
            self.say(confirmed).await?;
        }
        if !std::mem::replace(&mut self.synced, true)
            && let Some(synced) = self.subject.synced()
        {
            self.say(synced).await?;
        }
        Ok(())
    }

    /// Nothing is heard for now. With nodes or pods out of date no decision is worth much.
    async fn interrupted(&mut self) -> Result<(), End> {
        if let Some(stale) = self.subject.stale()
            && std::mem::take(&mut self.synced)
        {
            self.say(stale).await?;
        }
        Ok(())
    }

    /// Watches until the stream ends. `listing` asks for what there is first.
    async fn watch(&mut self, mut listing: bool) -> Result<(), End> {
        let mut lines = match self.open(listing).await {
            Ok(lines) => lines,
            Err(CallError::Answer { code: 400 | 422, .. }) if listing => {
                return Err(End::NoStreams);
            }
            Err(error) => return Err(error.into()),
        };
        let mut line = Vec::new();
        // A server that takes a connection and drops it at once is no better than none.
        let mut settled = false;
        loop {
            let limit = if settled { self.options.silence_limit } else { SETTLED_AFTER };
            let read = lines.read_until(b'\n', &mut line);
            match timeout(limit, read).await {
                // What has been read of the line so far stays in it.
                Err(_) if !settled => {
                    settled = true;
                    if !listing {
                        self.up_to_date().await?;
                    }
                    continue;
                }
                Err(_) if listing => return Err(End::NoStreams),
                Err(_) | Ok(Ok(0)) if settled && !listing => return Ok(()),
                Ok(Err(error)) => {
                    return Err(End::Broken(error.to_string()));
                }
                Err(_) | Ok(Ok(0)) => {
                    return Err(End::Broken("it ended before anything was said".to_owned()));
                }
                Ok(Ok(_)) => {}
            }
            settled = true;
            let said: Result<Line<'_>, _> = serde_json::from_slice(&line);
            let said = said.map_err(|_| End::Broken("it ended within a line".to_owned()))?;
            listing = self.take(&said, listing).await?;
            if !listing {
                self.up_to_date().await?;
            }
            line.clear();
        }
    }

    /// Takes in one line; whether the list is still incomplete.
    async fn take(&mut self, line: &Line<'_>, listing: bool) -> Result<bool, End> {
        match &*line.kind {
            "ADDED" | "MODIFIED" => {
                let version = self.apply(line.object, listing).await?;
                self.advance(version, listing);
            }
            "DELETED" => {
                let version = match self.subject.decode(line.object.get()) {
                    Ok(object) => {
                        let version = object.metadata().resource_version.to_string();
                        if !listing && is_reached(&version, &self.version) {
                            return Ok(listing);
                        }
                        if let Some(change) = self.mirror.delete(object) {
                            self.say(self.subject.change(change)).await?;
                        }
                        version
                    }
                    Err(error) => {
                        let mark = self.unreadable(line.object, &error);
                        if let Some(change) = self.mirror.delete_by_key(&mark.key()) {
                            self.say(self.subject.change(change)).await?;
                        }
                        mark.version()
                    }
                };
                self.advance(version, listing);
            }
            "BOOKMARK" => {
                let mark = Mark::read(line.object);
                let ends_list = mark.ends_list();
                self.advance(mark.version(), listing && !ends_list);
                if listing && ends_list {
                    self.listed().await?;
                    return Ok(false);
                }
            }
            "ERROR" => {
                let refused: Refused = serde_json::from_str(line.object.get()).unwrap_or_default();
                let Refused { code, reason, message } = refused;
                return Err(CallError::Answer { code, reason, message, retry_after: None }.into());
            }
            other => {
                tracing::warn!(kind = self.subject.plural(), event = other, "unknown watch event");
            }
        }
        Ok(listing)
    }

    /// Notes where to go on from. While a list is incomplete there is no such place.
    fn advance(&mut self, version: String, listing: bool) {
        if !listing && !version.is_empty() && !is_reached(&version, &self.version) {
            self.version = version;
        }
    }

    /// Tells of an object as it is now; its version. What comes after the list and is older than
    /// what was heard before is repeated by a server that lags behind, and would be a step back.
    async fn apply(&mut self, object: &RawValue, listing: bool) -> Result<String, End> {
        match self.subject.decode(object.get()) {
            Ok(object) => {
                let version = object.metadata().resource_version.to_string();
                if !listing && is_reached(&version, &self.version) {
                    return Ok(version);
                }
                for change in self.mirror.apply(object) {
                    self.say(self.subject.change(change)).await?;
                }
                Ok(version)
            }
            Err(error) => Ok(self.unreadable(object, &error).version()),
        }
    }

    /// An object cannot be read: whoever runs the cluster is told, and all else goes on.
    fn unreadable(&self, object: &RawValue, error: &serde_json::Error) -> Mark {
        let mark = Mark::read(object);
        let (kind, key) = (self.subject.plural(), mark.key());
        tracing::warn!(kind, %key, %error, "an object cannot be read and is left out");
        mark
    }

    async fn open(&self, listing: bool) -> Result<impl AsyncBufRead + Unpin + use<>, CallError> {
        let start = if listing {
            "sendInitialEvents=true&resourceVersionMatch=NotOlderThan".to_owned()
        } else {
            format!("resourceVersion={}", encoded(&self.version))
        };
        let path = format!(
            "{}?watch=true&allowWatchBookmarks=true&timeoutSeconds={}&{start}{}",
            self.subject.path(),
            self.options.lifetime.as_secs(),
            self.subject.query(),
        );
        self.rest.with_limit(OPEN_LIMIT).open(&path).await
    }

    async fn say(&self, told: Told) -> Result<(), End> {
        self.tell.send(told).await.map_err(|_| End::Unread)
    }

    /// All is well; said when it was not.
    fn well(&mut self) {
        if self.backoff.well() > 0 {
            tracing::debug!(kind = self.subject.plural(), "all is well again");
        }
        self.link.back();
    }

    /// Says what is wrong, now and then; how long to pause.
    async fn report(&mut self, error: &CallError) -> Duration {
        let kind = self.subject.qualified();
        let tries = self.backoff.faults() + 1;
        let pause = self.backoff.fault();
        let loud = tries == 1 || tries.is_multiple_of(TRIES_PER_LINE);
        match error.code() {
            // A kind that is not served has no objects, and nothing is to wait for them.
            Some(404) if self.mirror.is_empty() && !self.subject.is_vital() => {
                if loud {
                    let version = self.subject.api_version();
                    tracing::warn!(kind, version, "not served here; plugins see none of it");
                }
                if !std::mem::replace(&mut self.synced, true)
                    && let Some(synced) = self.subject.synced()
                {
                    // Whoever reads no more is noticed while pausing.
                    let _ = self.say(synced).await;
                }
                return REFUSED_PAUSE;
            }
            Some(403) if loud => {
                tracing::error!(
                    kind,
                    %error,
                    "no permission; pods wait until a role grants the verbs list and watch"
                );
            }
            None if tries < TRIES_PER_LINE => self.link.lost(error),
            _ if loud => tracing::warn!(kind, %error, tries, "cannot list or watch; trying again"),
            _ => tracing::debug!(kind, %error, tries, "cannot list or watch; trying again"),
        }
        // A server that was set back, to a backup for one, never reaches that version: it answers
        // with 504 (upstream: `NewTooLargeResourceVersionError`).
        if matches!(error, CallError::Unreadable(_)) || error.is(StatusCode::GATEWAY_TIMEOUT) {
            self.version.clear();
        }
        match error {
            CallError::Answer { retry_after: Some(asked), .. } => pause.max(*asked),
            _ => pause,
        }
    }
}

/// Whether `version` is `reached` or older. Versions of one kind are compared where both are numbers,
/// as those of every server are that stores by itself (KEP-5504).
fn is_reached(version: &str, reached: &str) -> bool {
    match (version.parse::<u128>(), reached.parse::<u128>()) {
        (Ok(version), Ok(reached)) => version <= reached,
        _ => false,
    }
}
