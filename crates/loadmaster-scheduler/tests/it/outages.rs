//! A cluster that goes away and comes back.

use rustix::process::Signal;
use serde_json::json;

use crate::kit::{Lab, Scheduler};

#[tokio::test]
async fn what_happened_while_the_line_was_cut_is_made_up_for() {
    // A history of one change: watches cannot resume and must list again.
    let lab = Lab::start(1).await;
    lab.add_node("old");
    let mut scheduler = Scheduler::of(&lab, &[]).await;
    let on_new = json!({"nodeSelector": {"kubernetes.io/hostname": "new"}});
    lab.add_pod("waits", "default-scheduler", on_new);
    lab.event("waits", "FailedScheduling").await;
    lab.cut();
    scheduler.says("the API server cannot be reached").await;
    lab.remove_node("old");
    lab.add_node("new");
    lab.mend();
    scheduler.says("the API server answers again").await;
    assert_eq!(lab.node_of("waits").await, "new");
    lab.add_pod("web", "default-scheduler", json!({}));
    assert_eq!(lab.node_of("web").await, "new");
    lab.event("web", "Scheduled").await;
    let (status, _) = scheduler.stop(Signal::TERM).await;
    assert_eq!(status.code(), Some(0));
}

#[tokio::test]
async fn it_stops_on_request_while_the_server_is_away() {
    let lab = Lab::start(1000).await;
    let mut scheduler = Scheduler::of(&lab, &[]).await;
    lab.cut();
    scheduler.says("the API server cannot be reached").await;
    let (status, log) = scheduler.stop(Signal::TERM).await;
    assert_eq!(status.code(), Some(0), "{log:#?}");
}
