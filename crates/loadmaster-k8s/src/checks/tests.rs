use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use serde_json::{Value, json};

use super::*;
use crate::{
    kind::Kind,
    needs::{Need, Scope},
    test_server::{Reply, TestServer},
};

fn need(resource: &str, verbs: &[&str], needed_by: &str) -> Need {
    Need {
        scope: Scope {
            namespace: String::new(),
            group: String::new(),
            resource: resource.to_owned(),
            subresource: String::new(),
            name: String::new(),
        },
        verbs: verbs.iter().map(|it| (*it).to_owned()).collect(),
        needed_by: BTreeSet::from([needed_by.to_owned()]),
        optional: false,
    }
}

fn verdict(allowed: bool) -> Reply {
    Reply::Json(201, json!({"status": {"allowed": allowed}}))
}

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

#[tokio::test]
async fn a_verb_that_is_refused_is_named_with_its_plugin() {
    let replies = (0..3).map(|_| verdict(false)).collect();
    let server = TestServer::start(replies).await;
    let needs = [
        need("nodes", &["list"], "every decision"),
        need("persistentvolumes", &["patch", "watch"], "VolumeBinding"),
    ];
    let missing = missing(&server.rest(), &needs, &Subject::Oneself).await.unwrap();
    let lines: Vec<_> = missing.iter().map(ToString::to_string).collect();
    assert_eq!(
        lines,
        ["list nodes, for every decision", "patch, watch persistentvolumes, for VolumeBinding"]
    );
}

#[tokio::test]
async fn each_verb_is_a_question_of_its_own() {
    let mut server = TestServer::start(vec![verdict(true), verdict(true)]).await;
    let needs = [need("nodes", &["list", "watch"], "every decision")];
    assert_eq!(missing(&server.rest(), &needs, &Subject::Oneself).await, Ok(Vec::new()));
    let mut verbs = BTreeSet::new();
    for _ in 0..2 {
        let asked = server.asked().await;
        assert_eq!(asked.line, "POST /apis/authorization.k8s.io/v1/selfsubjectaccessreviews");
        let attributes = &asked.body["spec"]["resourceAttributes"];
        assert_eq!(attributes["resource"], "nodes");
        verbs.insert(attributes["verb"].as_str().unwrap().to_owned());
    }
    assert_eq!(verbs.into_iter().collect::<Vec<_>>(), ["list", "watch"]);
}

#[tokio::test]
async fn a_service_account_is_asked_for_with_its_groups() {
    let mut server = TestServer::start(vec![verdict(true)]).await;
    let whose = Subject::ServiceAccount { namespace: "ns".to_owned(), name: "lm".to_owned() };
    missing(&server.rest(), &[need("nodes", &["list"], "a")], &whose).await.unwrap();
    let asked = server.asked().await;
    assert_eq!(asked.line, "POST /apis/authorization.k8s.io/v1/subjectaccessreviews");
    assert_eq!(asked.body["spec"]["user"], "system:serviceaccount:ns:lm");
    assert_eq!(asked.body["spec"]["groups"][1], "system:serviceaccounts:ns");
}

#[test]
fn the_minor_version_is_read_from_every_notation() {
    for (version, expected) in [
        ("v1.36.2", Some(36)),
        ("v1.33.0-lab+1", Some(33)),
        ("v1.34+", Some(34)),
        ("v2.0.0", None),
        ("1.36", None),
        ("v1.", None),
    ] {
        assert_eq!(minor(version), expected, "{version}");
    }
}

#[tokio::test]
async fn a_kind_that_is_not_served_is_told_with_its_readers() {
    let core = json!({"resources": [{"name": "pods"}, {"name": "pods/status"}]});
    let none = json!({"kind": "Status", "code": 404, "reason": "NotFound", "message": "none"});
    let server = TestServer::start(vec![Reply::Json(200, core), Reply::Json(404, none)]).await;
    let readers = BTreeMap::from([
        (Kind::Pod, BTreeSet::new()),
        (Kind::ResourceClaim, BTreeSet::from(["DynamicResources"])),
    ]);
    let lacking = lacking(&server.rest(), &readers).await.unwrap();
    let lines: Vec<_> = lacking.iter().map(ToString::to_string).collect();
    assert_eq!(lines, ["resourceclaims of resource.k8s.io/v1, read by DynamicResources"]);
    let mut claims = need("resourceclaims", &["list"], "DynamicResources");
    claims.scope.group = "resource.k8s.io".to_owned();
    assert!(lacking[0].excuses(&claims));
    assert!(!lacking[0].excuses(&need("pods", &["list"], "every decision")));
}

fn held(renewed: &str) -> LeaseState {
    LeaseState {
        holder_identity: "node-1_abc".to_owned(),
        renew_time: Some(at(renewed)),
        lease_duration_seconds: 15,
        ..LeaseState::default()
    }
}

#[test]
fn a_lease_is_live_until_its_last_renewal_is_as_old_as_it_lasts() {
    let lease = held("2026-01-01T00:00:00Z");
    assert!(lease.is_live(at("2026-01-01T00:00:14Z")));
    assert!(!lease.is_live(at("2026-01-01T00:00:15Z")));
    let released = LeaseState { holder_identity: String::new(), ..lease };
    assert!(!released.is_live(at("2026-01-01T00:00:01Z")));
}

#[tokio::test]
async fn a_lease_that_is_not_there_is_nobodys() {
    let none = json!({"kind": "Status", "code": 404, "reason": "NotFound", "message": "none"});
    let mut server = TestServer::start(vec![Reply::Json(404, none)]).await;
    assert_eq!(lease(&server.rest(), "kube-system", "a").await, Ok(None));
    let path = "GET /apis/coordination.k8s.io/v1/namespaces/kube-system/leases/a";
    assert_eq!(server.asked().await.line, path);
}

fn bound_by(instance: &str, when: &str) -> Value {
    json!({"reportingInstance": instance, "eventTime": when})
}

#[tokio::test]
async fn who_bound_pods_of_the_same_name_of_late_is_a_rival_unless_of_the_team() {
    let items = [
        bound_by("other", "2026-01-01T00:50:00.5Z"),
        bound_by("other", "2026-01-01T00:59:00Z"),
        bound_by("mine-host", "2026-01-01T00:59:00Z"),
        bound_by("host", "2026-01-01T00:59:00Z"),
        bound_by("long-gone", "2026-01-01T00:10:00Z"),
    ];
    // The rival comes on the second page.
    let (first, second) = ([&items[2..]].concat(), [&items[..2]].concat());
    let replies = vec![
        Reply::Json(200, json!({"items": []})),
        Reply::Json(200, json!({"metadata": {"continue": "a"}, "items": first})),
        Reply::Json(200, json!({"items": second})),
    ];
    let mut server = TestServer::start(replies).await;
    let team = Team { hosts: vec!["host".to_owned()], lease: None };
    let now = at("2026-01-01T01:00:00Z");
    let rivals = rivals(&server.rest(), &["mine".to_owned()], &team, now).await.unwrap();
    let told: Vec<_> = rivals.iter().map(ToString::to_string).collect();
    assert_eq!(
        told,
        ["other schedules pods of \"mine\" too, by an event about a pod that it bound at \
          2026-01-01T00:59:00Z"]
    );
    server.asked().await;
    let asked = server.asked().await.line;
    assert!(asked.ends_with("fieldSelector=reason%3DScheduled%2CreportingComponent%3Dmine"));
}

fn lease_of(holder: &str) -> Reply {
    Reply::Json(
        200,
        json!({"spec": {
            "holderIdentity": holder, "renewTime": "2026-01-01T00:00:00Z",
            "leaseDurationSeconds": 15}}),
    )
}

#[tokio::test]
async fn the_holder_of_the_default_lease_is_a_rival_of_a_default_scheduler() {
    let none = || Reply::Json(200, json!({"items": []}));
    let names = ["default-scheduler".to_owned()];
    let now = at("2026-01-01T00:00:10Z");
    let seen = async |hosts: &[&str], now| {
        let hosts = hosts.iter().map(|it| (*it).to_owned()).collect();
        let server = TestServer::start(vec![none(), lease_of("cp-1_abc"), none()]).await;
        let team = Team { hosts, lease: None };
        rivals(&server.rest(), &names, &team, now).await.unwrap()
    };
    assert_eq!(seen(&["here"], now).await[0].instance, "cp-1_abc");
    assert_eq!(seen(&["cp-1"], now).await, []);
    assert_eq!(seen(&["here"], at("2026-01-01T01:00:00Z")).await, []);
}

#[tokio::test]
async fn who_leads_by_another_lease_is_a_rival_though_it_bound_nothing() {
    let became = |lease: &str| {
        json!({
            "involvedObject": {"namespace": "ns", "name": lease},
            "message": "there_1 became leader", "eventTime": "2026-01-01T00:00:00Z"})
    };
    let events = || Reply::Json(200, json!({"items": [became("other"), became("ours")]}));
    let none = || Reply::Json(200, json!({"items": []}));
    let forbidden = || Reply::Json(403, json!({"kind": "Status", "code": 403}));
    let seen = async |lease: Reply, now| {
        let server = TestServer::start(vec![events(), lease, none()]).await;
        let ours = Some(("ns".to_owned(), "ours".to_owned()));
        let team = Team { hosts: vec!["here".to_owned()], lease: ours };
        let rivals = rivals(&server.rest(), &["mine".to_owned()], &team, at(now)).await.unwrap();
        rivals.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    let (now, later) = ("2026-01-01T00:00:10Z", "2026-01-01T01:00:00Z");
    let said = |who: &str| {
        [format!(
            "{who} schedules pods of \"mine\" too, by the lease ns/other at \
                  2026-01-01T00:00:00Z"
        )]
    };
    assert_eq!(seen(lease_of("there_2"), now).await, said("there_2"));
    assert_eq!(seen(lease_of("there_2"), later).await, [""; 0], "it has ended");
    assert_eq!(seen(forbidden(), now).await, said("there_1"));
    assert_eq!(seen(forbidden(), later).await, [""; 0], "that is long ago");
}
