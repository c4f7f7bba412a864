use loadmaster_core::scheduler::NewFact;
use loadmaster_framework::Object;
use serde_json::{Value, json};

use super::*;
use crate::test_server::{Reply, TestServer, Then, refusal};

fn node(name: &str, version: u32) -> Value {
    json!({"metadata": {"name": name, "uid": format!("uid-of-{name}"),
                        "resourceVersion": version.to_string()}})
}

fn event(kind: &str, object: impl Into<Value>) -> Value {
    json!({"type": kind, "object": object.into()})
}

fn list_ends(version: u32) -> Value {
    event(
        "BOOKMARK",
        json!({"metadata": {"resourceVersion": version.to_string(),
                            "annotations": {"k8s.io/initial-events-end": "true"}}}),
    )
}

/// A watch of one kind, and what it tells.
struct Watching {
    told: mpsc::Receiver<Told>,
    watches: Watches,
}

impl Watching {
    fn start(server: &TestServer, kind: Kind) -> Self {
        let (tell, told) = mpsc::channel(100);
        let pause = Duration::from_millis(1);
        let options =
            WatchOptions { first_pause: pause, longest_pause: pause, ..WatchOptions::default() };
        let watches = Watches::start(&server.rest(), &BTreeSet::from([kind]), &options, &tell);
        Self { told, watches }
    }

    /// The next things told: `+name@version`, `-name`, `synced`, `stale`.
    async fn told(&mut self, count: usize) -> Vec<String> {
        let mut told = Vec::new();
        for _ in 0..count {
            told.push(match self.told.recv().await.unwrap() {
                Told::Synced(_) => "synced".to_owned(),
                Told::Stale(_) => "stale".to_owned(),
                Told::Ended(_) | Told::FeedEnded(_) => "ended".to_owned(),
                Told::Change(ClusterChange::Applied(it)) => {
                    format!("+{}@{}", it.metadata().name, it.metadata().resource_version)
                }
                Told::Change(ClusterChange::Deleted(it)) => format!("-{}", it.metadata().name),
                other @ (Told::Change(_) | Told::Broken(_)) => format!("{other:?}"),
            });
        }
        told
    }
}

#[tokio::test]
async fn a_streamed_list_is_told_then_known_to_be_complete_then_followed() {
    let lines = vec![
        event("ADDED", node("a", 3)),
        event("ADDED", node("b", 4)),
        list_ends(5),
        event("MODIFIED", node("a", 6)),
        event("DELETED", node("b", 7)),
    ];
    let mut server = TestServer::start(vec![Reply::Lines(lines, Then::Hold)]).await;
    let mut watching = Watching::start(&server, Kind::Node);
    assert_eq!(watching.told(5).await, ["+a@3", "+b@4", "synced", "+a@6", "-b"]);
    let asked = server.asked().await.line;
    assert!(asked.starts_with("GET /api/v1/nodes?watch=true&allowWatchBookmarks=true"), "{asked}");
    assert!(asked.contains("sendInitialEvents=true&resourceVersionMatch=NotOlderThan"), "{asked}");
}

#[tokio::test]
async fn a_watch_that_panics_does_not_do_so_in_silence() {
    let (tell, mut told) = mpsc::channel(1);
    told_of(Kind::Node, async { panic!("a fault") }, tell).await;
    assert!(matches!(told.recv().await, Some(Told::Broken(Kind::Node))));
}

#[tokio::test]
async fn finished_pods_are_not_asked_for() {
    let mut server = TestServer::start(vec![]).await;
    let _watching = Watching::start(&server, Kind::Pod);
    let asked = server.asked().await.line;
    let selector = "&fieldSelector=status.phase%21%3DSucceeded%2Cstatus.phase%21%3DFailed";
    assert!(asked.ends_with(selector), "{asked}");
}

#[tokio::test]
async fn where_lists_are_not_streamed_they_are_read_in_pages() {
    let page = |name: &str, more: &str| {
        let metadata = json!({"resourceVersion": "9", "continue": more});
        Reply::Json(200, json!({"metadata": metadata, "items": [node(name, 1)]}))
    };
    let changed = vec![event("MODIFIED", node("a", 10))];
    let mut server = TestServer::start(vec![
        refusal(422, "Invalid"),
        page("a", "t/1"),
        page("b", ""),
        Reply::Lines(changed, Then::Hold),
    ])
    .await;
    let mut watching = Watching::start(&server, Kind::Node);
    assert_eq!(watching.told(4).await, ["+a@1", "+b@1", "synced", "+a@10"]);
    server.asked().await;
    assert_eq!(server.asked().await.line, "GET /api/v1/nodes?limit=500");
    assert_eq!(server.asked().await.line, "GET /api/v1/nodes?limit=500&continue=t%2F1");
    let watch = server.asked().await.line;
    assert!(watch.ends_with("&resourceVersion=9"), "{watch}");
}

#[tokio::test]
async fn a_watch_that_breaks_is_taken_up_where_it_broke_off() {
    let lines = vec![list_ends(5), event("ADDED", node("a", 6))];
    let more = vec![event("ADDED", node("b", 7))];
    let mut server =
        TestServer::start(vec![Reply::Lines(lines, Then::Break), Reply::Lines(more, Then::End)])
            .await;
    let mut watching = Watching::start(&server, Kind::Node);
    assert_eq!(watching.told(5).await, ["synced", "+a@6", "stale", "+b@7", "synced"]);
    server.asked().await;
    let again = server.asked().await.line;
    assert!(again.ends_with("&resourceVersion=6"), "{again}");
    let after_the_end = server.asked().await.line;
    assert!(after_the_end.ends_with("&resourceVersion=7"), "{after_the_end}");
}

#[tokio::test]
async fn what_a_server_that_lags_behind_repeats_is_not_told_again() {
    let lines = vec![list_ends(5), event("ADDED", node("a", 6)), event("DELETED", node("a", 7))];
    let repeated = vec![
        event("ADDED", node("a", 6)),
        event("BOOKMARK", node("", 6)),
        event("DELETED", node("a", 7)),
        event("ADDED", node("b", 8)),
    ];
    let mut server = TestServer::start(vec![
        Reply::Lines(lines, Then::Break),
        Reply::Lines(repeated, Then::End),
    ])
    .await;
    let mut watching = Watching::start(&server, Kind::Node);
    assert_eq!(watching.told(4).await, ["synced", "+a@6", "-a", "stale"]);
    assert_eq!(watching.told(2).await, ["synced", "+b@8"]);
    for _ in 0..2 {
        server.asked().await;
    }
    let after = server.asked().await.line;
    assert!(after.ends_with("&resourceVersion=8"), "{after}");
}

#[tokio::test]
async fn a_server_that_was_set_back_is_listed_again() {
    let server = TestServer::start(vec![
        Reply::Lines(vec![event("ADDED", node("a", 90)), list_ends(90)], Then::Break),
        refusal(504, "Timeout"),
        Reply::Lines(vec![event("ADDED", node("b", 3)), list_ends(5)], Then::Break),
        Reply::Lines(vec![event("ADDED", node("c", 6))], Then::Hold),
    ])
    .await;
    let mut watching = Watching::start(&server, Kind::Node);
    assert_eq!(watching.told(6).await, ["+a@90", "synced", "stale", "+b@3", "-a", "synced"]);
    assert_eq!(watching.told(2).await, ["stale", "+c@6"]);
}

#[tokio::test]
async fn what_vanished_while_the_server_forgot_is_told_as_deleted() {
    let expired = event("ERROR", json!({"kind": "Status", "code": 410, "reason": "Expired"}));
    let first =
        vec![event("ADDED", node("a", 1)), event("ADDED", node("b", 2)), list_ends(5), expired];
    let second = vec![event("ADDED", node("b", 2)), event("ADDED", node("c", 8)), list_ends(9)];
    let server = TestServer::start(vec![
        Reply::Lines(first, Then::End),
        Reply::Lines(second, Then::End),
        refusal(410, "Expired"),
        Reply::Lines(vec![event("ADDED", node("c", 8)), list_ends(12)], Then::Hold),
    ])
    .await;
    let mut watching = Watching::start(&server, Kind::Node);
    assert_eq!(watching.told(3).await, ["+a@1", "+b@2", "synced"]);
    assert_eq!(watching.told(4).await, ["stale", "+c@8", "-a", "synced"]);
    assert_eq!(watching.told(3).await, ["stale", "-b", "synced"]);
}

#[tokio::test]
async fn what_vanished_while_a_list_was_read_page_by_page_is_told_as_deleted() {
    let list = |names: &[&str], more: &str| {
        let items: Vec<_> = names.iter().map(|it| node(it, 1)).collect();
        let metadata = json!({"resourceVersion": "9", "continue": more});
        Reply::Json(200, json!({"metadata": metadata, "items": items}))
    };
    let server = TestServer::start(vec![
        refusal(422, "Invalid"),
        list(&["a", "b"], "more"),
        // The rest is forgotten; meanwhile "a" was deleted.
        refusal(410, "Expired"),
        list(&["b", "c"], ""),
        Reply::Lines(vec![], Then::Hold),
    ])
    .await;
    let mut watching = Watching::start(&server, Kind::Node);
    assert_eq!(watching.told(5).await, ["+a@1", "+b@1", "+c@1", "-a", "synced"]);
}

#[tokio::test(start_paused = true)]
async fn a_watch_waits_for_as_long_as_a_busy_server_asks() {
    let lines = vec![event("ADDED", node("a", 3)), list_ends(5)];
    let server = TestServer::start(vec![Reply::Busy(20), Reply::Lines(lines, Then::Hold)]).await;
    let begun = tokio::time::Instant::now();
    let mut watching = Watching::start(&server, Kind::Node);
    assert_eq!(watching.told(2).await, ["+a@3", "synced"]);
    assert!(begun.elapsed() >= Duration::from_secs(20), "{:?}", begun.elapsed());
}

#[tokio::test]
async fn an_object_that_cannot_be_read_is_left_out_and_the_others_are_told() {
    let broken = json!({"metadata": {"name": "broken", "labels": 7, "resourceVersion": "2"}});
    let lines = vec![event("ADDED", broken), event("ADDED", node("a", 3)), list_ends(5)];
    let server = TestServer::start(vec![Reply::Lines(lines, Then::Hold)]).await;
    let mut watching = Watching::start(&server, Kind::Node);
    assert_eq!(watching.told(2).await, ["+a@3", "synced"]);
}

#[tokio::test]
async fn the_end_of_an_object_is_told_though_its_last_state_cannot_be_read() {
    let broken = json!({"metadata": {"name": "a", "labels": 7, "resourceVersion": "6"}});
    let lines = vec![event("ADDED", node("a", 3)), list_ends(5), event("DELETED", broken)];
    let server = TestServer::start(vec![Reply::Lines(lines, Then::Hold)]).await;
    let mut watching = Watching::start(&server, Kind::Node);
    assert_eq!(watching.told(3).await, ["+a@3", "synced", "-a"]);
}

#[tokio::test]
async fn a_list_that_breaks_off_is_not_taken_for_complete() {
    let server = TestServer::start(vec![
        Reply::Lines(vec![event("ADDED", node("a", 1))], Then::End),
        Reply::Lines(vec![event("ADDED", node("b", 2)), list_ends(5)], Then::Hold),
    ])
    .await;
    let mut watching = Watching::start(&server, Kind::Node);
    assert_eq!(watching.told(4).await, ["+a@1", "+b@2", "-a", "synced"]);
}

#[tokio::test]
async fn a_kind_that_is_not_served_has_no_objects() {
    let server = TestServer::start(vec![refusal(404, "NotFound")]).await;
    let mut watching = Watching::start(&server, Kind::ResourceClaim);
    assert_eq!(watching.told(1).await, ["synced"]);
}

#[tokio::test]
async fn an_interruption_of_other_kinds_holds_nothing_up() {
    let namespace = vec![event("ADDED", node("later", 6))];
    let server = TestServer::start(vec![
        Reply::Lines(vec![list_ends(5)], Then::Break),
        Reply::Lines(namespace, Then::Hold),
    ])
    .await;
    let mut watching = Watching::start(&server, Kind::Namespace);
    assert_eq!(watching.told(2).await, ["synced", "+later@6"]);
}

#[tokio::test]
async fn a_watch_that_is_refused_is_tried_again() {
    let server = TestServer::start(vec![
        refusal(403, "Forbidden"),
        refusal(503, "ServiceUnavailable"),
        Reply::Lines(vec![list_ends(5)], Then::Hold),
    ])
    .await;
    let mut watching = Watching::start(&server, Kind::Node);
    assert_eq!(watching.told(1).await, ["synced"]);
}

#[tokio::test]
async fn a_pod_arrives_with_what_decisions_depend_on() {
    let pod = json!({
        "metadata": {"name": "web", "namespace": "shop", "uid": "u", "resourceVersion": "3",
                     "managedFields": [{"manager": "kubectl"}]},
        "spec": {"schedulerName": "mine", "containers": [{"name": "a", "image": "pause"}]},
    });
    let lines = vec![event("ADDED", pod), list_ends(5)];
    let server = TestServer::start(vec![Reply::Lines(lines, Then::Hold)]).await;
    let mut watching = Watching::start(&server, Kind::Pod);
    let Some(Told::Change(ClusterChange::Applied(Object::Pod(pod)))) = watching.told.recv().await
    else {
        panic!("no pod was told of")
    };
    assert_eq!(pod.key().to_string(), "shop/web");
    assert_eq!(pod.scheduler_name(), "mine");
}

#[tokio::test]
async fn a_watch_that_is_ended_says_so_last_and_begins_anew_when_it_is_asked_for_again() {
    let lines = || vec![event("ADDED", node("a", 1)), list_ends(1)];
    let replies = vec![Reply::Lines(lines(), Then::Hold), Reply::Lines(lines(), Then::Hold)];
    let server = TestServer::start(replies).await;
    let mut watching = Watching::start(&server, Kind::Node);
    assert_eq!(watching.told(2).await, ["+a@1", "synced"]);
    watching.watches.end(Kind::Node).await;
    assert_eq!(watching.watches.kinds().count(), 0);
    watching.watches.add(Kind::Node);
    assert_eq!(watching.told(3).await, ["ended", "+a@1", "synced"]);
}

#[tokio::test]
async fn objects_of_an_extra_kind_are_told_as_facts_and_confirmed_while_the_watch_is_well() {
    let mut report = node("n1", 1);
    report["metadata"]["namespace"] = json!("gpu");
    report["metadata"]["managedFields"] = json!([{"manager": "x"}]);
    report["spec"] = json!({"load": 7});
    let mut last = report.clone();
    last["metadata"]["resourceVersion"] = json!("2");
    let lines = vec![event("ADDED", report), list_ends(1), event("DELETED", last)];
    let mut server = TestServer::start(vec![Reply::Lines(lines, Then::Hold)]).await;
    let feed = WatchedFeed {
        name: "gpu".into(),
        api_version: "example.com/v1".to_owned(),
        plural: "reports".to_owned(),
        epoch: tokio::time::Instant::now(),
    };
    let (tell, mut told) = mpsc::channel(10);
    let none = BTreeSet::new();
    let watches = Watches::start(&server.rest(), &none, &WatchOptions::default(), &tell);
    let task = tokio::spawn(watches.feed(feed));
    let line = server.asked().await.line;
    assert!(line.starts_with("GET /apis/example.com/v1/reports?watch=true"), "{line}");
    let mut next = async || match told.recv().await.unwrap() {
        Told::Change(ClusterChange::Facts { feed, facts }) => {
            let [NewFact { key, value, .. }] = &facts[..] else { panic!("{facts:?}") };
            let load = value.as_ref().map(|it| (&it["spec"]["load"], &it["metadata"]));
            format!("{feed} {key} {load:?}")
        }
        Told::Change(ClusterChange::FactsConfirmed { feed, .. }) => format!("{feed} confirmed"),
        other => format!("{other:?}"),
    };
    let first = next().await;
    assert!(first.starts_with("gpu gpu/n1 Some((Number(7)"), "{first}");
    assert!(!first.contains("managedFields"), "{first}");
    assert_eq!(next().await, "gpu confirmed");
    assert_eq!(next().await, "gpu gpu/n1 None");
    task.abort();
}

mod silence;
