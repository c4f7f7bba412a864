//! A cluster that goes away and comes back.

use std::sync::Arc;

use loadmaster_lab::resources::Collection;
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::kit::{Lab, Scheduler, free_port, page};

#[tokio::test]
async fn what_happened_while_the_line_was_cut_is_made_up_for() {
    // A history of one change: watches cannot resume and must list again.
    let lab = Lab::start(1).await;
    lab.add_node("old");
    let mut scheduler = Scheduler::of(&lab, &[]).await;
    lab.cut();
    scheduler.says("the API server cannot be reached").await;
    lab.remove_node("old");
    lab.add_node("new");
    lab.add_pod("web", "default-scheduler", json!({}));
    lab.mend();
    scheduler.says("the API server answers again").await;
    assert_eq!(lab.node_of("web").await, "new");
    lab.event("web", "Scheduled").await;
    let (status, _) = scheduler.stop(Signal::TERM).await;
    assert_eq!(status.code(), Some(0));
}

#[tokio::test]
async fn a_copy_that_contends_waits_for_a_server_that_is_away() {
    let lab = Lab::start(1000).await;
    lab.cut();
    let port = free_port();
    let http = format!("--loopback-http-port={port}");
    let mut scheduler = Scheduler::start(&[&*lab.access(), &[&http]].concat());
    scheduler.says("trying again until it can be used").await;
    assert!(page(port, "/livez").await.ends_with("ok"));
    assert!(page(port, "/readyz").await.starts_with("HTTP/1.1 500"));
    lab.mend();
    scheduler.says("Successfully acquired lease").await;
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

#[tokio::test]
async fn through_many_outages_every_pod_is_bound_and_no_node_is_overfull() {
    const PODS: usize = 24;
    let lab = Lab::start(8).await;
    // Room for eight pods of half a processor each.
    let nodes = ["n1", "n2", "n3", "n4"];
    for node in nodes {
        lab.add_node(node);
    }
    let _scheduler = Scheduler::of(&lab, &[]).await;
    let request = json!({"containers": [{
        "name": "main", "image": "pause", "resources": {"requests": {"cpu": "500m"}}}]});
    for pod in 0..PODS {
        lab.add_pod(&format!("p{pod}"), "default-scheduler", request.clone());
    }
    // Wherever a binding stands when the line is cut, its answer is lost.
    for bound in (2..PODS).step_by(4) {
        let enough = |it: &[Arc<Value>]| (nodes_of(it).len() >= bound).then_some(());
        lab.wait_all(Collection::PODS, "bound pods", enough).await;
        lab.cut();
        lab.mend();
    }
    let all = |it: &[Arc<Value>]| Some(nodes_of(it)).filter(|it| it.len() == PODS);
    let bound = lab.wait_all(Collection::PODS, "end of the outages", all).await;
    for node in nodes {
        assert!(bound.iter().filter(|it| *it == node).count() <= 8, "{bound:?}");
    }
}

/// Where the pods are that are bound.
fn nodes_of(pods: &[Arc<Value>]) -> Vec<String> {
    let node = |it: &Arc<Value>| it["spec"]["nodeName"].as_str().map(str::to_owned);
    pods.iter().filter_map(node).filter(|it| !it.is_empty()).collect()
}
