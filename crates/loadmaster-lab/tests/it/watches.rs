//! Watches on the wire.

use std::collections::BTreeMap;

use loadmaster_lab::api::DeleteOptions;
use loadmaster_lab::resources::Collection;
use loadmaster_lab::server::{LabServer, Options};
use loadmaster_lab::store::version_of;
use serde_json::{Value, json};

use crate::support::{Events, event, lab, lab_with, make, pod, send};

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

/// A small generator, so that a history is the same on every run.
struct Dice(u64);

impl Dice {
    /// A number below `sides`.
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }
}

/// Does something to one of eight pods.
fn disturb(server: &LabServer, dice: &mut Dice) {
    let name = format!("p{}", dice.roll(8));
    let colour = ["red", "green"][usize::try_from(dice.roll(2)).unwrap()];
    let store = server.store();
    match (store.get(PODS, "ns", &name), dice.roll(4)) {
        (None, _) => {
            let mut new = pod(&name);
            new["metadata"]["labels"] = json!({"colour": colour});
            make(server, PODS, "ns", new);
        }
        (Some(_), 0) => {
            let now = DeleteOptions { grace_seconds: Some(0), ..DeleteOptions::default() };
            server.api().delete(PODS.resource(), "ns", &name, &now).unwrap();
        }
        (Some(_), 1) => {
            let binding = json!({"metadata": {"name": name}, "target": {"name": "n1"}});
            // A pod that is bound already stays where it is.
            let _ = server.api().bind("ns", &name, &binding, false);
        }
        (Some(_), _) => {
            let label = |it: &mut Value| it["metadata"]["labels"] = json!({"colour": colour});
            store.edit(PODS, "ns", &name, label).unwrap();
        }
    }
}

/// What a client knows that applies the events of a watch until it sees `last`.
async fn followed(events: &mut Events, last: u64) -> BTreeMap<String, u64> {
    let mut known = BTreeMap::new();
    loop {
        let event = events.next().await.unwrap();
        let object = &event["object"];
        let name = object["metadata"]["name"].as_str().unwrap_or_default().to_owned();
        let version = version_of(object);
        let before = match event["type"].as_str().unwrap() {
            "ADDED" => known.insert(name.clone(), version).map_or(Ok(()), Err),
            "MODIFIED" => known.insert(name.clone(), version).map(|_| ()).ok_or(0),
            "DELETED" => known.remove(&name).map(|_| ()).ok_or(0),
            other => panic!("{other}"),
        };
        assert_eq!(before, Ok(()), "{} {name} does not follow what was told before", event["type"]);
        if version == last {
            return known;
        }
    }
}

#[tokio::test]
async fn a_client_that_applies_every_event_knows_what_a_list_shows() {
    let (server, _) = lab().await;
    let selections = ["", "&labelSelector=colour%3Dred", "&fieldSelector=spec.nodeName%3D"];
    for seed in 0..20 {
        let mut dice = Dice(seed);
        for _ in 0..20 {
            disturb(&server, &mut dice);
        }
        let mut watches = Vec::new();
        for selection in selections {
            watches.push(Events::open(&server, &format!("{URL}{selection}"), "").await);
        }
        for _ in 0..60 {
            disturb(&server, &mut dice);
        }
        // An object that every selection has is the last of this history.
        let mut end = pod("end");
        end["metadata"]["labels"] = json!({"colour": "red"});
        make(&server, PODS, "ns", end);
        let last = server.store().version();
        for (selection, mut events) in selections.iter().zip(watches) {
            let list = format!("/api/v1/namespaces/ns/pods?x=y{selection}");
            let (_, list) = send(&server, "GET", &list, &[], Vec::new()).await;
            let items = list["items"].as_array().unwrap().iter();
            let listed: BTreeMap<String, u64> = items
                .map(|it| (it["metadata"]["name"].as_str().unwrap().to_owned(), version_of(it)))
                .collect();
            assert_eq!(followed(&mut events, last).await, listed, "seed {seed}{selection}");
        }
        let now = DeleteOptions { grace_seconds: Some(0), ..DeleteOptions::default() };
        server.api().delete(PODS.resource(), "ns", "end", &now).unwrap();
    }
}
