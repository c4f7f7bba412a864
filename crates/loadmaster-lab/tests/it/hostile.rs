//! Whatever a client sends, it gets an answer that says what is wrong with it, and the controllers
//! go on working.

use loadmaster_lab::cluster::{Cluster, ClusterOptions};
use loadmaster_lab::resources::{Collection, RESOURCES, Resource, Verbs};
use loadmaster_lab::server::LabServer;
use serde_json::{Value, json};

use crate::support::{Events, lab, make, send};

/// Bodies that are no sensible object of any kind.
fn bodies() -> Vec<Vec<u8>> {
    let values = [
        json!(null),
        json!([1]),
        json!("text"),
        json!({"metadata": 5}),
        json!({"metadata": {"name": 5}}),
        json!({"metadata": {"name": "x", "labels": ["a"], "annotations": 7}}),
        json!({"metadata": {"name": "x", "finalizers": {"a": "b"}, "ownerReferences": "me"}}),
        json!({"metadata": {"name": "x", "deletionTimestamp": "soon", "generation": "one"}}),
        json!({"metadata": {"name": "x"}, "spec": "text", "status": []}),
        json!({"metadata": {"name": "x"}, "spec": [null], "status": 1}),
        json!({"metadata": {"name": "x"}, "spec": {"containers": [null, {}], "template": null,
            "selector": null, "replicas": -1, "tolerations": [null], "taints": [null]}}),
        json!({"metadata": {"name": "x", "resourceVersion": "many", "uid": "1"}, "value": "high",
            "data": [1], "involvedObject": 3, "eventTime": 4, "spec": {"replicas": 1.5}}),
    ];
    let mut bodies: Vec<Vec<u8>> = values.iter().map(|it| it.to_string().into_bytes()).collect();
    bodies.push(b"\xff\xfe{".to_vec());
    bodies.push(b"{\"a\":".repeat(500));
    bodies.push(b"k8s\0\x0a\xff\xff\xff\xff\x0f".to_vec());
    bodies
}

/// Where objects of a kind are created, and where one of them is.
fn places(resource: &Resource) -> (String, String) {
    let root = if resource.group.is_empty() {
        format!("/api/{}", resource.version)
    } else {
        format!("/apis/{}/{}", resource.group, resource.version)
    };
    let namespace = if resource.namespaced { "/namespaces/ns" } else { "" };
    let collection = format!("{root}{namespace}/{}", resource.plural);
    (collection.clone(), format!("{collection}/x"))
}

/// A fault of the server itself shows as `InternalError`.
fn check(what: &str, (code, body): &(u16, Value)) {
    let sensible = (200..300).contains(code) || (400..500).contains(code) || *code == 500;
    assert!(sensible && body["reason"] != "InternalError", "{what}: {code} {body}");
    if *code >= 400 {
        assert_eq!((&body["kind"], &body["code"]), (&json!("Status"), &json!(code)), "{what}");
    }
}

/// A cluster with a namespace `ns`.
async fn cluster() -> Cluster {
    let cluster = Cluster::start(ClusterOptions::default()).await.unwrap();
    make(cluster.server(), Collection::NAMESPACES, "", json!({"metadata": {"name": "ns"}}));
    cluster
}

/// The controllers still make pods of deployments.
async fn check_controllers(cluster: &Cluster) {
    make(cluster.server(), Collection::NAMESPACES, "", json!({"metadata": {"name": "after"}}));
    let deployment = json!({"metadata": {"name": "alive"}, "spec": {
        "selector": {"matchLabels": {"app": "alive"}},
        "template": {"metadata": {"labels": {"app": "alive"}},
            "spec": {"containers": [{"name": "c", "image": "i:1"}]}}}});
    make(cluster.server(), Collection::DEPLOYMENTS, "after", deployment);
    let url = "/api/v1/namespaces/after/pods?watch=true";
    let mut events = Events::open(cluster.server(), url, "").await;
    let (kind, name) = events.told().await;
    assert!(kind == "ADDED" && name.starts_with("alive-"), "{kind} {name}");
}

async fn attack(server: &LabServer, method: &str, url: &str, content_type: &str, body: &[u8]) {
    let headers = [("content-type", content_type)];
    let answer = send(server, method, url, &headers, body.to_vec()).await;
    let shown = String::from_utf8_lossy(&body[..body.len().min(80)]).into_owned();
    check(&format!("{method} {url} {content_type} {shown}"), &answer);
}

#[tokio::test]
async fn hostile_bodies_are_answered() {
    let cluster = cluster().await;
    let server = cluster.server();
    for resource in RESOURCES {
        let (collection, object) = places(resource);
        let stored = resource.verbs != Verbs::CreateOnly;
        if stored {
            let plain = json!({"metadata": {"name": "x"}}).to_string();
            let headers = [("content-type", "application/json")];
            send(server, "POST", &collection, &headers, plain.into_bytes()).await;
        }
        for body in bodies() {
            for content_type in ["application/json", "application/vnd.kubernetes.protobuf"] {
                attack(server, "POST", &collection, content_type, &body).await;
            }
            if !stored {
                continue;
            }
            attack(server, "PUT", &object, "application/json", &body).await;
            for subresource in resource.subresources {
                let url = format!("{object}/{}", subresource.name);
                for method in ["POST", "PUT"] {
                    attack(server, method, &url, "application/json", &body).await;
                }
            }
        }
    }
    check_controllers(&cluster).await;
}

#[tokio::test]
async fn hostile_patches_are_answered() {
    let cluster = cluster().await;
    let server = cluster.server();
    let mut patches = bodies();
    for patch in [
        json!([{"op": "replace", "path": "", "value": [1]}]),
        json!([{"op": "replace", "path": "/metadata", "value": "x"}]),
        json!([{"op": "add", "path": "/metadata/labels", "value": 5}]),
        json!([{"op": "remove", "path": "/spec"}]),
        json!({"spec": null, "metadata": null}),
        json!({"spec": {"containers": [{"$patch": "delete"}]}, "$patch": "replace"}),
        json!({"metadata": {"$setElementOrder/finalizers": 5, "labels": {"$patch": 1}}}),
        json!({"$retainKeys": "x", "spec": {"$deleteFromPrimitiveList/x": [1]}}),
    ] {
        patches.push(patch.to_string().into_bytes());
    }
    let plain_object = |resource: &Resource| match resource.kind {
        "Pod" => crate::support::pod("x"),
        _ => json!({"metadata": {"name": "x"}}),
    };
    for resource in RESOURCES.iter().filter(|it| it.verbs != Verbs::CreateOnly) {
        let (collection, object) = places(resource);
        let headers = [("content-type", "application/json")];
        let plain = plain_object(resource).to_string().into_bytes();
        send(server, "POST", &collection, &headers, plain).await;
        for patch in &patches {
            for content_type in [
                "application/json-patch+json",
                "application/merge-patch+json",
                "application/strategic-merge-patch+json",
                "application/apply-patch+yaml",
            ] {
                let url = format!("{object}?fieldManager=m");
                attack(server, "PATCH", &url, content_type, patch).await;
                for subresource in ["status", "scale", "resize"] {
                    if resource.subresource(subresource).is_some() {
                        let url = format!("{object}/{subresource}?fieldManager=m");
                        attack(server, "PATCH", &url, content_type, patch).await;
                    }
                }
            }
        }
    }
    check_controllers(&cluster).await;
}

#[tokio::test]
async fn hostile_queries_are_answered() {
    let (server, _) = lab().await;
    for query in [
        "limit=-5&continue=%00",
        "limit=99999999999999999999",
        "continue=eyJydiI6MX0",
        "resourceVersion=-1",
        "resourceVersion=1&resourceVersionMatch=Wrong",
        "labelSelector=%28%28%28",
        "labelSelector=a%20in%20%28",
        "fieldSelector=%3D%3D%3D",
        "fieldSelector=metadata.name",
        "watch=true&resourceVersion=x",
        "watch=true&timeoutSeconds=1&resourceVersion=18446744073709551615",
        "dryRun=x&fieldValidation=x&includeObject=x",
        "%ff=%fe",
    ] {
        let answer = send(&server, "GET", &format!("/api/v1/pods?{query}"), &[], vec![]).await;
        check(query, &answer);
    }
    for path in ["//api//v1//pods", "/api/v1/namespaces//pods", "/apis/%2e%2e/v1", "/api/v1/%zz"] {
        let (code, _) = send(&server, "GET", path, &[], vec![]).await;
        assert!(code < 500, "{path}: {code}");
    }
}
