//! From a patch's content type and body to the patched object.

use serde_json::{Map, Value};
use thiserror::Error;

use super::placing::place_new_items;
use super::strategic::strategic_merge;

/// Why a patch was refused.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum PatchError {
    /// The content type is none of the four.
    #[error("415: Unsupported Media Type")]
    MediaType,
    /// The body is no patch of its type.
    #[error("error decoding patch: {0}")]
    Malformed(String),
    /// A JSON patch's `test` failed or its path is missing.
    #[error("the server rejected our request due to an error in our request")]
    Rejected,
    /// A strategic merge patch holds a directive in the wrong form.
    #[error("{0}")]
    Directive(String),
    /// An item of a merged list, or the object itself, does not fit the patch.
    #[error("{0}")]
    Unmergeable(String),
}

impl PatchError {
    /// The HTTP status that kube-apiserver answers with.
    pub fn code(&self) -> u16 {
        match self {
            Self::MediaType => 415,
            Self::Malformed(_) | Self::Directive(_) => 400,
            Self::Rejected => 422,
            Self::Unmergeable(_) => 500,
        }
    }
}

/// Applies a patch body to `current` and returns the new object; `current` may be `null` for an
/// apply that creates.
///
/// `api_version` and `kind` choose the merge keys. Preconditions (`metadata.resourceVersion`) and
/// validation are the caller's.
///
/// # Errors
/// See [`PatchError`]; [`PatchError::code`] is the HTTP status.
pub fn apply_patch(
    api_version: &str,
    kind: &str,
    current: &Value,
    content_type: &str,
    body: &[u8],
) -> Result<Value, PatchError> {
    let media_type = content_type.split(';').next().unwrap_or_default().trim();
    match media_type {
        "application/strategic-merge-patch+json" => {
            strategic_merge(api_version, kind, current, object(body)?)
        }
        "application/merge-patch+json" => {
            let patch = Value::Object(object(body)?);
            let mut patched = current.clone();
            json_patch::merge(&mut patched, &patch);
            Ok(patched)
        }
        "application/json-patch+json" => {
            // Text that is no JSON is told apart from JSON that is no patch.
            let patch: Value = serde_json::from_slice(body).map_err(malformed)?;
            let patch: json_patch::Patch = serde_json::from_value(patch).map_err(malformed)?;
            let mut patched = current.clone();
            json_patch::patch(&mut patched, &patch).map_err(|_| PatchError::Rejected)?;
            Ok(patched)
        }
        "application/apply-patch+yaml" => {
            let configuration = yaml_object(body)?;
            let metadata = configuration.get("metadata");
            if metadata.and_then(|it| it.get("managedFields")).is_some_and(|it| !it.is_null()) {
                return Err(PatchError::Directive("metadata.managedFields must be nil".to_owned()));
            }
            let mut placed = current.clone();
            place_new_items(api_version, kind, &mut placed, &configuration);
            strategic_merge(api_version, kind, &placed, configuration)
        }
        _ => Err(PatchError::MediaType),
    }
}

fn object(body: &[u8]) -> Result<Map<String, Value>, PatchError> {
    serde_json::from_slice(body).map_err(malformed)
}

fn yaml_object(body: &[u8]) -> Result<Map<String, Value>, PatchError> {
    if let Ok(object) = serde_json::from_slice(body) {
        return Ok(object);
    }
    let text =
        std::str::from_utf8(body).map_err(|error| PatchError::Malformed(error.to_string()))?;
    serde_saphyr::from_str(text).map_err(|error| PatchError::Malformed(error.to_string()))
}

#[expect(clippy::needless_pass_by_value, reason = "the form that map_err takes")]
fn malformed(error: serde_json::Error) -> PatchError {
    if error.is_eof() {
        return PatchError::Malformed("unexpected end of JSON input".to_owned());
    }
    PatchError::Malformed(error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn patch(content_type: &str, body: &str) -> Result<Value, PatchError> {
        let current = json!({"metadata": {"labels": {"a": "1"}}});
        apply_patch("v1", "Pod", &current, content_type, body.as_bytes())
    }

    #[test]
    fn a_merge_patch_deletes_by_null() {
        let patched = patch(
            "application/merge-patch+json; charset=utf-8",
            r#"{"metadata":{"labels":{"a":null,"b":"2"}}}"#,
        );
        assert_eq!(patched, Ok(json!({"metadata": {"labels": {"b": "2"}}})));
    }

    #[test]
    fn a_json_patch_whose_test_fails_or_path_is_missing_is_rejected() {
        let json = "application/json-patch+json";
        let test = r#"[{"op":"test","path":"/metadata/labels/a","value":"zz"}]"#;
        assert_eq!(patch(json, test), Err(PatchError::Rejected));
        let remove = r#"[{"op":"remove","path":"/metadata/labels/none"}]"#;
        let refusal = patch(json, remove).unwrap_err();
        assert_eq!(
            (refusal.code(), refusal.to_string().as_str()),
            (422, "the server rejected our request due to an error in our request")
        );
    }

    #[test]
    fn a_malformed_body_is_a_bad_request() {
        for content_type in ["application/json-patch+json", "application/merge-patch+json"] {
            let refusal = patch(content_type, "").unwrap_err();
            assert_eq!(
                (refusal.code(), refusal.to_string().as_str()),
                (400, "error decoding patch: unexpected end of JSON input")
            );
        }
    }

    #[test]
    fn apply_puts_new_items_behind_those_that_are_there() {
        let current = json!({"spec": {"template": {"spec": {"containers": [
            {"name": "a", "image": "a:1", "env": [{"name": "X", "value": "1"}]}]}}}});
        let body = br#"{"spec":{"template":{"spec":{"containers":[
            {"name":"a","env":[{"name":"Y","value":"2"}]},
            {"name":"side","image":"s:1"}]}}}}"#;
        let kind = ("apps/v1", "Deployment");
        let applied =
            apply_patch(kind.0, kind.1, &current, "application/apply-patch+yaml", body).unwrap();
        assert_eq!(
            applied["spec"]["template"]["spec"]["containers"],
            json!([
                {"name": "a", "image": "a:1",
                    "env": [{"name": "X", "value": "1"}, {"name": "Y", "value": "2"}]},
                {"name": "side", "image": "s:1"},
            ])
        );
    }

    #[test]
    fn another_content_type_is_unsupported() {
        let refusal = patch("application/json", "{}").unwrap_err();
        assert_eq!(
            (refusal.code(), refusal.to_string().as_str()),
            (415, "415: Unsupported Media Type")
        );
    }

    #[test]
    fn apply_reads_yaml_and_creates_from_nothing() {
        let body = b"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: ssa\ndata:\n  a: \"1\"\n";
        let applied =
            apply_patch("v1", "ConfigMap", &Value::Null, "application/apply-patch+yaml", body);
        assert_eq!(
            applied,
            Ok(json!({"apiVersion": "v1", "kind": "ConfigMap",
                "metadata": {"name": "ssa"}, "data": {"a": "1"}}))
        );
    }
}
