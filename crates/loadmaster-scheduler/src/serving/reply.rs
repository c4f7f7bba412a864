//! Answers, with upstream's headers.

use http::{HeaderValue, Response, StatusCode, header};
use http_body_util::Full;
use hyper::body::Bytes;
use serde::Serialize;

/// An answer.
pub(super) type Reply = Response<Full<Bytes>>;

pub(super) const TEXT: &str = "text/plain; charset=utf-8";
pub(super) const JSON: &str = "application/json";

/// An answer of this type.
pub(super) fn reply(
    status: StatusCode,
    content_type: &'static str,
    body: impl Into<Bytes>,
) -> Reply {
    let mut reply = Response::new(Full::new(body.into()));
    *reply.status_mut() = status;
    let headers = reply.headers_mut();
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache, private"));
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    reply
}

/// A line of text, as Go's `http.Error` writes it.
pub(super) fn error(status: StatusCode, text: &str) -> Reply {
    reply(status, TEXT, format!("{text}\n"))
}

/// Nothing is here.
pub(super) fn not_found() -> Reply {
    error(StatusCode::NOT_FOUND, "404 page not found")
}

/// Who asks is not known.
pub(super) fn unauthorized() -> Reply {
    let word = "Unauthorized".to_owned();
    status(StatusCode::UNAUTHORIZED, word.clone(), word, None)
}

/// Who asks may not.
pub(super) fn forbidden(user: &str, verb: &str, path: &str, reason: &str) -> Reply {
    let (user, path) = (go_quoted(user), go_quoted(path));
    let message = format!("User {user} cannot {verb} path {path}");
    let message = message.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    let why = if reason.is_empty() { String::new() } else { format!(": {reason}") };
    let message = format!("forbidden: {message}{why}");
    status(StatusCode::FORBIDDEN, "Forbidden".to_owned(), message, Some(Details {}))
}

/// None of the forms is there that the client takes.
pub(super) fn not_acceptable() -> Reply {
    let message = "only the following media types are accepted: application/json, \
                   application/yaml, text/plain";
    status(StatusCode::NOT_ACCEPTABLE, "NotAcceptable".to_owned(), message.to_owned(), None)
}

/// Whether they may could not be found out.
pub(super) fn internal_error(uri: &str, cause: &str) -> Reply {
    let text = format!("Internal Server Error: {}: {cause}", go_quoted(uri));
    let text = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    error(StatusCode::INTERNAL_SERVER_ERROR, &text)
}

/// Text in double quotes, as Go's `%q`; close enough to Rust's for what is in a path.
pub(super) fn go_quoted(text: &str) -> String {
    format!("{text:?}")
}

#[derive(Serialize)]
struct Details {}

/// `metav1.Status`, in the order of its fields.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ApiStatus {
    kind: &'static str,
    api_version: &'static str,
    metadata: Details,
    status: &'static str,
    message: String,
    reason: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    details: Option<Details>,
    code: u16,
}

fn status(code: StatusCode, reason: String, message: String, details: Option<Details>) -> Reply {
    let body = ApiStatus {
        kind: "Status",
        api_version: "v1",
        metadata: Details {},
        status: "Failure",
        message,
        reason,
        details,
        code: code.as_u16(),
    };
    reply(code, JSON, serde_json::to_string_pretty(&body).unwrap_or_default())
}
