use serde_json::{Value, json};

use crate::api::DeleteOptions;
use crate::controllers::testing::World;
use crate::kubelet::STOPPED;
use crate::resources::Collection;
use crate::values::condition;

const NAMESPACES: Collection = Collection::NAMESPACES;

#[test]
fn a_namespace_comes_with_its_account_and_certificate() {
    let world = World::new(0);
    assert!(world.get(Collection::SERVICE_ACCOUNTS, "default").is_some());
    let certificate = world.get(Collection::CONFIG_MAPS, "kube-root-ca.crt").unwrap();
    assert_eq!(certificate["data"]["ca.crt"], world.api.auth().authority().ca_pem());
}

#[test]
fn a_namespace_goes_with_all_that_is_in_it() {
    let mut world = World::new(1);
    world.deployment(2, |_| {});
    world.run();
    world.delete(NAMESPACES, "ns", &DeleteOptions::default());
    world.settle();
    assert!(world.get(NAMESPACES, "ns").is_none());
    assert!(world.pods().is_empty());
    let left = world.api.store().list(Collection::CONFIG_MAPS, Some("ns")).0;
    assert!(left.is_empty());
}

#[test]
fn a_namespace_that_waits_says_for_what() {
    let mut world = World::new(1);
    world.pod_on("p", "n1", |_| {});
    world.settle();
    world.edit(Collection::NODES, "n1", |it| {
        it["metadata"]["annotations"][STOPPED] = json!("stopped");
    });
    world.delete(NAMESPACES, "ns", &DeleteOptions::default());
    world.settle();
    let namespace = world.get(NAMESPACES, "ns").unwrap();
    assert_eq!(namespace["status"]["phase"], "Terminating");
    let texts = |kind: &str| -> Vec<Value> {
        let condition = condition(&namespace, kind).unwrap();
        ["status", "reason", "message"].iter().map(|it| condition[*it].clone()).collect()
    };
    assert_eq!(
        texts("NamespaceContentRemaining"),
        [
            "True",
            "SomeResourcesRemain",
            "Some resources are remaining: pods. has 1 resource instances"
        ]
    );
    assert_eq!(
        texts("NamespaceDeletionDiscoveryFailure"),
        ["False", "ResourcesDiscovered", "All resources successfully discovered"]
    );
    world.edit(Collection::NODES, "n1", |it| it["metadata"]["annotations"] = json!({}));
    world.settle();
    assert!(world.get(NAMESPACES, "ns").is_none());
}
