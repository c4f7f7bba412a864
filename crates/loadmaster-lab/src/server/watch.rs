//! Watches: one JSON event a line, until the client or the time is over.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::time::Duration;

use axum::body::Body;
use bytes::Bytes;
use futures::stream;
use jiff::Timestamp;
use serde::Serialize;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::list::{self, include_object, invalid_options, not_a_version};
use super::negotiate::Form;
use super::query::Query;
use super::respond::{self, Answer};
use crate::api::{Api, views};
use crate::resources::Resource;
use crate::selectors::Selector;
use crate::status::{FieldError, Status};
use crate::store::{Change, ChangeKind, Gone, Object, Watch};
use crate::tables::{self, IncludeObject};

/// How often a quiet watch tells its version.
const BOOKMARK_EVERY: Duration = Duration::from_mins(1);
/// How long before its end a watch tells its version a last time.
const BOOKMARK_BEFORE_END: Duration = Duration::from_secs(2);
/// Watches that ask for no end get one between half an hour and an hour.
const SHORTEST_LIFE: u64 = 30 * 60;
/// How many events of the initial state go out in one piece.
const BATCH: usize = 128;

/// Answers a watch; the headers go out at once.
///
/// # Errors
/// 422 for options that do not go together, 500 for a version that is no number.
pub(super) fn watch(
    api: &Api,
    resource: &'static Resource,
    namespace: Option<&str>,
    query: &Query,
    form: Form,
    stop: CancellationToken,
) -> Result<Answer, Status> {
    let start = Start::of(query)?;
    let selector = list::selector(query, resource)?;
    let shape = Shape { resource, form, include: include_object(query), columns_sent: false };
    let mut feed = Feed {
        api: api.clone(),
        shape,
        selector,
        initial: VecDeque::new(),
        end_of_initial: None,
        watch: api.store().watch(resource.collection, namespace, 0),
        bookmarks: query.flag("allowWatchBookmarks").unwrap_or(false),
        next_bookmark: Instant::now() + BOOKMARK_EVERY,
        end: Instant::now() + lifetime(query),
        last_bookmark_sent: false,
        over: false,
        stop,
    };
    feed.begin(start, namespace);
    let lines = stream::unfold(feed, |mut feed| async move {
        let piece = feed.next_piece().await?;
        Some((Ok::<Bytes, Infallible>(piece), feed))
    });
    Ok(respond::stream(200, "application/json", Body::from_stream(lines)))
}

fn lifetime(query: &Query) -> Duration {
    let asked = query.number("timeoutSeconds").and_then(|it| u64::try_from(it).ok());
    let seconds = asked.filter(|it| *it > 0).unwrap_or_else(|| {
        let random = u64::try_from(Uuid::new_v4().as_u128() % u128::from(SHORTEST_LIFE));
        SHORTEST_LIFE + random.unwrap_or(0)
    });
    // A timeout beyond this is as good as none.
    Duration::from_secs(seconds.min(365 * 24 * 3600))
}

/// Where a watch begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Start {
    /// With the state, told as additions; at its end a bookmark, if so.
    State { told: bool },
    /// With the next change.
    Now,
    /// After a version.
    After(u64),
}

impl Start {
    fn of(query: &Query) -> Result<Self, Status> {
        let matching = query.get("resourceVersionMatch");
        let initial = query.flag("sendInitialEvents");
        let forbidden = |detail: &str| {
            Err(invalid_options(FieldError::forbidden("resourceVersionMatch", detail)))
        };
        if initial.is_some() && matching != "NotOlderThan" {
            return forbidden(
                "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan",
            );
        }
        if initial.is_none() && !matching.is_empty() {
            return forbidden(
                "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided",
            );
        }
        let version: u64 = match query.get("resourceVersion") {
            "" => 0,
            text => text.parse().map_err(|_| Status::internal(not_a_version(text)))?,
        };
        let bookmarks = query.flag("allowWatchBookmarks").unwrap_or(false);
        Ok(match (initial, version) {
            (Some(true), _) | (None, 0) => Self::State { told: bookmarks },
            (Some(false), 0) => Self::Now,
            (_, version) => Self::After(version),
        })
    }
}

/// Everything that a running watch needs.
struct Feed {
    api: Api,
    shape: Shape,
    selector: Selector,
    initial: VecDeque<Object>,
    end_of_initial: Option<u64>,
    watch: Watch,
    bookmarks: bool,
    next_bookmark: Instant,
    end: Instant,
    last_bookmark_sent: bool,
    over: bool,
    stop: CancellationToken,
}

impl Feed {
    fn begin(&mut self, start: Start, namespace: Option<&str>) {
        let store = self.api.store();
        let collection = self.shape.resource.collection;
        let after = match start {
            Start::State { told } => {
                let (objects, version) = store.list(collection, namespace);
                self.initial = objects.into_iter().filter(|it| self.selector.matches(it)).collect();
                self.end_of_initial = told.then_some(version);
                version
            }
            Start::Now => store.version(),
            Start::After(version) => version,
        };
        self.watch = store.watch(collection, namespace, after);
    }

    /// The next lines, or `None` when the watch is over.
    async fn next_piece(&mut self) -> Option<Bytes> {
        let mut lines = Vec::new();
        while !self.over {
            for _ in 0..BATCH {
                let Some(object) = self.initial.pop_front() else { break };
                self.shape.event(&mut lines, "ADDED", &object);
            }
            if self.initial.is_empty()
                && let Some(version) = self.end_of_initial.take()
            {
                self.shape.bookmark(&mut lines, version, true);
            }
            if !lines.is_empty() {
                return Some(lines.into());
            }
            self.wait(&mut lines).await;
            if !lines.is_empty() {
                return Some(lines.into());
            }
        }
        None
    }

    /// Waits for changes, for the time of a bookmark, or for the end.
    async fn wait(&mut self, lines: &mut Vec<u8>) {
        let last = self.end.checked_sub(BOOKMARK_BEFORE_END).unwrap_or(self.end);
        let bookmark = if self.bookmarks && !self.last_bookmark_sent && last > Instant::now() {
            self.next_bookmark.min(last)
        } else {
            self.next_bookmark
        };
        tokio::select! {
            biased;
            () = self.stop.cancelled() => self.over = true,
            changes = self.watch.next() => self.changes(lines, changes),
            () = sleep_until(self.end) => self.over = true,
            () = sleep_until(bookmark) => {
                self.last_bookmark_sent = bookmark >= last;
                self.next_bookmark = Instant::now() + BOOKMARK_EVERY;
                if self.bookmarks {
                    // Everything up to this version is in the history by now, so that what is
                    // still to be told goes out before the bookmark.
                    let version = self.api.store().version();
                    let ready = self.watch.ready();
                    self.changes(lines, ready);
                    if !self.over {
                        self.shape.bookmark(lines, version, false);
                    }
                }
            }
        }
    }

    fn changes(&mut self, lines: &mut Vec<u8>, changes: Result<Vec<Change>, Gone>) {
        match changes {
            Ok(changes) => {
                for change in changes {
                    self.change(lines, &change);
                }
            }
            Err(gone) => {
                let status = Status::expired(gone.to_string());
                line(lines, "ERROR", &status.to_value());
                self.over = true;
            }
        }
    }

    /// Tells a change as what it is to a client that sees the selected objects alone.
    fn change(&mut self, lines: &mut Vec<u8>, change: &Change) {
        let was = change.previous.as_ref().is_some_and(|it| self.selector.matches(it));
        let is = change.kind != ChangeKind::Deleted && self.selector.matches(&change.object);
        match (was, is) {
            (false, true) => self.shape.event(lines, "ADDED", &change.object),
            (true, true) => self.shape.event(lines, "MODIFIED", &change.object),
            (true, false) if change.kind == ChangeKind::Deleted => {
                self.shape.event(lines, "DELETED", &change.object);
            }
            (true, false) => {
                // As it was, under the version at which it left.
                let mut left = change.previous.as_deref().cloned().unwrap_or_else(|| json!({}));
                left["metadata"]["resourceVersion"] = json!(change.version.to_string());
                self.shape.event(lines, "DELETED", &Object::new(left));
            }
            (false, false) => {}
        }
    }
}

/// The form in which objects are told.
struct Shape {
    resource: &'static Resource,
    form: Form,
    include: IncludeObject,
    columns_sent: bool,
}

impl Shape {
    fn event(&mut self, lines: &mut Vec<u8>, kind: &str, object: &Object) {
        let viewed = views::from_stored(self.resource, object);
        match self.form {
            Form::Object => line(lines, kind, &*viewed),
            Form::Partial => line(lines, kind, &respond::partial(&viewed)),
            Form::Table => {
                let table = self.table(&viewed);
                line(lines, kind, &table);
            }
        }
    }

    fn bookmark(&mut self, lines: &mut Vec<u8>, version: u64, end_of_initial: bool) {
        let mut metadata = json!({"resourceVersion": version.to_string()});
        if end_of_initial {
            metadata["annotations"] = json!({"k8s.io/initial-events-end": "true"});
        }
        let mut object = json!({
            "kind": self.resource.kind,
            "apiVersion": self.resource.api_version(),
            "metadata": metadata,
        });
        if self.resource.kind == "Pod" {
            object["spec"] = json!({"containers": null});
            object["status"] = json!({});
        }
        match self.form {
            Form::Object => line(lines, "BOOKMARK", &object),
            Form::Partial => line(lines, "BOOKMARK", &respond::partial(&object)),
            Form::Table => {
                let table = self.table(&object);
                line(lines, "BOOKMARK", &table);
            }
        }
    }

    /// A table of one row; only the first one of a watch has columns.
    fn table(&mut self, object: &Value) -> Value {
        let columns =
            if self.columns_sent { Value::Null } else { tables::columns(self.resource.kind) };
        self.columns_sent = true;
        let row = tables::row(self.resource.kind, object, self.include, Timestamp::now());
        json!({
            "kind": "Table",
            "apiVersion": "meta.k8s.io/v1",
            "metadata": {"resourceVersion": object["metadata"]["resourceVersion"]},
            "columnDefinitions": columns,
            "rows": [row],
        })
    }
}

fn line(lines: &mut Vec<u8>, kind: &str, object: &impl Serialize) {
    #[derive(Serialize)]
    struct Event<'a, T> {
        r#type: &'a str,
        object: &'a T,
    }
    // Writing values to memory cannot fail; a half-written line would be worse than none.
    let before = lines.len();
    if serde_json::to_writer(&mut *lines, &Event { r#type: kind, object }).is_err() {
        lines.truncate(before);
        return;
    }
    lines.push(b'\n');
}

#[cfg(test)]
mod tests;
