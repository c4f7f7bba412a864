//! Answers.

use axum::body::Body;
use bytes::Bytes;
use http::header::{CACHE_CONTROL, CONTENT_TYPE, WARNING};
use http::{HeaderValue, Response, StatusCode};
use serde::Serialize;
use serde::ser::{SerializeMap as _, Serializer};
use serde_json::{Value, json};

use crate::status::Status;

/// An answer to a request.
pub(super) type Answer = Response<Body>;

/// A JSON answer.
pub(super) fn object(code: u16, value: &impl Serialize) -> Answer {
    match serde_json::to_vec(value) {
        Ok(text) => bytes(code, "application/json", text.into()),
        Err(error) => refuse(&Status::internal(format!("cannot encode the answer: {error}"))),
    }
}

/// A refusal.
pub(super) fn refuse(status: &Status) -> Answer {
    let text = status.to_value().to_string();
    bytes(status.code, "application/json", text.into())
}

/// The `Status` of a call that succeeded and has no object to give.
pub(super) fn success(code: u16) -> Answer {
    object(
        code,
        &json!({
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Success",
            "code": code,
        }),
    )
}

/// Plain text.
pub(super) fn text(code: u16, text: impl Into<Bytes>) -> Answer {
    bytes(code, "text/plain; charset=utf-8", text.into())
}

/// Any body under its content type.
pub(super) fn bytes(code: u16, content_type: &'static str, body: Bytes) -> Answer {
    stream(code, content_type, Body::from(body))
}

/// A body that is still being made.
pub(super) fn stream(code: u16, content_type: &'static str, body: Body) -> Answer {
    let mut answer = Response::new(body);
    *answer.status_mut() = StatusCode::from_u16(code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let headers = answer.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache, private"));
    answer
}

/// The same answer with one `Warning` header per text; kubectl prints them.
pub(super) fn with_warnings(mut answer: Answer, warnings: &[String]) -> Answer {
    for warning in warnings {
        let quoted = warning.replace('\\', "\\\\").replace('"', "\\\"");
        // A warning that no header can hold is not worth refusing the request.
        if let Ok(value) = HeaderValue::from_str(&format!("299 - \"{quoted}\"")) {
            answer.headers_mut().append(WARNING, value);
        }
    }
    answer
}

/// An item of a list: the object without what the list says for all of them.
pub(super) struct Item<'a>(pub(super) &'a Value);

impl Serialize for Item<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for (key, value) in self.0.as_object().into_iter().flatten() {
            if key != "kind" && key != "apiVersion" {
                map.serialize_entry(key, value)?;
            }
        }
        map.end()
    }
}

/// Metadata alone.
pub(super) fn partial(object: &Value) -> Value {
    json!({
        "kind": "PartialObjectMetadata",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": object["metadata"],
    })
}
