use std::time::Duration;

use serde_json::{Value, json};

use super::*;
use crate::test_server::{Reply, TestServer, refusal};

fn options() -> ElectionOptions {
    ElectionOptions {
        namespace: "kube-system".to_owned(),
        name: "kube-scheduler".to_owned(),
        identity: "host_1".to_owned(),
        reporter: "default-scheduler".to_owned(),
        lease_duration: Duration::from_mins(3),
        renew_deadline: Duration::from_mins(2),
        retry_period: Duration::from_mins(1),
    }
}

fn lease(holder: &str) -> Value {
    json!({
        "metadata": {"name": "kube-scheduler", "uid": "u", "resourceVersion": "7"},
        "spec": {"holderIdentity": holder, "leaseDurationSeconds": 180, "leaseTransitions": 0},
    })
}

const LEASES: &str = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases";
const EVENTS: &str = "/apis/events.k8s.io/v1/namespaces/kube-system/events";

#[tokio::test]
async fn a_lease_is_taken_with_an_event_and_given_up_with_another() {
    let event = || Reply::Json(201, json!({}));
    let mut server = TestServer::start(vec![
        refusal(404, "NotFound"),
        Reply::Json(201, lease("host_1")),
        event(),
        Reply::Json(200, lease("host_1")),
        Reply::Json(200, lease("")),
        event(),
    ])
    .await;
    let election = Election::start(&server.rest(), options());
    election.fence().opened().await;
    assert!(election.status().is_leader());
    assert_eq!(server.asked().await.line, format!("GET {LEASES}/kube-scheduler"));
    let created = server.asked().await;
    assert_eq!(created.line, format!("POST {LEASES}"));
    assert_eq!(created.body["spec"]["holderIdentity"], "host_1");
    let event = server.asked().await;
    assert_eq!(event.line, format!("POST {EVENTS}"));
    assert_eq!(event.body["note"], "host_1 became leader");
    assert_eq!(event.body["reason"], "LeaderElection");
    assert_eq!(event.body["regarding"]["kind"], "Lease");
    assert_eq!(event.body["regarding"]["uid"], "u");
    let fence = election.fence();
    election.release().await;
    assert!(!fence.is_open());
    assert_eq!(server.asked().await.line, format!("GET {LEASES}/kube-scheduler"));
    let released = server.asked().await;
    assert_eq!(released.line, format!("PUT {LEASES}/kube-scheduler"));
    assert_eq!(released.body["spec"]["holderIdentity"], "");
    assert_eq!(released.body["metadata"]["resourceVersion"], "7");
    assert_eq!(server.asked().await.body["note"], "host_1 stopped leading");
}

#[tokio::test]
async fn a_candidate_that_never_led_gives_nothing_up() {
    let mut server = TestServer::start(vec![Reply::Json(200, lease("other"))]).await;
    let election = Election::start(&server.rest(), options());
    assert_eq!(server.asked().await.line, format!("GET {LEASES}/kube-scheduler"));
    election.release().await;
    assert!(server.asked.try_recv().is_err());
}

#[tokio::test]
async fn a_leader_hears_that_another_has_taken_the_lease() {
    let mut server = TestServer::start(vec![
        refusal(404, "NotFound"),
        Reply::Json(201, lease("host_1")),
        Reply::Json(201, json!({})),
        refusal(409, "Conflict"),
        Reply::Json(200, lease("other")),
    ])
    .await;
    let mut quick = options();
    quick.retry_period = Duration::from_millis(1);
    let mut election = Election::start(&server.rest(), quick);
    assert_eq!(election.lost().await, Loss::Taken("other".to_owned()));
    assert!(!election.fence().is_open());
    assert!(server.asked().await.line.starts_with("GET"));
}
