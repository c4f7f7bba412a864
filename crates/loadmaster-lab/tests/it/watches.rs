//! Watches on the wire.

use loadmaster_lab::api::DeleteOptions;
use loadmaster_lab::resources::Collection;
use loadmaster_lab::server::Options;
use loadmaster_lab::store::version_of;
use serde_json::json;

use crate::support::{Events, event, lab, lab_with, make, pod};

const PODS: Collection = Collection::PODS;
const URL: &str = "/api/v1/namespaces/ns/pods?watch=true";
const STREAMING: &str =
    "allowWatchBookmarks=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan";

#[tokio::test]
async fn a_streaming_list_tells_the_state_then_a_bookmark_then_changes() {
    let (server, _) = lab().await;
    make(&server, PODS, "ns", pod("p0"));
    let mut events = Events::open(&server, &format!("{URL}&{STREAMING}"), "").await;
    let first = events.next().await.unwrap();
    assert_eq!((&first["type"], &first["object"]["kind"]), (&json!("ADDED"), &json!("Pod")));
    let end = events.next().await.unwrap();
    assert_eq!(end["type"], "BOOKMARK");
    let metadata = json!({"resourceVersion": server.store().version().to_string(),
        "annotations": {"k8s.io/initial-events-end": "true"}});
    assert_eq!(end["object"]["metadata"], metadata);
    make(&server, PODS, "ns", pod("p1"));
    assert_eq!(events.told().await, event("ADDED", "p1"));
}

#[tokio::test]
async fn a_watch_from_a_version_tells_every_later_change_and_nothing_else() {
    let (server, _) = lab().await;
    make(&server, PODS, "ns", pod("before"));
    let version = server.store().version();
    make(&server, PODS, "ns", pod("w1"));
    let binding = json!({"metadata": {"name": "w1"}, "target": {"kind": "Node", "name": "n"}});
    server.api().bind("ns", "w1", &binding, false).unwrap();
    let now = DeleteOptions { grace_seconds: Some(0), ..DeleteOptions::default() };
    server.api().delete(PODS.resource(), "ns", "w1", &now).unwrap();
    let mut events = Events::open(&server, &format!("{URL}&resourceVersion={version}"), "").await;
    for kind in ["ADDED", "MODIFIED", "MODIFIED"] {
        assert_eq!(events.told().await, event(kind, "w1"));
    }
    let last = events.next().await.unwrap();
    assert_eq!(last["type"], "DELETED");
    assert_eq!(version_of(&last["object"]), server.store().version());
}

#[tokio::test]
async fn objects_enter_and_leave_a_selection() {
    let (server, _) = lab().await;
    let version = server.store().version();
    let unbound = format!("{URL}&fieldSelector=spec.nodeName%3D&resourceVersion={version}");
    let mut unbound = Events::open(&server, &unbound, "").await;
    let labelled = format!("{URL}&labelSelector=even%3Dtrue&resourceVersion={version}");
    let mut labelled = Events::open(&server, &labelled, "").await;
    make(&server, PODS, "ns", pod("w2"));
    server
        .store()
        .edit(PODS, "ns", "w2", |it| it["metadata"]["labels"] = json!({"even": "true"}))
        .unwrap();
    let binding = json!({"metadata": {"name": "w2"}, "target": {"kind": "Node", "name": "n"}});
    server.api().bind("ns", "w2", &binding, false).unwrap();
    let bound = server.store().version();
    server.store().edit(PODS, "ns", "w2", |it| it["metadata"]["labels"] = json!({})).unwrap();
    for kind in ["ADDED", "MODIFIED"] {
        assert_eq!(unbound.told().await, event(kind, "w2"));
    }
    let left = unbound.next().await.unwrap();
    assert_eq!((&left["type"], version_of(&left["object"])), (&json!("DELETED"), bound));
    for kind in ["ADDED", "MODIFIED", "DELETED"] {
        assert_eq!(labelled.told().await, event(kind, "w2"));
    }
}

#[tokio::test]
async fn history_that_is_gone_is_told_inside_the_stream() {
    let (server, _) = lab_with(Options { history: 2, ..Options::default() }).await;
    for name in ["a", "b", "c", "d"] {
        make(&server, PODS, "ns", pod(name));
    }
    let mut events = Events::open(&server, &format!("{URL}&resourceVersion=1"), "").await;
    let error = events.next().await.unwrap();
    assert_eq!(error["type"], "ERROR");
    assert_eq!(
        (&error["object"]["code"], &error["object"]["reason"]),
        (&json!(410), &json!("Expired"))
    );
    let message = error["object"]["message"].as_str().unwrap();
    assert!(message.starts_with("too old resource version: 1 ("), "{message}");
    assert_eq!(events.next().await, None);
}

#[tokio::test]
async fn a_watch_ends_when_its_time_is_over_and_when_the_server_stops() {
    let (server, _) = lab().await;
    let mut short = Events::open(&server, &format!("{URL}&timeoutSeconds=1"), "").await;
    assert_eq!(short.next().await, None);
    make(&server, PODS, "ns", pod("p"));
    let mut long = Events::open(&server, URL, "").await;
    assert_eq!(long.told().await, event("ADDED", "p"));
    server.shutdown().await;
    assert_eq!(long.next().await, None);
}

#[tokio::test]
async fn a_table_watch_has_one_row_an_event_and_columns_once() {
    let (server, _) = lab().await;
    for name in ["p0", "p1"] {
        make(&server, PODS, "ns", pod(name));
    }
    let table = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";
    let mut events = Events::open(&server, &format!("{URL}&{STREAMING}"), table).await;
    let first = events.next().await.unwrap()["object"].take();
    assert_eq!(first["kind"], "Table");
    assert_eq!(first["columnDefinitions"][0]["name"], "Name");
    assert_eq!(first["rows"][0]["cells"][0], "p0");
    let second = events.next().await.unwrap()["object"].take();
    assert_eq!(second["columnDefinitions"], json!(null));
    assert_eq!(second["rows"].as_array().unwrap().len(), 1);
    let end = events.next().await.unwrap()["object"].take();
    let row = &end["rows"][0]["object"]["metadata"];
    assert_eq!(row["annotations"]["k8s.io/initial-events-end"], "true");
}

#[tokio::test]
async fn one_event_store_is_watched_in_two_shapes() {
    let (server, _) = lab().await;
    let version = server.store().version();
    let url = format!("/apis/events.k8s.io/v1/events?watch=true&resourceVersion={version}");
    let mut events = Events::open(&server, &url, "").await;
    let core = json!({"metadata": {"name": "e"}, "reason": "R", "message": "M",
        "involvedObject": {"kind": "Pod", "name": "p", "namespace": "ns"}});
    make(&server, Collection::EVENTS, "ns", core);
    let told = events.next().await.unwrap()["object"].take();
    assert_eq!((&told["apiVersion"], &told["note"]), (&json!("events.k8s.io/v1"), &json!("M")));
    assert_eq!(told["regarding"]["name"], "p");
}
