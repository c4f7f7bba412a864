//! Request bodies: media types, size, kind and strictness.

use axum::body::{Body, to_bytes};
use bytes::Bytes;
use serde_json::Value;

use crate::api::FieldValidation;
use crate::decode::{DecodeError, normalise, parse_json, parse_yaml};
use crate::protobuf;
use crate::resources::Resource;
use crate::status::Status;

/// The largest body that is read, the real server's limit.
const LIMIT: usize = 3 * 1024 * 1024;

/// Reads a body, at most three megabytes of it.
///
/// # Errors
/// 413 for a larger one, 400 when the client stops half way.
pub(super) async fn read(body: Body) -> Result<Bytes, Status> {
    match to_bytes(body, LIMIT).await {
        Ok(bytes) => Ok(bytes),
        Err(error) if format!("{error:?}").contains("LengthLimit") => {
            let message = format!("Request entity too large: limit is {LIMIT}");
            Err(Status::new(413, "RequestEntityTooLarge", message))
        }
        Err(error) => Err(Status::bad_request(format!("cannot read the request body: {error}"))),
    }
}

/// A decoded body and what is odd about it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Decoded {
    /// The object, without fields that its kind does not have.
    pub(super) object: Value,
    /// Odd things that are let pass.
    pub(super) warnings: Vec<String>,
}

/// Decodes an object of a resource.
///
/// # Errors
/// 400, 415.
pub(super) fn decode(
    resource: &Resource,
    content_type: &str,
    body: &[u8],
    validation: FieldValidation,
) -> Result<Decoded, Status> {
    decode_kind(&resource.api_version(), resource.kind, content_type, body, validation)
}

/// Decodes an object of a kind that need not be a resource (`Binding`, `DeleteOptions`).
///
/// # Errors
/// 400, 415.
pub(super) fn decode_kind(
    version: &str,
    kind: &str,
    content_type: &str,
    body: &[u8],
    validation: FieldValidation,
) -> Result<Decoded, Status> {
    let parsed = parse(kind, content_type, body)?;
    let mut object = parsed.0;
    check_kind(version, kind, &object)?;
    let unknown = normalise(version, kind, &mut object).map_err(DecodeError::into_status)?;
    let unknown = unknown.into_iter().map(|it| format!("unknown field {it:?}"));
    let twice = parsed.1.into_iter().map(|it| format!("duplicate field {it:?}"));
    let odd: Vec<String> = unknown.chain(twice).collect();
    match validation {
        FieldValidation::Strict if !odd.is_empty() => Err(Status::bad_request(format!(
            "{kind} in version {:?} cannot be handled as a {kind}: strict decoding error: {}",
            short_version(version),
            odd.join(", ")
        ))),
        FieldValidation::Warn => Ok(Decoded { object, warnings: odd }),
        _ => Ok(Decoded { object, warnings: Vec::new() }),
    }
}

fn parse(kind: &str, content_type: &str, body: &[u8]) -> Result<(Value, Vec<String>), Status> {
    let media_type = content_type.split(';').next().unwrap_or_default().trim();
    let parsed = match media_type {
        "application/vnd.kubernetes.protobuf" => {
            let object = protobuf::decode(body).map_err(|error| {
                let message = format!(
                    "the object provided is unrecognized (must be of type {kind}): {error}"
                );
                Status::bad_request(message)
            })?;
            return Ok((object, Vec::new()));
        }
        "" | "application/json" => parse_json(body),
        "application/yaml" => parse_yaml(body),
        _ => {
            return Err(Status::new(
                415,
                "UnsupportedMediaType",
                "the body of the request was in an unknown format - accepted media types include: \
                 application/json, application/yaml, application/vnd.kubernetes.protobuf",
            ));
        }
    };
    let parsed = parsed.map_err(|error| {
        Status::bad_request(format!(
            "the object provided is unrecognized (must be of type {kind}): couldn't get \
             version/kind; json parse error: {error} ({})",
            excerpt(body)
        ))
    })?;
    Ok((parsed.value, parsed.duplicates))
}

/// The start of a body, for a message about it.
fn excerpt(body: &[u8]) -> String {
    if body.is_empty() {
        return "<empty>".to_owned();
    }
    String::from_utf8_lossy(body).chars().take(1024).collect()
}

/// A body may leave out what it is, and may not claim to be something else.
fn check_kind(version: &str, kind: &str, object: &Value) -> Result<(), Status> {
    let given = |field: &str| object[field].as_str().filter(|it| !it.is_empty());
    let given_kind = given("kind").unwrap_or(kind);
    let given_version = given("apiVersion").unwrap_or(version);
    if given_version != version && kind != "DeleteOptions" {
        return Err(Status::bad_request(format!(
            "{given_kind} in version {:?} cannot be handled as a {kind}: no kind {given_kind:?} is \
             registered for version {given_version:?} in scheme \
             \"pkg/api/legacyscheme/scheme.go:30\"",
            short_version(given_version)
        )));
    }
    if given_kind != kind {
        let short = short_version(version);
        let group = version.split_once('/').map_or("core", |it| it.0);
        return Err(Status::bad_request(format!(
            "{given_kind} in version {short:?} cannot be handled as a {kind}: converting \
             ({short}.{given_kind}) to ({group}.{kind}): unknown conversion"
        )));
    }
    Ok(())
}

fn short_version(version: &str) -> &str {
    version.rsplit('/').next().unwrap_or(version)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resources::Collection;

    fn refuse(body: &str) -> String {
        let pods = Collection::PODS.resource();
        decode(pods, "application/json", body.as_bytes(), FieldValidation::Strict)
            .unwrap_err()
            .message
    }

    #[test]
    fn bodies_that_are_no_pods_are_refused_in_the_servers_words() {
        for (body, message) in [
            (
                "{\"apiVersion\":",
                "the object provided is unrecognized (must be of type Pod): couldn't get \
                 version/kind; json parse error: unexpected end of JSON input ({\"apiVersion\":)",
            ),
            (
                "",
                "the object provided is unrecognized (must be of type Pod): couldn't get \
                 version/kind; json parse error: unexpected end of JSON input (<empty>)",
            ),
            (
                r#"{"apiVersion":"v1","kind":"Service"}"#,
                "Service in version \"v1\" cannot be handled as a Pod: converting (v1.Service) to \
                 (core.Pod): unknown conversion",
            ),
            (
                r#"{"apiVersion":"v2","kind":"Pod"}"#,
                "Pod in version \"v2\" cannot be handled as a Pod: no kind \"Pod\" is registered \
                 for version \"v2\" in scheme \"pkg/api/legacyscheme/scheme.go:30\"",
            ),
            (
                r#"{"spec":{"containers":[{"imagePullPolcy":"x"}],"nope":1}}"#,
                "Pod in version \"v1\" cannot be handled as a Pod: strict decoding error: unknown \
                 field \"spec.containers[0].imagePullPolcy\", unknown field \"spec.nope\"",
            ),
            (
                r#"{"metadata":{"labels":{"a":"1","a":"2"}}}"#,
                "Pod in version \"v1\" cannot be handled as a Pod: strict decoding error: \
                 duplicate field \"metadata.labels.a\"",
            ),
        ] {
            assert_eq!(refuse(body), message);
        }
    }

    #[test]
    fn odd_fields_are_warnings_unless_strict() {
        let pods = Collection::PODS.resource();
        let decoded = decode(pods, "", br#"{"spec":{"nope":1}}"#, FieldValidation::Warn).unwrap();
        assert_eq!(decoded.warnings, ["unknown field \"spec.nope\""]);
        assert_eq!(decoded.object, serde_json::json!({"spec": {}}));
    }

    #[test]
    fn other_media_types_are_unsupported() {
        let pods = Collection::PODS.resource();
        let status = decode(pods, "text/plain", b"x", FieldValidation::Warn).unwrap_err();
        assert_eq!((status.code, status.reason), (415, "UnsupportedMediaType"));
        let yaml = decode(pods, "application/yaml", b"kind: Pod\n", FieldValidation::Warn);
        assert_eq!(yaml.unwrap().object["kind"], "Pod");
    }

    #[tokio::test]
    async fn a_body_beyond_the_limit_is_not_read() {
        let status = read(Body::from(vec![b' '; LIMIT + 1])).await.unwrap_err();
        assert_eq!(status.code, 413);
    }
}
