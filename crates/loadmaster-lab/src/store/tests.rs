use serde_json::{Value, json};

use super::*;

const MAPS: Collection = Collection::CONFIG_MAPS;

fn map(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "ns"}})
}

fn pod(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "ns"},
           "spec": {"schedulerName": "a"}})
}

fn kinds(changes: &[Change]) -> Vec<(u64, ChangeKind)> {
    changes.iter().map(|it| (it.version, it.kind)).collect()
}

#[test]
fn a_created_object_has_an_identity_and_the_version_of_its_write() {
    let store = Store::new();
    let made = store
        .create(
            Collection::PODS,
            json!({"metadata": {"generateName": "web-", "namespace": "ns", "uid": ""}}),
        )
        .unwrap();
    let name = text(&made, "name");
    assert_eq!((name.len(), name.starts_with("web-")), (9, true));
    assert_eq!(text(&made, "uid").len(), 36);
    assert_eq!(made["metadata"]["generation"], 1);
    assert_eq!((made["kind"].as_str(), made["apiVersion"].as_str()), (Some("Pod"), Some("v1")));
    assert_eq!(version_of(&made), store.version());
    assert_eq!(store.get(Collection::PODS, "ns", name).as_ref(), Some(&made));
}

#[test]
fn a_second_object_of_the_same_name_is_refused() {
    let store = Store::new();
    store.create(MAPS, map("a")).unwrap();
    assert_eq!(
        store.create(MAPS, map("a")),
        Err(StoreError::AlreadyExists {
            collection: MAPS,
            name: "a".to_owned(),
            being_deleted: false
        })
    );
}

#[test]
fn objects_are_listed_by_namespace_and_then_by_name() {
    let store = Store::new();
    for (namespace, name) in [("z", "a"), ("a", "z"), ("a", "b")] {
        let mut object = map(name);
        object["metadata"]["namespace"] = json!(namespace);
        store.create(MAPS, object).unwrap();
    }
    let (all, version) = store.list(MAPS, None);
    let names: Vec<_> = all.iter().map(|it| (text(it, "namespace"), text(it, "name"))).collect();
    assert_eq!(names, [("a", "b"), ("a", "z"), ("z", "a")]);
    assert_eq!(version, store.version());
    assert_eq!(store.list(MAPS, Some("a")).0.len(), 2);
    assert_eq!(store.list(MAPS, Some("none")).0.len(), 0);
}

#[test]
fn a_write_that_changes_nothing_keeps_the_version_and_is_not_seen() {
    let store = Store::new();
    store.create(MAPS, map("a")).unwrap();
    let (_, mut watch) = store.list_and_watch(MAPS, None);
    let version = store.version();
    store.edit(MAPS, "ns", "a", |it| it["metadata"]["labels"] = json!({"x": "y"})).unwrap();
    store.edit(MAPS, "ns", "a", |it| it["metadata"]["labels"] = json!({"x": "y"})).unwrap();
    assert_eq!(store.version(), version + 1);
    assert_eq!(kinds(&watch.ready().unwrap()), [(version + 1, ChangeKind::Modified)]);
}

#[test]
fn a_writer_cannot_change_what_identifies_an_object() {
    let store = Store::new();
    let made = store.create(MAPS, map("a")).unwrap();
    let edited = store
        .edit(MAPS, "ns", "a", |it| it["metadata"] = json!({"uid": "other", "name": "b"}))
        .unwrap();
    assert_eq!(edited["metadata"], made["metadata"]);
}

#[test]
fn only_a_changed_spec_raises_the_generation() {
    let store = Store::new();
    store.create(Collection::PODS, pod("p")).unwrap();
    let generation = |it: &Object| it["metadata"]["generation"].as_i64();
    let labelled = store
        .edit(Collection::PODS, "ns", "p", |it| it["metadata"]["labels"] = json!({"a": "b"}))
        .unwrap();
    assert_eq!(generation(&labelled), Some(1));
    let changed = store
        .edit(Collection::PODS, "ns", "p", |it| it["spec"]["schedulerName"] = json!("b"))
        .unwrap();
    assert_eq!(generation(&changed), Some(2));
    let bound = store
        .update(Collection::PODS, "ns", "p", |it| {
            let mut next = Value::clone(it);
            next["spec"]["nodeName"] = json!("n1");
            Ok(Write::PutAsIs(next))
        })
        .unwrap();
    assert_eq!(generation(&bound), Some(2));
}

#[test]
fn the_last_finalizer_taken_off_a_dying_object_removes_it() {
    let store = Store::new();
    let mut object = map("a");
    object["metadata"]["finalizers"] = json!(["x/y"]);
    store.create(MAPS, object).unwrap();
    store
        .edit(MAPS, "ns", "a", |it| {
            it["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
            it["metadata"]["deletionGracePeriodSeconds"] = json!(0);
        })
        .unwrap();
    assert!(store.get(MAPS, "ns", "a").is_some());
    let last = store.edit(MAPS, "ns", "a", |it| it["metadata"]["finalizers"] = json!([])).unwrap();
    assert_eq!(version_of(&last), store.version());
    assert_eq!(store.get(MAPS, "ns", "a"), None);
}

#[test]
fn a_deletion_has_a_version_of_its_own() {
    let store = Store::new();
    store.create(MAPS, map("a")).unwrap();
    let (_, mut watch) = store.list_and_watch(MAPS, None);
    let before = store.version();
    store.remove(MAPS, "ns", "a", |_| Ok(())).unwrap();
    let changes = watch.ready().unwrap();
    assert_eq!(kinds(&changes), [(before + 1, ChangeKind::Deleted)]);
    assert_eq!(version_of(&changes[0].object), before + 1);
    assert_eq!(version_of(changes[0].previous.as_ref().unwrap()), before);
}

#[test]
fn put_and_remove_is_seen_as_two_changes() {
    let store = Store::new();
    store.create(Collection::PODS, pod("p")).unwrap();
    let (_, mut watch) = store.list_and_watch(Collection::PODS, None);
    store
        .update(Collection::PODS, "ns", "p", |it| {
            let mut next = Value::clone(it);
            next["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
            Ok(Write::PutAndRemove(next))
        })
        .unwrap();
    let seen: Vec<_> = watch.ready().unwrap().iter().map(|it| it.kind).collect();
    assert_eq!(seen, [ChangeKind::Modified, ChangeKind::Deleted]);
}

#[test]
fn a_writer_that_was_overtaken_decides_again_on_the_newer_object() {
    let store = Store::new();
    store.create(MAPS, map("a")).unwrap();
    let mut calls = 0;
    let written = store
        .update(MAPS, "ns", "a", |current| {
            calls += 1;
            if calls == 1 {
                store.edit(MAPS, "ns", "a", |it| it["data"] = json!({"other": "1"})).unwrap();
            }
            let mut next = Value::clone(current);
            next["data"]["mine"] = json!("2");
            Ok(Write::Put(next))
        })
        .unwrap();
    assert_eq!(calls, 2);
    assert_eq!(written["data"], json!({"other": "1", "mine": "2"}));
}

#[test]
fn a_refusal_of_the_closure_leaves_everything_as_it_was() {
    let store = Store::new();
    store.create(MAPS, map("a")).unwrap();
    let version = store.version();
    let refused =
        store.remove(MAPS, "ns", "a", |_| Err(StoreError::from(Status::bad_request("no"))));
    assert_eq!(refused, Err(StoreError::from(Status::bad_request("no"))));
    assert_eq!(store.version(), version);
}

#[test]
fn a_watch_resumes_anywhere_in_the_kept_history_and_is_refused_beyond_it() {
    let store = Store::with_history(2);
    let versions: Vec<u64> = ["a", "b", "c"]
        .iter()
        .map(|it| version_of(&store.create(MAPS, map(it)).unwrap()))
        .collect();
    let mut resumed = store.watch(MAPS, None, versions[0]);
    assert_eq!(resumed.ready().unwrap().len(), 2);
    let mut too_old = store.watch(MAPS, None, versions[0] - 1);
    assert_eq!(too_old.ready(), Err(Gone { asked: versions[0] - 1, oldest: versions[0] }));
}

#[test]
fn a_watch_of_one_namespace_sees_nothing_of_others() {
    let store = Store::new();
    let (_, mut watch) = store.list_and_watch(MAPS, Some("other"));
    store.create(MAPS, map("a")).unwrap();
    assert_eq!(watch.ready(), Ok(vec![]));
}

#[tokio::test]
async fn a_waiting_watch_is_woken_by_the_next_change() {
    let store = Arc::new(Store::new());
    let (_, mut watch) = store.list_and_watch(MAPS, None);
    let waiting = tokio::spawn(async move { watch.next().await });
    store.create(MAPS, map("a")).unwrap();
    assert_eq!(waiting.await.unwrap().unwrap().len(), 1);
}

#[test]
fn the_past_is_the_present_with_the_changes_since_then_undone() {
    let store = Store::new();
    store.create(MAPS, map("kept")).unwrap();
    store.create(MAPS, map("changed")).unwrap();
    store.create(MAPS, map("removed")).unwrap();
    let (then, version) = store.list(MAPS, None);
    store.edit(MAPS, "ns", "changed", |it| it["data"] = json!({"a": "b"})).unwrap();
    store.remove(MAPS, "ns", "removed", |_| Ok(())).unwrap();
    store.create(MAPS, map("new")).unwrap();
    assert_eq!(store.list_at(MAPS, None, version).unwrap(), then);
}
