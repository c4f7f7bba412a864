use std::sync::Arc;

use loadmaster_core::scheduler::{EventRecord, EventType};
use serde_json::json;

use super::*;
use crate::{
    events::recorder,
    test_server::{Reply, TestServer, Then, refusal},
};

fn actor(server: &TestServer) -> Actor {
    let (recorder, _) = recorder(server.rest(), "host");
    Actor::new(server.rest(), recorder)
}

fn pod() -> Arc<PodInfo> {
    let json = json!({"metadata": {
        "name": "web", "namespace": "shop", "uid": "u1", "resourceVersion": "7"}});
    Arc::new(PodInfo::new(Arc::new(serde_json::from_value::<Pod>(json).unwrap())))
}

fn bind() -> Work {
    let pod = pod();
    Work::Do(Action::Bind { pod: pod.key(), uid: pod.uid().clone(), node: "n1".into() })
}

async fn done(actor: &Actor, work: Work) -> ActionResult {
    match actor.act(work).await {
        Some(WorkResult::Done(result)) => result,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_binding_names_the_node_and_the_pod_by_its_uid() {
    let answer = json!({"kind": "Status", "status": "Success"});
    let mut server = TestServer::start(vec![Reply::Json(201, answer.clone())]).await;
    assert_eq!(done(&actor(&server), bind()).await, Ok(answer));
    let asked = server.asked().await;
    assert_eq!(asked.line, "POST /api/v1/namespaces/shop/pods/web/binding");
    assert_eq!(asked.body["metadata"]["uid"], "u1");
    assert_eq!(asked.body["target"], json!({"kind": "Node", "name": "n1"}));
}

#[tokio::test]
async fn a_failed_call_is_told_by_what_is_known_of_it() {
    let server = TestServer::start(vec![
        refusal(404, "NotFound"),
        refusal(409, "Conflict"),
        refusal(403, "Forbidden"),
        refusal(500, "InternalError"),
        Reply::Nothing,
    ])
    .await;
    let actor = actor(&server);
    let told = |text: &str| format!("refused: {text}");
    assert_eq!(done(&actor, bind()).await, Err(ActionError::NotFound(told("NotFound"))));
    assert_eq!(done(&actor, bind()).await, Err(ActionError::Conflict(told("Conflict"))));
    assert_eq!(done(&actor, bind()).await, Err(ActionError::Refused(told("Forbidden"))));
    assert!(matches!(done(&actor, bind()).await, Err(ActionError::Unknown(_))));
    assert!(matches!(done(&actor, bind()).await, Err(ActionError::Unknown(_))));
}

#[tokio::test(start_paused = true)]
async fn an_action_of_the_programs_own_runs_by_its_name_and_whatever_it_does_is_answered() {
    let mut actions = Actions::default();
    let action: CustomAction = Arc::new(|input: Value| {
        Box::pin(async move {
            match input["do"].as_str() {
                Some("hang") => std::future::pending().await,
                Some("panic") => panic!("no licence server"),
                _ => Ok(json!({"granted": input["seats"]})),
            }
        })
    });
    assert!(actions.insert("licence".to_owned(), Arc::clone(&action)));
    assert!(!actions.insert("licence".to_owned(), action), "the name is taken");
    let server = TestServer::start(vec![]).await;
    let actor = actor(&server).with_actions(actions);
    let custom = |name: &str, input: Value| Work::Do(Action::Custom { name: name.into(), input });
    let granted = done(&actor, custom("licence", json!({"seats": 2}))).await;
    assert_eq!(granted, Ok(json!({"granted": 2})));
    let panicked = done(&actor, custom("licence", json!({"do": "panic"}))).await;
    let text = "action \"licence\" panicked: no licence server".to_owned();
    assert_eq!(panicked, Err(ActionError::Unknown(text)));
    let cut_off = done(&actor, custom("licence", json!({"do": "hang"}))).await;
    let text = "action \"licence\" has not ended within 30 s".to_owned();
    assert_eq!(cut_off, Err(ActionError::Unknown(text)));
    let unknown = done(&actor, custom("license", json!({}))).await.unwrap_err().to_string();
    assert!(unknown.contains("no action named \"license\""), "{unknown}");
}

#[tokio::test]
async fn a_busy_server_is_asked_again_when_it_says() {
    let server = TestServer::start(vec![Reply::Busy(0), Reply::Json(201, json!({}))]).await;
    assert_eq!(done(&actor(&server), bind()).await, Ok(json!({})));
}

#[tokio::test]
async fn a_deletion_has_the_uid_as_precondition() {
    let mut server = TestServer::start(vec![Reply::Json(200, json!({}))]).await;
    done(&actor(&server), Work::DeletePod { pod: pod() }).await.unwrap();
    let asked = server.asked().await;
    assert_eq!(asked.line, "DELETE /api/v1/namespaces/shop/pods/web");
    assert_eq!(asked.body["preconditions"], json!({"uid": "u1"}));
}

#[tokio::test]
async fn a_patch_goes_to_the_subresource_in_its_own_notation() {
    let mut server = TestServer::start(vec![Reply::Json(200, json!({}))]).await;
    let patch = Action::Patch {
        api_version: "resource.k8s.io/v1".into(),
        resource: "resourceclaims".into(),
        key: ObjectKey::new("shop", "gpu"),
        subresource: "status".into(),
        kind: PatchKind::Merge,
        patch: json!({"status": {}}),
    };
    done(&actor(&server), Work::Do(patch)).await.unwrap();
    let asked = server.asked().await;
    assert_eq!(
        asked.line,
        "PATCH /apis/resource.k8s.io/v1/namespaces/shop/resourceclaims/gpu/status"
    );
    assert_eq!(asked.content_type, "application/merge-patch+json");
}

#[tokio::test]
async fn a_pod_is_read_afresh_and_may_be_gone() {
    let server = TestServer::start(vec![
        Reply::Json(200, json!({"metadata": {"name": "web"}, "spec": {"nodeName": "n1"}})),
        refusal(404, "NotFound"),
        refusal(500, "InternalError"),
    ])
    .await;
    let actor = actor(&server);
    let read = async || {
        let work = Work::ReadPod { key: pod().key(), uid: "u1".into() };
        match actor.act(work).await {
            Some(WorkResult::Pod(answer)) => answer,
            other => panic!("{other:?}"),
        }
    };
    let found = read().await.unwrap().unwrap();
    assert_eq!(&**found.as_pod().unwrap().node_name().unwrap(), "n1");
    assert_eq!(read().await, Ok(None));
    assert!(read().await.is_err());
}

fn failed() -> EventRecord {
    EventRecord {
        regarding: pod(),
        related: None,
        kind: EventType::Warning,
        reason: "FailedScheduling",
        action: "Scheduling",
        note: "0/1 nodes are available".to_owned(),
        reporter: "default-scheduler".into(),
    }
}

#[tokio::test]
async fn a_repeated_event_is_written_once_and_then_counted() {
    let mut server = TestServer::start(vec![
        Reply::Json(200, json!({"kind": "APIResourceList"})),
        Reply::Json(201, json!({})),
        Reply::Json(200, json!({})),
    ])
    .await;
    let (recorder, writer) = recorder(server.rest(), "host");
    let writer = tokio::spawn(writer.run());
    let actor = Actor::new(server.rest(), recorder);
    assert!(actor.act(Work::Record(failed())).await.is_none());
    server.asked().await;
    let first = server.asked().await;
    assert_eq!(first.line, "POST /apis/events.k8s.io/v1/namespaces/shop/events");
    actor.act(Work::Record(failed())).await;
    actor.act(Work::Record(failed())).await;
    let second = server.asked().await;
    let name = first.body["metadata"]["name"].as_str().unwrap();
    assert_eq!(second.line, format!("PATCH /apis/events.k8s.io/v1/namespaces/shop/events/{name}"));
    assert_eq!(second.body["series"]["count"], 2);
    drop(actor);
    writer.await.unwrap();
}

#[tokio::test]
async fn a_server_without_the_newer_events_gets_the_older_ones() {
    let mut server =
        TestServer::start(vec![refusal(404, "NotFound"), Reply::Lines(vec![json!({})], Then::End)])
            .await;
    let (recorder, writer) = recorder(server.rest(), "host");
    recorder.record(failed());
    drop(recorder);
    writer.run().await;
    server.asked().await;
    let asked = server.asked().await;
    assert_eq!(asked.line, "POST /api/v1/namespaces/shop/events");
    assert_eq!(asked.body["message"], "0/1 nodes are available");
}
