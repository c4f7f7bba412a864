//! The recorded decisions on configurations of kube-scheduler 1.36.2: every one must be equal.

use std::{fs, path::Path};

use loadmaster_config::golden_view;
use serde_json::Value;

use crate::catalog::InTree;

#[test]
fn every_recorded_document_comes_to_what_upstream_makes_of_it() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../loadmaster-testing/data/golden/14-config.jsonl.zst");
    let lines = zstd::decode_all(&*fs::read(path).unwrap()).unwrap();
    let lines = String::from_utf8(lines).unwrap();
    let mut wrong = Vec::new();
    for line in lines.lines() {
        let case: Value = serde_json::from_str(line).unwrap();
        let got = golden_view(case["yaml"].as_str().unwrap(), &InTree);
        if let Some(why) = difference(&case, &got) {
            wrong.push(format!("{} ({}): {why}", case["id"], case["note"]));
        }
    }
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
}

fn difference(case: &Value, got: &Value) -> Option<String> {
    for key in ["accepted", "stage", "effective"] {
        if case[key] != got[key] {
            return Some(format!("{key}\n  want {}\n  got  {}", case[key], got));
        }
    }
    if case["stage"] == "decode" || case["error"].is_null() && case["errors"].is_null() {
        return None;
    }
    let key = if case["errors"].is_null() { "error" } else { "errors" };
    (case[key] != got[key]).then(|| format!("{key}\n  want {}\n  got  {}", case[key], got[key]))
}
