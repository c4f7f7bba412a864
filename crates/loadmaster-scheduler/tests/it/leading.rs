//! Several copies, of which one works.

use std::sync::Arc;

use loadmaster_lab::resources::Collection;
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::kit::{Lab, Scheduler};

/// Times that are short, and still long enough for a busy machine.
const QUICK: [&str; 3] = [
    "--leader-elect-lease-duration=5s",
    "--leader-elect-renew-deadline=4s",
    "--leader-elect-retry-period=500ms",
];

/// One of several copies.
fn copy(lab: &Lab) -> Scheduler {
    Scheduler::start(&[&QUICK[..], &lab.access()].concat())
}

async fn leader(lab: &Lab) -> Scheduler {
    let mut scheduler = copy(lab);
    scheduler.says("Successfully acquired lease").await;
    scheduler
}

async fn standby(lab: &Lab) -> Scheduler {
    let mut scheduler = copy(lab);
    scheduler.says("new leader elected").await;
    scheduler
}

async fn lease(lab: &Lab, what: &str, found: impl Fn(&Value) -> bool) -> Value {
    let ours = |it: &Value| {
        let spec = &it["spec"];
        (it["metadata"]["name"] == "kube-scheduler" && found(spec)).then(|| spec.clone())
    };
    lab.wait(Collection::LEASES, what, ours).await
}

fn bound(pods: &[Arc<Value>]) -> usize {
    pods.iter()
        .filter(|it| it["spec"]["nodeName"].as_str().is_some_and(|it| !it.is_empty()))
        .count()
}

fn add_pods(lab: &Lab, range: std::ops::Range<usize>) {
    for pod in range {
        lab.add_pod(&format!("p{pod}"), "default-scheduler", json!({}));
    }
}

#[tokio::test]
async fn when_the_leader_is_killed_another_takes_over_and_nothing_is_scheduled_twice() {
    const PODS: usize = 60;
    let lab = Lab::start(10_000).await;
    lab.add_node("n1");
    lab.add_node("n2");
    let first = leader(&lab).await;
    let held = lease(&lab, "leader", |it| it["holderIdentity"] != "").await;
    let mut second = standby(&lab).await;
    add_pods(&lab, 0..PODS / 2);
    let some = |it: &[Arc<Value>]| (bound(it) >= 5).then_some(());
    lab.wait_all(Collection::PODS, "bound pods", some).await;
    first.stop(Signal::KILL).await;
    add_pods(&lab, PODS / 2..PODS);
    let all = |it: &[Arc<Value>]| (bound(it) == PODS).then_some(());
    lab.wait_all(Collection::PODS, "end of the takeover", all).await;
    let now = lease(&lab, "new leader", |it| it["holderIdentity"] != held["holderIdentity"]).await;
    assert_eq!(now["leaseTransitions"], 1);
    let before = second.until("Successfully acquired lease").await.join("\n");
    assert!(!before.contains("node chosen"), "{before}");
    let (_, after) = second.stop(Signal::TERM).await;
    let after = after.join("\n");
    assert!(after.contains("node chosen") && !after.contains("binding failed"), "{after}");
}

#[tokio::test]
async fn a_leader_that_is_stopped_leaves_the_lease_to_others_at_once() {
    let lab = Lab::start(1000).await;
    let first = leader(&lab).await;
    let held = lease(&lab, "leader", |it| it["holderIdentity"] != "").await;
    assert_eq!(held["leaseDurationSeconds"], 5);
    let identity = held["holderIdentity"].as_str().unwrap();
    let event = lab.event("kube-scheduler", "LeaderElection").await;
    assert_eq!(event["message"], format!("{identity} became leader"));
    assert_eq!(event["involvedObject"]["kind"], "Lease");
    let (status, log) = first.stop(Signal::TERM).await;
    assert_eq!(status.code(), Some(0), "{log:#?}");
    let free = lease(&lab, "free lease", |it| it["holderIdentity"] == "").await;
    assert_eq!(free["leaseDurationSeconds"], 1);
    leader(&lab).await;
}

#[tokio::test]
async fn a_leader_that_cannot_renew_ends_with_1_and_a_waiting_copy_with_0() {
    let lab = Lab::start(1000).await;
    let first = leader(&lab).await;
    let second = standby(&lab).await;
    let (status, _) = second.stop(Signal::TERM).await;
    assert_eq!(status.code(), Some(0));
    lab.cut();
    let (status, log) = first.ended().await;
    assert_eq!(status.code(), Some(1), "{log:#?}");
    assert!(log.iter().any(|it| it.contains("Leaderelection lost")), "{log:#?}");
}
