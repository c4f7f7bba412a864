use super::*;
use crate::test_server::{Reply, TestServer};

async fn client(server: &TestServer, node_cache_capable: bool) -> ExtenderClient {
    let settings = Extender {
        url_prefix: format!("{}/scheduler/", server.url()),
        filter_verb: "filter".to_owned(),
        prioritize_verb: "prioritize".to_owned(),
        preempt_verb: "preempt".to_owned(),
        bind_verb: "bind".to_owned(),
        node_cache_capable,
        ..Extender::default()
    };
    ExtenderClient::new(&settings).await.unwrap()
}

fn node(name: &str) -> Arc<NodeInfo> {
    let node: Node = serde_json::from_value(json!({"metadata": {"name": name}})).unwrap();
    Arc::new(NodeInfo::new(Arc::new(node)))
}

fn pod(name: &str) -> PodInfo {
    let meta = json!({"name": name, "namespace": "ns", "uid": format!("uid-{name}")});
    PodInfo::new(Arc::new(serde_json::from_value(json!({"metadata": meta})).unwrap()))
}

fn names(rejected: &[Rejected]) -> Vec<(&str, &str, bool)> {
    rejected.iter().map(|it| (&*it.node, &*it.message, it.unresolvable)).collect()
}

#[tokio::test]
async fn filter_sends_whole_nodes_and_takes_what_is_not_named_as_refused() {
    let answer = json!({
        "Nodes": {"items": [{"metadata": {"name": "n2"}}]},
        "FailedNodes": {"n1": "no licence"},
        "FailedAndUnresolvableNodes": {"n3": "wrong colour"},
    });
    let mut server = TestServer::start(vec![Reply::Json(200, answer)]).await;
    let client = client(&server, false).await;
    let nodes = [node("n1"), node("n2"), node("n3")];
    let rejected = client.filter(&pod("p"), &nodes).await.unwrap();
    assert_eq!(names(&rejected), [("n1", "no licence", false), ("n3", "wrong colour", true)]);
    let asked = server.asked().await;
    assert_eq!(asked.line, "POST /scheduler/filter");
    assert_eq!(asked.body["Pod"]["metadata"]["name"], "p");
    assert_eq!(asked.body["Nodes"]["items"][2]["metadata"]["name"], "n3");
    assert_eq!(asked.body["NodeNames"], Value::Null);
}

#[tokio::test]
async fn filter_of_an_extender_with_a_cache_sends_and_takes_names() {
    let answer = json!({"nodenames": ["n1"], "failedNodes": {"n2": "full"}});
    let mut server = TestServer::start(vec![Reply::Json(200, answer)]).await;
    let client = client(&server, true).await;
    let rejected = client.filter(&pod("p"), &[node("n1"), node("n2")]).await.unwrap();
    assert_eq!(names(&rejected), [("n2", "full", false)]);
    assert_eq!(server.asked().await.body["NodeNames"], json!(["n1", "n2"]));
}

#[tokio::test]
async fn filter_fails_by_the_extenders_word_and_by_a_node_that_was_not_asked_about() {
    let replies = vec![
        Reply::Json(200, json!({"Error": "database is gone"})),
        Reply::Json(200, json!({"NodeNames": ["n9"]})),
    ];
    let server = TestServer::start(replies).await;
    let client = client(&server, true).await;
    let error = client.filter(&pod("p"), &[node("n1")]).await.unwrap_err();
    assert_eq!(error, "database is gone");
    let error = client.filter(&pod("p"), &[node("n1")]).await.unwrap_err();
    assert!(error.contains("claims a filtered node \"n9\""), "{error}");
}

#[tokio::test]
async fn an_answer_that_is_no_answer_names_the_extender_and_the_verb() {
    let replies = vec![Reply::Json(500, json!("boom")), Reply::Json(200, json!([1]))];
    let server = TestServer::start(replies).await;
    let client = client(&server, false).await;
    for _ in 0..2 {
        let error = client.filter(&pod("p"), &[node("n1")]).await.unwrap_err();
        assert!(error.starts_with(&format!("extender {} (filter): ", client.name())), "{error}");
    }
}

#[tokio::test]
async fn prioritize_gives_the_points_as_they_come() {
    let answer = json!([{"Host": "n1", "Score": 7}, {"host": "n2", "score": 0}]);
    let server = TestServer::start(vec![Reply::Json(200, answer)]).await;
    let client = client(&server, false).await;
    let points = client.prioritize(&pod("p"), &[node("n1"), node("n2")]).await.unwrap();
    let points: Vec<_> = points.iter().map(|it| (&*it.node, it.score)).collect();
    assert_eq!(points, [("n1", 7), ("n2", 0)]);
}

#[tokio::test]
async fn preempt_sends_victims_by_uid_to_an_extender_with_a_cache() {
    let kept = json!({"n1": {"Pods": [{"UID": "uid-v"}], "NumPDBViolations": 1}});
    let answer = json!({"NodeNameToMetaVictims": kept});
    let mut server = TestServer::start(vec![Reply::Json(200, answer)]).await;
    let client = client(&server, true).await;
    let candidate =
        Candidate { node: "n1".into(), victims: vec![Arc::new(pod("v"))], num_pdb_violations: 1 };
    let found = client.preempt(&pod("p"), &[candidate]).await.unwrap();
    let expected =
        Preempted { node: "n1".into(), victims: vec!["uid-v".into()], num_pdb_violations: 1 };
    assert_eq!(found, [expected]);
    assert_eq!(server.asked().await.body["NodeNameToMetaVictims"], kept);
}

#[tokio::test]
async fn bind_names_pod_uid_and_node_and_fails_by_the_extenders_word() {
    let replies = vec![Reply::Json(200, json!({})), Reply::Json(200, json!({"Error": "taken"}))];
    let mut server = TestServer::start(replies).await;
    let client = client(&server, false).await;
    client.bind(&pod("p"), "n1").await.unwrap();
    let expected = json!({
        "PodName": "p", "PodNamespace": "ns", "PodUID": "uid-p", "Node": "n1",
    });
    assert_eq!(server.asked().await.body, expected);
    assert_eq!(client.bind(&pod("p"), "n1").await.unwrap_err(), "taken");
}
