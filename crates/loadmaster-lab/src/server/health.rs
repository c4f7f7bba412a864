//! Health, version and the list of paths.

use bytes::Bytes;
use serde_json::json;

use super::respond::{self, Answer};
use crate::resources;

/// The release whose behaviour is followed.
const VERSION: &str = "v1.36.2";

/// `GET /readyz` and its kin.
pub(super) fn check(name: &str, verbose: bool) -> Answer {
    if verbose {
        return respond::text(200, format!("[+]ping ok\n{name} check passed\n"));
    }
    respond::text(200, Bytes::from_static(b"ok"))
}

/// `GET /version`.
pub(super) fn version() -> Answer {
    respond::object(
        200,
        &json!({
            "major": "1",
            "minor": "36",
            "emulationMajor": "1",
            "emulationMinor": "36",
            "minCompatibilityMajor": "1",
            "minCompatibilityMinor": "35",
            "gitVersion": VERSION,
            "gitCommit": "",
            "gitTreeState": "",
            "buildDate": "1970-01-01T00:00:00Z",
            "goVersion": "",
            "compiler": "rustc",
            "platform": "linux/amd64",
        }),
    )
}

/// `GET /`.
pub(super) fn paths() -> Answer {
    let mut paths = vec!["/api".to_owned(), "/apis".to_owned()];
    for (group, version) in resources::group_versions() {
        if group.is_empty() {
            paths.push(format!("/api/{version}"));
        } else {
            paths.push(format!("/apis/{group}"));
            paths.push(format!("/apis/{group}/{version}"));
        }
    }
    paths.extend(["/healthz", "/livez", "/openapi/v3", "/readyz", "/version"].map(str::to_owned));
    paths.sort();
    respond::object(200, &json!({"paths": paths}))
}
