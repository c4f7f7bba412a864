//! The least `OpenAPI` that kubectl needs: that every kind can be patched, and with which options;
//! and for `kubectl explain` the members of the kinds that the schema knows.
//!
//! kubectl looks for a `PATCH` operation of a kind and reads the names of its parameters; merge
//! keys it takes from its own types.

use std::sync::LazyLock;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};

use super::respond::{self, Answer};
use crate::resources::{self, RESOURCES, Verbs};
use crate::schema;

/// Parameters that a patch takes.
const PARAMETERS: [&str; 4] = ["dryRun", "fieldManager", "fieldValidation", "force"];

/// (path below `/openapi/v3/`, document).
static DOCUMENTS: LazyLock<Vec<(String, String)>> = LazyLock::new(|| {
    resources::group_versions()
        .into_iter()
        .map(|(group, version)| (location(group, version), document(group, version).to_string()))
        .collect()
});

/// `GET /openapi/v3`: where the documents are. The hash lets kubectl keep them for good.
pub(super) fn index() -> Answer {
    let mut paths = Map::new();
    for (location, document) in &*DOCUMENTS {
        let hash = URL_SAFE_NO_PAD.encode(Sha256::digest(document.as_bytes()));
        let url = format!("/openapi/v3/{location}?hash={hash}");
        paths.insert(location.clone(), json!({"serverRelativeURL": url}));
    }
    respond::object(200, &json!({"paths": paths}))
}

/// `GET /openapi/v3/…`, if it is a served group version.
pub(super) fn of(location: &str) -> Option<Answer> {
    let (_, document) = DOCUMENTS.iter().find(|it| it.0 == location)?;
    Some(respond::bytes(200, "application/json", document.clone().into()))
}

fn location(group: &str, version: &str) -> String {
    if group.is_empty() { format!("api/{version}") } else { format!("apis/{group}/{version}") }
}

fn document(group: &str, version: &str) -> Value {
    let parameters: Vec<Value> = PARAMETERS
        .iter()
        .map(|name| json!({"name": name, "in": "query", "schema": {"type": "string"}}))
        .collect();
    let mut paths = Map::new();
    let served = RESOURCES.iter().filter(|it| it.group == group && it.version == version);
    for resource in served.filter(|it| it.verbs != Verbs::CreateOnly) {
        let namespace = if resource.namespaced { "namespaces/{namespace}/" } else { "" };
        let path = format!("/{}/{namespace}{}/{{name}}", location(group, version), resource.plural);
        let kind = json!({"group": group, "version": version, "kind": resource.kind});
        paths.insert(
            path,
            json!({"patch": {
                "x-kubernetes-group-version-kind": kind,
                "parameters": parameters,
                "responses": {"200": {"description": "OK"}},
            }}),
        );
    }
    let kinds = RESOURCES.iter().filter(|it| it.group == group && it.version == version);
    let schemas = schema::component_schemas(group, version, kinds.map(|it| it.kind));
    json!({
        "openapi": "3.0.0",
        "info": {"title": "Kubernetes", "version": "v1.36.2"},
        "paths": paths,
        "components": {"schemas": schemas},
    })
}
