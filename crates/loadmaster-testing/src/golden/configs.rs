//! Family 14: configuration files.

use loadmaster_config::{RegistryCatalog, golden_view};
use loadmaster_framework::Gates;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Difference, differences};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    #[serde(rename = "id")]
    _id: String,
    #[serde(rename = "note")]
    _note: String,
    yaml: String,
    accepted: bool,
    stage: Option<String>,
    error: Option<String>,
    errors: Option<Vec<String>>,
    effective: Option<Value>,
}

/// What is compared of a document. Messages of `decode` quote Go's types and are left out.
#[derive(Debug, Default, Deserialize, Serialize)]
#[serde(default)]
struct Outcome {
    accepted: bool,
    stage: Option<String>,
    error: Option<String>,
    errors: Option<Vec<String>>,
    effective: Option<Value>,
}

pub(super) fn check(line: &str) -> serde_json::Result<Vec<Difference>> {
    let case: Case = serde_json::from_str(line)?;
    let registry = loadmaster_plugins::registry();
    let gates = Gates::default();
    let view = golden_view(&case.yaml, &RegistryCatalog::new(&registry, &gates));
    let mut actual: Outcome = serde_json::from_value(view)?;
    let mut expected = Outcome {
        accepted: case.accepted,
        stage: case.stage,
        error: case.error,
        errors: case.errors,
        effective: case.effective,
    };
    // Where several messages were recorded, they are compared one by one; where none was, their
    // order varies from run to run.
    let texts_vary = expected.stage.as_deref() == Some("decode") || expected.error.is_none();
    if texts_vary || expected.errors.is_some() {
        expected.error = None;
        actual.error = None;
    }
    if expected.errors.is_none() {
        actual.errors = None;
    }
    let mut found = differences(&expected, &actual);
    // Where a default is not zero, a zero is not nothing.
    if let (Some(a), Some(b)) = (&expected.effective, &actual.effective)
        && found.is_empty()
        && a != b
    {
        let (expected, actual) = (a.clone(), b.clone());
        found.push(Difference { path: "effective".to_owned(), expected, actual });
    }
    Ok(found)
}
