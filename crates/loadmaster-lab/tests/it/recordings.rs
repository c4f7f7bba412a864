//! Recorded exchanges with kube-apiserver 1.36.2, sent again.
//!
//! `testdata/*.jsonl.zst` hold requests and answers in order. Each request goes to the lab server,
//! with recorded uids, versions and tokens replaced by ours; the answer must have the same code, and
//! a refusal the same reason, message and details. [`DIFFERENT`] names what differs on purpose.

use std::collections::BTreeMap;

use loadmaster_lab::resources::Collection;
use loadmaster_lab::server::LabServer;
use serde_json::{Value, json};

use crate::support::{lab, make, send};

/// (flow, why the lab answers otherwise).
const DIFFERENT: &[(&str, &str)] = &[
    ("http change nodeSelector when not gated", "the diff at the end of the text is left out"),
    ("http eviction: blocked by budget", "the budget's counters come from a controller"),
    ("http patch: unknown field Strict", "the text quotes the object with its managedFields"),
    ("http fieldValidation: duplicate key Strict", "the recorded body lost the duplicate"),
    ("http validation: wrong JSON type", "Go's struct name is left out"),
    ("http get: Accept yaml", "answers are JSON alone"),
    ("http get: Accept protobuf", "answers are JSON alone"),
    ("http get: Accept not supported", "the text lists what is served"),
    ("http error: anonymous", "the recording left out who asked"),
    ("http error: bad token", "the recording left out who asked"),
    ("http error: forbidden (rbac)", "the recording left out who asked"),
    ("http error: forbidden create", "the recording left out who asked"),
    ("http idle", "tidying of the recording itself"),
    ("http pod log: no kubelet", "the lab says why there is no log"),
    ("http node: podCIDR change refused", "no controller gave the node a podCIDR"),
    ("http pod ephemeralcontainers subresource", "not served"),
    ("http list: bad continue token", "the text is the decoder's"),
    ("http list: resourceVersion=N NotOlderThan", "the version in the URL is the recording's"),
    ("http list: resourceVersion=N Exact", "the version in the URL is the recording's"),
    ("http compaction: exact list at a compacted version", "the version is the recording's"),
    ("http list: expired continue token", "nothing has expired here"),
    ("http list: inconsistent continuation after 410", "nothing has expired here"),
    ("http list: exact at an expired version", "nothing has expired here"),
];

#[tokio::test]
async fn objects_are_answered_as_recorded() {
    let exchanges = include_bytes!("../../testdata/http-objects.jsonl.zst");
    assert_eq!(replay(exchanges).await, Vec::<String>::new());
}

#[tokio::test]
async fn lists_are_answered_as_recorded() {
    let exchanges = include_bytes!("../../testdata/http-list-watch.jsonl.zst");
    assert_eq!(replay(exchanges).await, Vec::<String>::new());
}

/// What existed before the recordings began.
fn prepare(server: &LabServer) {
    for name in ["wire-sem", "wire-sem3", "wire-sem4", "wire-tbl", "wire-q"] {
        make(server, Collection::NAMESPACES, "", json!({"metadata": {"name": name}}));
    }
    for name in ["wire-n1", "wire-n2", "wire-n3"] {
        make(server, Collection::NODES, "", json!({"metadata": {"name": name}}));
    }
    for index in 0..5 {
        for namespace in ["wire-sem3", "wire-sem4"] {
            let mut pod = crate::support::pod(&format!("p{index}"));
            let even = if index % 2 == 0 { "true" } else { "false" };
            pod["metadata"]["labels"] = json!({"a": "1", "i": index.to_string(), "even": even});
            if namespace == "wire-sem3" || index < 3 {
                make(server, Collection::PODS, namespace, pod);
            }
        }
    }
}

/// Sends every request of a recording and answers what came back otherwise.
async fn replay(compressed: &[u8]) -> Vec<String> {
    let (server, _) = lab().await;
    prepare(&server);
    let text = zstd::decode_all(compressed).unwrap();
    let mut ours = Names::default();
    let mut different = Vec::new();
    let mut compared = 0;
    for line in text.split(|it| *it == b'\n').filter(|it| !it.is_empty()) {
        let exchange: Value = serde_json::from_slice(line).unwrap();
        let flow = exchange["flow"].as_str().unwrap();
        let url = exchange["request"]["url"].as_str().unwrap_or_default();
        if url.is_empty() || url.contains("watch=true") || url.contains("/watch/") {
            continue;
        }
        let (code, body) = resend(&server, &exchange["request"], &ours).await;
        let recorded = &exchange["response"];
        ours.learn(&recorded["body"], &body);
        if DIFFERENT.iter().any(|it| it.0 == flow) {
            continue;
        }
        compared += 1;
        let expected = summary(recorded["status"].as_u64().unwrap_or(0), &recorded["body"]);
        let found = summary(code.into(), &body);
        if expected != found {
            different.push(format!("{flow}: {url}\n  recorded {expected}\n  answered {found}"));
        }
    }
    assert!(compared > 60, "only {compared} exchanges were compared");
    different
}

async fn resend(server: &LabServer, request: &Value, ours: &Names) -> (u16, Value) {
    let body = match (&request["text"], &request["body"]) {
        (Value::String(text), _) => text.clone().into_bytes(),
        (_, Value::Null) => Vec::new(),
        (_, body) => ours.translate(body).to_string().into_bytes(),
    };
    let mut headers = Vec::new();
    for name in ["accept", "content-type"] {
        if let Some(value) = request["headers"][name].as_str() {
            headers.push((name, value));
        }
    }
    let mut url = request["url"].as_str().unwrap().to_owned();
    for (recorded, token) in &ours.tokens {
        url = url.replace(recorded, token);
    }
    send(server, request["method"].as_str().unwrap(), &url, &headers, body).await
}

/// The code, and of a refusal what clients read of it, with uids and versions masked.
fn summary(code: u64, body: &Value) -> String {
    if body["kind"] != "Status" || body["status"] != "Failure" {
        return code.to_string();
    }
    let mut details = body["details"].clone();
    if let Some(causes) = details["causes"].as_array_mut() {
        // The real server validates some metadata twice.
        causes.dedup();
    }
    masked(&format!("{code} {} {} {details}", body["reason"], body["message"]))
}

/// Uids become `UID` and numbers `N`.
fn masked(text: &str) -> String {
    let mut masked = String::new();
    let is_uid =
        |it: &str| it.len() == 36 && it.bytes().all(|it| it.is_ascii_hexdigit() || it == b'-');
    for word in text.split_inclusive([' ', '"', '(', ')', ',', ':']) {
        let core = word.trim_end_matches([' ', '"', '(', ')', ',', ':', '\\']);
        let rest = &word[core.len()..];
        masked.push_str(match core {
            it if is_uid(it) => "UID",
            it if it.parse::<u64>().is_ok() => "N",
            it => it,
        });
        masked.push_str(rest);
    }
    masked
}

/// Our names for recorded uids, versions and tokens.
#[derive(Default)]
struct Names {
    uids: BTreeMap<String, String>,
    versions: BTreeMap<String, String>,
    tokens: BTreeMap<String, String>,
}

impl Names {
    fn learn(&mut self, recorded: &Value, ours: &Value) {
        for (field, names) in [
            ("uid", &mut self.uids),
            ("resourceVersion", &mut self.versions),
            ("continue", &mut self.tokens),
        ] {
            let of = |value: &Value| value["metadata"][field].as_str().map(str::to_owned);
            if let (Some(recorded), Some(ours)) = (of(recorded), of(ours)) {
                names.insert(recorded, ours);
            }
        }
    }

    fn translate(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => json!(self.uids.get(text).unwrap_or(text)),
            Value::Array(items) => items.iter().map(|it| self.translate(it)).collect(),
            Value::Object(map) => {
                let member = |(key, value): (&String, &Value)| {
                    let version = value.as_str().and_then(|it| self.versions.get(it));
                    let value = match version {
                        Some(version) if key == "resourceVersion" => json!(version),
                        _ => self.translate(value),
                    };
                    (key.clone(), value)
                };
                Value::Object(map.iter().map(member).collect())
            }
            other => other.clone(),
        }
    }
}
