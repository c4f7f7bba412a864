//! `scheduler doctor` against a cluster.

use serde_json::{Value, json};

use crate::kit::{Lab, Scheduler, run};

/// What the doctor says of `lab`, as JSON, with its exit code.
async fn examined(lab: &Lab, args: &[&str]) -> (i32, Value) {
    let (code, out, log) =
        run(&[&["doctor", "--output=json"], &*lab.access(), args].concat()).await;
    (code, serde_json::from_str(&out).unwrap_or_else(|_| panic!("{out}{log}")))
}

#[tokio::test]
async fn where_no_pod_waits_nothing_is_found() {
    let lab = Lab::start(1000).await;
    let (code, found) = examined(&lab, &[]).await;
    assert_eq!((code, &found["ok"]), (0, &json!(true)), "{found:#}");
}

#[tokio::test]
async fn a_pod_that_no_scheduler_takes_is_told_with_the_name_that_was_meant() {
    let lab = Lab::start(1000).await;
    lab.add_node("n1");
    let _scheduler = Scheduler::of(&lab, &[]).await;
    lab.add_pod("fine", "default-scheduler", json!({}));
    lab.event("fine", "Scheduled").await;
    lab.add_pod("lost", "defualt-scheduler", json!({}));
    let big = json!({"containers": [{
        "name": "main", "image": "pause", "resources": {"requests": {"cpu": "900"}}}]});
    lab.add_pod("big", "default-scheduler", big);
    lab.event("big", "FailedScheduling").await;
    let (code, found) = examined(&lab, &["--for=0s"]).await;
    assert_eq!(code, 1);
    let unclaimed = found["unclaimed"].as_array().unwrap();
    assert_eq!(unclaimed.len(), 1, "{found:#}");
    assert_eq!(unclaimed[0]["pods"], json!(["default/lost"]));
    assert_eq!(unclaimed[0]["nearest"], "default-scheduler");
    let pending = found["pending"].as_array().unwrap();
    assert_eq!(pending.len(), 1, "{found:#}");
    assert_eq!(pending[0]["name"], "big");
    assert!(pending[0]["message"].as_str().unwrap().contains("Insufficient cpu"), "{found:#}");
}

#[tokio::test]
async fn a_gated_pod_is_told_with_its_gates_in_its_own_namespace_alone() {
    let lab = Lab::start(1000).await;
    let gated = json!({"schedulingGates": [{"name": "example.com/quota"}]});
    lab.add_pod("held", "default-scheduler", gated);
    let (code, found) = examined(&lab, &["--for=0s", "--namespace=default"]).await;
    assert_eq!(code, 1);
    assert_eq!(found["gated"][0]["name"], "held", "{found:#}");
    assert_eq!(found["gated"][0]["schedulingGates"], json!(["example.com/quota"]));
    let (code, found) = examined(&lab, &["--for=0s", "--namespace=kube-system"]).await;
    assert_eq!((code, &found["gated"]), (0, &json!([])), "{found:#}");
}
