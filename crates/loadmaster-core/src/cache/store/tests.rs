use std::sync::Arc;

use loadmaster_framework::api::{Node, Pod};
use loadmaster_framework::{NodeInfo, PodInfo, Snapshot};
use proptest::prelude::*;
use serde_json::json;

use super::{AssumeError, Cache};

fn node(name: &str, zone: &str) -> Arc<Node> {
    let labels = json!({"topology.kubernetes.io/zone": zone});
    let node = json!({"metadata": {"name": name, "labels": labels}});
    Arc::new(serde_json::from_value(node).unwrap())
}

fn with_images(name: &str, images: &[&str]) -> Arc<Node> {
    let images: Vec<_> = images.iter().map(|it| json!({"names": [it], "sizeBytes": 7})).collect();
    let node = json!({"metadata": {"name": name}, "status": {"images": images}});
    Arc::new(serde_json::from_value(node).unwrap())
}

fn pod(uid: &str, node: &str, cpu: &str) -> Arc<PodInfo> {
    let pod: Pod = serde_json::from_value(json!({
        "metadata": {"name": uid, "namespace": "default", "uid": uid},
        "spec": {"nodeName": node, "containers": [
            {"name": "c", "resources": {"requests": {"cpu": cpu}}}
        ]},
    }))
    .unwrap();
    Arc::new(PodInfo::new(Arc::new(pod)))
}

fn names(snapshot: &Snapshot) -> Vec<&str> {
    snapshot.nodes().iter().map(|it| &**it.name()).collect()
}

fn snapshot(cache: &Cache) -> Snapshot {
    let mut snapshot = Snapshot::default();
    cache.update_snapshot(&mut snapshot);
    snapshot
}

fn milli_cpu(cache: &Cache, node: &str) -> i128 {
    cache.node(node).unwrap().requested().milli_cpu
}

#[test]
fn nodes_are_visited_one_of_each_zone_in_turn() {
    let mut cache = Cache::default();
    for (name, zone) in [("n1", "c"), ("n2", "a"), ("n3", "a"), ("n4", "b"), ("n5", "c")] {
        cache.upsert_node(node(name, zone));
    }
    assert_eq!(names(&snapshot(&cache)), ["n1", "n2", "n4", "n5", "n3"]);
    cache.remove_node("n2");
    assert_eq!(names(&snapshot(&cache)), ["n1", "n3", "n4", "n5"]);
}

#[test]
fn the_order_stays_until_a_node_appears_or_vanishes() {
    let mut cache = Cache::default();
    for (name, zone) in [("n1", "a"), ("n2", "a"), ("n3", "b")] {
        cache.upsert_node(node(name, zone));
    }
    let mut kept = snapshot(&cache);
    assert_eq!(names(&kept), ["n1", "n3", "n2"]);
    // n1 is now behind n3 in zone b, and n2 went and came back; neither moves anything yet.
    cache.upsert_node(node("n1", "b"));
    cache.remove_node("n2");
    cache.upsert_node(node("n2", "a"));
    cache.update_snapshot(&mut kept);
    assert_eq!(names(&kept), ["n1", "n3", "n2"]);
    assert_eq!(kept.node("n1").unwrap().label("topology.kubernetes.io/zone"), Some("b"));
    // Zone a was empty for a moment, so it comes behind zone b now.
    cache.upsert_node(node("n4", "c"));
    cache.update_snapshot(&mut kept);
    assert_eq!(names(&kept), ["n3", "n2", "n4", "n1"]);
}

#[test]
fn the_older_zone_labels_count_before_the_newer() {
    let beta = |name: &str| {
        Arc::new(
            serde_json::from_value::<Node>(json!({"metadata": {"name": name, "labels": {
                "topology.kubernetes.io/zone": "a",
                "failure-domain.beta.kubernetes.io/zone": "z",
            }}}))
            .unwrap(),
        )
    };
    let mut cache = Cache::default();
    cache.upsert_node(node("n1", "a"));
    cache.upsert_node(node("n2", "a"));
    cache.upsert_node(beta("n3"));
    assert_eq!(names(&snapshot(&cache)), ["n1", "n3", "n2"]);
}

#[test]
fn a_snapshot_keeps_what_it_shows_and_shares_what_did_not_change() {
    let mut cache = Cache::default();
    cache.upsert_node(node("n1", "a"));
    cache.upsert_node(node("n2", "a"));
    let mut later = snapshot(&cache);
    let before = later.clone();
    cache.upsert_pod(pod("p1", "n1", "2"));
    cache.update_snapshot(&mut later);
    assert_eq!(before.node("n1").unwrap().pods().len(), 0);
    assert_eq!(later.node("n1").unwrap().pods().len(), 1);
    assert!(Arc::ptr_eq(before.node("n2").unwrap(), later.node("n2").unwrap()));
}

#[test]
fn an_assumed_pod_counts_until_it_is_confirmed_or_forgotten() {
    let mut cache = Cache::default();
    cache.upsert_node(node("n1", "a"));
    cache.upsert_node(node("n2", "a"));
    cache.assume_pod(pod("p1", "n1", "2")).unwrap();
    assert!(cache.is_assumed("p1"));
    assert_eq!((milli_cpu(&cache, "n1"), cache.assumed_pod_count()), (2000, 1));
    assert_eq!(
        cache.assume_pod(pod("p1", "n2", "2")),
        Err(AssumeError::Known { uid: "p1".into(), node: "n1".into() })
    );

    assert!(cache.forget_pod("p1").is_some());
    assert_eq!((milli_cpu(&cache, "n1"), cache.pod_count()), (0, 0));

    cache.assume_pod(pod("p1", "n1", "2")).unwrap();
    let before = cache.upsert_pod(pod("p1", "n1", "2")).unwrap();
    assert!(before.assumed && !cache.is_assumed("p1"));
    assert!(cache.forget_pod("p1").is_none(), "the server has it there");
    assert_eq!((milli_cpu(&cache, "n1"), cache.assumed_pod_count()), (2000, 0));
}

#[test]
fn a_pod_bound_elsewhere_than_assumed_counts_where_it_is() {
    let mut cache = Cache::default();
    cache.upsert_node(node("n1", "a"));
    cache.upsert_node(node("n2", "a"));
    cache.assume_pod(pod("p1", "n1", "2")).unwrap();
    cache.upsert_pod(pod("p1", "n2", "2"));
    assert_eq!((milli_cpu(&cache, "n1"), milli_cpu(&cache, "n2")), (0, 2000));
}

/// k/k#95124, #93938.
#[test]
fn pods_outlive_their_node_unseen_and_are_there_when_it_comes_back() {
    let mut cache = Cache::default();
    cache.upsert_pod(pod("early", "n1", "1"));
    assert_eq!((cache.node_count(), snapshot(&cache).nodes().len()), (0, 0));
    cache.upsert_node(node("n1", "a"));
    cache.upsert_pod(pod("late", "n1", "2"));
    let mut shown = snapshot(&cache);
    assert_eq!(milli_cpu(&cache, "n1"), 3000);

    cache.remove_node("n1");
    cache.update_snapshot(&mut shown);
    assert_eq!((shown.nodes().len(), cache.pod_count()), (0, 2));
    cache.remove_pod("late");
    cache.upsert_node(node("n1", "a"));
    cache.update_snapshot(&mut shown);
    assert_eq!(shown.node("n1").unwrap().requested().milli_cpu, 1000);
}

/// k/k#63262.
#[test]
fn a_node_that_comes_back_is_not_taken_for_its_predecessor() {
    let mut cache = Cache::default();
    cache.upsert_node(node("n1", "a"));
    let mut shown = snapshot(&cache);
    let first = shown.node("n1").unwrap().generation();
    cache.remove_node("n1");
    cache.upsert_node(node("n1", "b"));
    cache.update_snapshot(&mut shown);
    let again = shown.node("n1").unwrap();
    assert_eq!(again.label("topology.kubernetes.io/zone"), Some("b"));
    assert!(again.generation() > first);
}

/// k/k#106102: the last state that was seen of a deleted pod may be from before it was bound.
#[test]
fn a_missed_event_is_repaired() {
    let mut cache = Cache::default();
    cache.upsert_node(node("n1", "a"));
    cache.upsert_pod(pod("p1", "n1", "1"));
    assert_eq!(&*cache.remove_pod("p1").unwrap().info.spec.node_name, "n1");
    assert_eq!(milli_cpu(&cache, "n1"), 0);

    cache.upsert_pod(pod("p2", "n1", "1"));
    cache.upsert_pod(pod("p2", "", "1"));
    assert_eq!((milli_cpu(&cache, "n1"), cache.pod_count()), (0, 0));

    // Doubled and unexpected events change nothing.
    cache.upsert_pod(pod("p3", "n1", "1"));
    cache.upsert_pod(pod("p3", "n1", "1"));
    assert_eq!(milli_cpu(&cache, "n1"), 1000);
    assert!(cache.remove_pod("unknown").is_none() && cache.remove_node("unknown").is_none());
}

#[test]
fn images_are_counted_once_a_node() {
    let mut cache = Cache::default();
    cache.upsert_node(with_images("n1", &["a", "b", "a"]));
    cache.upsert_node(with_images("n2", &["a"]));
    let mut shown = snapshot(&cache);
    let counts = |shown: &Snapshot| ["a", "b"].map(|it| shown.image_node_count(it));
    assert_eq!(counts(&shown), [2, 1]);
    cache.upsert_node(with_images("n1", &["b"]));
    cache.remove_node("n2");
    cache.update_snapshot(&mut shown);
    assert_eq!(counts(&shown), [0, 1]);
}

#[test]
fn nothing_is_kept_of_what_is_gone() {
    let mut cache = Cache::default();
    for _ in 0..3 {
        cache.upsert_node(with_images("n1", &["a"]));
        cache.upsert_pod(pod("p1", "n1", "1"));
        cache.upsert_pod(pod("p1", "n2", "1"));
        cache.remove_node("n1");
        cache.remove_pod("p1");
    }
    let Cache { nodes, tree, pods, images, changes, .. } = &cache;
    let kept = [nodes.len(), tree.len(), pods.len(), images.len(), changes.len()];
    assert_eq!(kept, [0; 5]);
    cache.upsert_node(node("n1", "a"));
    cache.upsert_node(node("n1", "b"));
    assert_eq!(cache.changes.len(), 1);
}

#[derive(Clone, Debug)]
enum Op {
    UpsertNode(u8, u8, u8),
    RemoveNode(u8),
    UpsertPod(u8, u8, u8),
    RemovePod(u8),
    Assume(u8, u8),
    Forget(u8),
    Snapshot,
}

fn op() -> impl Strategy<Value = Op> {
    let (node, pod, small) = (0_u8..6, 0_u8..12, 0_u8..3);
    prop_oneof![
        3 => (node.clone(), small.clone(), small.clone()).prop_map(|(n, z, i)| Op::UpsertNode(n, z, i)),
        1 => node.clone().prop_map(Op::RemoveNode),
        3 => (pod.clone(), node.clone(), small).prop_map(|(p, n, c)| Op::UpsertPod(p, n, c)),
        2 => pod.clone().prop_map(Op::RemovePod),
        2 => (pod.clone(), node).prop_map(|(p, n)| Op::Assume(p, n)),
        1 => pod.prop_map(Op::Forget),
        3 => Just(Op::Snapshot),
    ]
}

fn apply(cache: &mut Cache, op: &Op) {
    let named = |kind: char, at: u8| format!("{kind}{at}");
    match op {
        Op::UpsertNode(n, zone, image) => {
            let mut it = Arc::unwrap_or_clone(node(&named('n', *n), &named('z', *zone)));
            it.status.images = with_images("", &[&named('i', *image)]).status.images.clone();
            cache.upsert_node(Arc::new(it));
        }
        Op::RemoveNode(n) => {
            cache.remove_node(&named('n', *n));
        }
        Op::UpsertPod(p, n, cpu) => {
            cache.upsert_pod(pod(&named('p', *p), &named('n', *n), &cpu.to_string()));
        }
        Op::RemovePod(p) => {
            cache.remove_pod(&named('p', *p));
        }
        Op::Assume(p, n) => {
            // Refused where the pod is known.
            let _ = cache.assume_pod(pod(&named('p', *p), &named('n', *n), "1"));
        }
        Op::Forget(p) => {
            cache.forget_pod(&named('p', *p));
        }
        Op::Snapshot => {}
    }
}

/// What a node amounts to, whatever the order in which its pods came.
fn content(info: &NodeInfo) -> impl PartialEq + std::fmt::Debug {
    let mut pods: Vec<_> = info.pods().iter().map(|it| it.uid().clone()).collect();
    pods.sort();
    let images: Vec<_> = info.image_names().cloned().collect();
    (info.node().clone(), pods, info.requested().clone(), images, info.generation())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn a_snapshot_brought_up_to_date_equals_one_taken_anew(
        ops in proptest::collection::vec(op(), 1..120)
    ) {
        let mut cache = Cache::default();
        let mut kept = Snapshot::default();
        for op in &ops {
            apply(&mut cache, op);
            if !matches!(op, Op::Snapshot) {
                continue;
            }
            cache.update_snapshot(&mut kept);
            let anew = snapshot(&cache);
            let mut order = (names(&kept), names(&anew));
            order.0.sort_unstable();
            order.1.sort_unstable();
            prop_assert_eq!(order.0, order.1);
            for info in anew.nodes() {
                prop_assert_eq!(content(kept.node(info.name()).unwrap()), content(info));
                // Sums are those of the pods that are there.
                let sum: i128 = info.pods().iter().map(|it| it.resources().requests.milli_cpu).sum();
                prop_assert_eq!(info.requested().milli_cpu, sum);
            }
            for image in 0..3 {
                let name = format!("i{image}");
                let holders = anew.nodes().iter().filter(|it| it.image_size(&name).is_some());
                prop_assert_eq!(kept.image_node_count(&name), holders.count());
            }
            let listed: usize = anew.nodes().iter().map(|it| it.pods().len()).sum();
            prop_assert!(listed <= cache.pod_count());
            prop_assert_eq!(cache.assumed_pod_count(), cache.pods().filter(|it| it.assumed).count());
        }
    }
}
