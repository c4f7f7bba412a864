//! What the project's own client, `kube`, relies on.

use futures::{Stream, StreamExt as _, pin_mut};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{Binding, Node, Pod};
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::runtime::watcher::{self, Event, watcher};
use kube::{Api, Client, ResourceExt as _};
use loadmaster_lab::resources::Collection;
use loadmaster_lab::server::Options;
use serde_json::json;

use crate::support::{lab, lab_with, make, pod};

const PODS: Collection = Collection::PODS;

fn pods(client: &Client) -> Api<Pod> {
    Api::namespaced(client.clone(), "ns")
}

/// The next event, shown as `applied p0`, `init`, `failed`.
async fn shown(stream: &mut (impl Stream<Item = watcher::Result<Event<Pod>>> + Unpin)) -> String {
    match stream.next().await.unwrap() {
        Ok(Event::Init) => "init".to_owned(),
        Ok(Event::InitApply(pod)) => format!("listed {}", pod.name_any()),
        Ok(Event::InitDone) => "done".to_owned(),
        Ok(Event::Apply(pod)) => format!("applied {}", pod.name_any()),
        Ok(Event::Delete(pod)) => format!("deleted {}", pod.name_any()),
        Err(_) => "failed".to_owned(),
    }
}

async fn expect(
    stream: &mut (impl Stream<Item = watcher::Result<Event<Pod>>> + Unpin),
    events: &[&str],
) {
    for expected in events {
        assert_eq!(shown(stream).await, *expected);
    }
}

#[tokio::test]
async fn both_strategies_of_kubes_watcher_list_and_follow() {
    for config in [watcher::Config::default(), watcher::Config::default().streaming_lists()] {
        let (server, client) = lab().await;
        make(&server, PODS, "ns", pod("p0"));
        make(&server, PODS, "ns", pod("p1"));
        let stream = watcher(pods(&client), config);
        pin_mut!(stream);
        expect(&mut stream, &["init", "listed p0", "listed p1", "done"]).await;
        make(&server, PODS, "ns", pod("p2"));
        expect(&mut stream, &["applied p2"]).await;
        pods(&client).delete("p0", &DeleteParams::default()).await.unwrap();
        expect(&mut stream, &["applied p0", "deleted p0"]).await;
    }
}

#[tokio::test]
async fn a_list_in_pages_is_one_consistent_list() {
    let (server, client) = lab().await;
    for index in 0..5 {
        make(&server, PODS, "ns", pod(&format!("p{index}")));
    }
    let stream = watcher(pods(&client), watcher::Config::default().page_size(2));
    pin_mut!(stream);
    expect(&mut stream, &["init", "listed p0", "listed p1"]).await;
    // What is deleted between two pages is still on its page, and gone right after the list.
    pods(&client).delete("p4", &DeleteParams::default()).await.unwrap();
    expect(&mut stream, &["listed p2", "listed p3", "listed p4", "done"]).await;
    expect(&mut stream, &["applied p4", "deleted p4"]).await;
}

#[tokio::test]
async fn a_watcher_that_fell_behind_lists_again() {
    let (server, client) = lab_with(Options { history: 2, ..Options::default() }).await;
    make(&server, PODS, "ns", pod("p0"));
    let stream = watcher(pods(&client), watcher::Config::default());
    pin_mut!(stream);
    expect(&mut stream, &["init", "listed p0", "done"]).await;
    for value in ["1", "2", "3", "4"] {
        server
            .store()
            .edit(PODS, "ns", "p0", |it| it["metadata"]["labels"] = json!({"v": value}))
            .unwrap();
    }
    expect(&mut stream, &["failed", "init", "listed p0", "done"]).await;
}

#[tokio::test]
async fn a_scheduler_binds_a_pod_and_reports_another() {
    let (server, client) = lab().await;
    make(&server, PODS, "ns", pod("fits"));
    make(&server, PODS, "ns", pod("waits"));
    let api = pods(&client);
    let uid = api.get("fits").await.unwrap().uid().unwrap();
    let binding: Binding = serde_json::from_value(json!({
        "metadata": {"name": "fits", "namespace": "ns", "uid": uid},
        "target": {"kind": "Node", "name": "n1"},
    }))
    .unwrap();
    let _: serde_json::Value =
        api.create_subresource("binding", "fits", &PostParams::default(), &binding).await.unwrap();
    let bound = api.list(&ListParams::default().fields("spec.nodeName=n1")).await.unwrap();
    assert_eq!(bound.items.len(), 1);
    let condition = json!({"status": {"conditions": [{"type": "PodScheduled", "status": "False",
        "reason": "Unschedulable", "message": "0/1 nodes are available"}]}});
    let params = PatchParams::default();
    api.patch_status("waits", &params, &Patch::Strategic(&condition)).await.unwrap();
    let status = api.get_status("waits").await.unwrap().status.unwrap();
    assert_eq!(status.conditions.unwrap()[0].reason.as_deref(), Some("Unschedulable"));
    assert_eq!(status.phase.as_deref(), Some("Pending"));
}

#[tokio::test]
async fn a_lease_changes_hands_only_with_the_last_version() {
    let (_server, client) = lab().await;
    let leases: Api<Lease> = Api::namespaced(client, "ns");
    let lease: Lease = serde_json::from_value(json!({"metadata": {"name": "leader"},
        "spec": {"holderIdentity": "a", "leaseDurationSeconds": 15}}))
    .unwrap();
    let first = leases.create(&PostParams::default(), &lease).await.unwrap();
    let mut renewed = first.clone();
    renewed.spec.as_mut().unwrap().holder_identity = Some("b".to_owned());
    leases.replace("leader", &PostParams::default(), &renewed).await.unwrap();
    let late = leases.replace("leader", &PostParams::default(), &first).await.unwrap_err();
    let kube::Error::Api(status) = late else { panic!("{late}") };
    assert_eq!((status.code, status.reason.as_str()), (409, "Conflict"));
}

#[tokio::test]
async fn workloads_are_applied_scaled_and_deleted_as_collections() {
    let (_server, client) = lab().await;
    let deployments: Api<Deployment> = Api::namespaced(client, "ns");
    let wanted = json!({"apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": "web"}, "spec": {"replicas": 1,
            "selector": {"matchLabels": {"app": "web"}},
            "template": {"metadata": {"labels": {"app": "web"}},
                "spec": {"containers": [{"name": "c", "image": "i:1"}]}}}});
    let params = PatchParams::apply("test").force();
    let made = deployments.patch("web", &params, &Patch::Apply(&wanted)).await.unwrap();
    let again = deployments.patch("web", &params, &Patch::Apply(&wanted)).await.unwrap();
    assert_eq!(again.resource_version(), made.resource_version());
    let three = json!({"spec": {"replicas": 3}});
    let scale =
        deployments.patch_scale("web", &PatchParams::default(), &Patch::Merge(&three)).await;
    assert_eq!(scale.unwrap().spec.unwrap().replicas, Some(3));
    let deleted = deployments
        .delete_collection(&DeleteParams::default(), &ListParams::default())
        .await
        .unwrap();
    assert_eq!(deleted.left().unwrap().items.len(), 1);
    assert!(deployments.get_opt("web").await.unwrap().is_none());
}

#[tokio::test]
async fn a_new_node_waits_for_its_readiness() {
    let (_server, client) = lab().await;
    let nodes: Api<Node> = Api::all(client);
    let node: Node = serde_json::from_value(json!({"metadata": {"name": "n1"},
        "status": {"capacity": {"cpu": "4", "pods": "110"}}}))
    .unwrap();
    let made = nodes.create(&PostParams::default(), &node).await.unwrap();
    let taints = made.spec.unwrap().taints.unwrap();
    assert_eq!(taints[0].key, "node.kubernetes.io/not-ready");
    let status = made.status.unwrap();
    assert_eq!(status.allocatable, status.capacity);
}
