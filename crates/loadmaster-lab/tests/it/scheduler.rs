//! A recorded session of an unmodified kube-scheduler 1.36.2, request by request: its eighteen
//! watches, leader election, bindings, conditions, a preemption, a volume and its events, with the
//! protobuf bodies that it sends by default.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use loadmaster_lab::resources::{Collection, RESOURCES};
use loadmaster_lab::server::LabServer;
use loadmaster_lab::store::version_of;
use serde_json::{Value, json};

use crate::support::{Events, lab, make, pod, send};

const NAMESPACE: &str = "wire-sched";

/// The pods and the volume that the session is about.
fn prepare(server: &LabServer) {
    make(server, Collection::NAMESPACES, "", json!({"metadata": {"name": NAMESPACE}}));
    for name in ["fits", "nofit", "victim", "vip", "gated", "vol"] {
        make(server, Collection::PODS, NAMESPACE, pod(name));
    }
    let volume = json!({"metadata": {"name": "wire-pv1"}, "spec": {
        "capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"],
        "hostPath": {"path": "/x"}}});
    make(server, Collection::PERSISTENT_VOLUMES, "", volume);
}

/// The last two path segments before the query: what a request is about.
fn place(url: &str) -> (&str, &str) {
    let path = url.split('?').next().unwrap_or_default();
    let segments: Vec<&str> = path.split('/').filter(|it| !it.is_empty()).collect();
    let at = segments.iter().position(|it| *it == "namespaces").map_or(2, |it| it + 2);
    (
        segments.get(at).copied().unwrap_or_default(),
        segments.get(at + 1).copied().unwrap_or_default(),
    )
}

/// Gives the object of a conditional update the version that the recorded body names, if it has
/// another: other writes until just before it, then one of the object itself.
fn reach(server: &LabServer, url: &str, version: u64) {
    let (plural, name) = place(url);
    let collection = RESOURCES.iter().find(|it| it.plural == plural).unwrap().collection;
    let namespace = if collection.resource().namespaced { "kube-system" } else { "" };
    let now = server.store().get(collection, namespace, name).unwrap();
    if version_of(&now) == version {
        return;
    }
    let touch = |collection, namespace: &str, name: &str| {
        let mark = server.store().version().to_string();
        let mark = |it: &mut Value| it["metadata"]["annotations"]["mark"] = json!(mark);
        server.store().edit(collection, namespace, name, mark).unwrap()
    };
    while server.store().version() < version - 1 {
        touch(Collection::NAMESPACES, "", "default");
    }
    let touched = touch(collection, namespace, name);
    assert_eq!(version_of(&touched), version, "{url}");
}

/// A protobuf body with recorded uids replaced by ours; both have 36 letters.
fn translated(body: &str, uids: &BTreeMap<String, String>) -> Vec<u8> {
    let mut bytes = STANDARD.decode(body).unwrap();
    for (recorded, ours) in uids {
        while let Some(at) = bytes.windows(36).position(|it| it == recorded.as_bytes()) {
            bytes[at..at + 36].copy_from_slice(ours.as_bytes());
        }
    }
    bytes
}

/// The uid of the object that a body with a uid is about, recorded and ours.
fn uid_of(server: &LabServer, url: &str, body: &Value) -> Option<(String, String)> {
    let recorded = body["metadata"]["uid"].as_str()?;
    let (plural, name) = place(url);
    let (collection, namespace) = match plural {
        "pods" => (Collection::PODS, NAMESPACE),
        "leases" => (Collection::LEASES, "kube-system"),
        _ => (Collection::PERSISTENT_VOLUMES, ""),
    };
    let ours = server.store().get(collection, namespace, name)?;
    Some((recorded.to_owned(), ours["metadata"]["uid"].as_str()?.to_owned()))
}

#[tokio::test]
async fn a_session_of_the_real_scheduler_is_answered_as_recorded() {
    let (server, _) = lab().await;
    prepare(&server);
    // The recorded server trusted no certificates, and had no such object to say so.
    let (trust, namespace) = ("extension-apiserver-authentication", "kube-system");
    server.store().remove(Collection::CONFIG_MAPS, namespace, trust, |_| Ok(())).unwrap();
    let text = include_bytes!("../../testdata/kube-scheduler-protobuf.jsonl.zst");
    let text = zstd::decode_all(text.as_slice()).unwrap();
    let mut uids = BTreeMap::new();
    let (mut watches, mut writes) = (0, 0);
    for line in text.split(|it| *it == b'\n').filter(|it| !it.is_empty()) {
        let exchange: Value = serde_json::from_slice(line).unwrap();
        let (request, recorded) = (&exchange["request"], &exchange["response"]);
        let (Some(method), Some(url)) = (request["method"].as_str(), request["url"].as_str())
        else {
            continue;
        };
        let accept = request["headers"]["accept"].as_str().unwrap_or_default();
        if url.contains("watch=true") {
            let mut events = Events::open(&server, url, accept).await;
            loop {
                let event = events.next().await.unwrap();
                if event["type"] == "BOOKMARK" {
                    let metadata = &event["object"]["metadata"];
                    assert_eq!(metadata["annotations"]["k8s.io/initial-events-end"], "true");
                    break;
                }
                assert_eq!(event["type"], "ADDED", "{url}");
            }
            watches += 1;
            continue;
        }
        let decoded = &request["decoded"];
        uids.extend(uid_of(&server, url, decoded));
        if let (Ok(version), "PUT") = (version_text(decoded).parse(), method) {
            reach(&server, url, version);
        }
        let body = match (&request["protobuf_base64"], &request["body"]) {
            (Value::String(body), _) => translated(body, &uids),
            (_, Value::Null) => Vec::new(),
            (_, body) => body.to_string().into_bytes(),
        };
        let content_type = request["headers"]["content-type"].as_str().unwrap_or_default();
        let headers = [("accept", accept), ("content-type", content_type)];
        let (code, answer) = send(&server, method, url, &headers, body).await;
        assert_eq!(u64::from(code), recorded["status"], "{method} {url}: {answer}");
        writes += usize::from(method != "GET");
    }
    assert!(watches >= 18 && writes > 25, "{watches} watches, {writes} writes");
    let bound = server.store().get(Collection::PODS, NAMESPACE, "vip").unwrap();
    assert!(bound["spec"]["nodeName"].is_string());
    let refused = server.store().get(Collection::PODS, NAMESPACE, "nofit").unwrap();
    assert_eq!(refused["status"]["conditions"][0]["reason"], "Unschedulable");
}

fn version_text(object: &Value) -> &str {
    object["metadata"]["resourceVersion"].as_str().unwrap_or_default()
}
