use jiff::Timestamp;
use loadmaster_framework::duration::GoDuration;
use loadmaster_k8s::checks::LeaseState;

use super::{
    finding::{Findings, Lease, Unclaimed, Waiting},
    text::text,
};

fn waiting(name: &str, overdue: bool) -> Waiting {
    Waiting {
        namespace: "web".to_owned(),
        name: name.to_owned(),
        scheduler_name: "mine".to_owned(),
        age: 90,
        gates: Vec::new(),
        nominated: None,
        reason: "Unschedulable".to_owned(),
        message: "0/1 nodes are available".to_owned(),
        overdue,
    }
}

fn lease(live: bool, own: bool, holder: &str) -> Lease {
    let at: Timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
    let state = LeaseState {
        holder_identity: holder.to_owned(),
        renew_time: Some(at),
        ..LeaseState::default()
    };
    Lease { namespace: "ns".to_owned(), name: "mine".to_owned(), state: Some(state), live, own }
}

fn shown(findings: &Findings) -> String {
    text(findings, GoDuration::from_secs(60))
}

#[test]
fn a_cluster_where_nothing_waits_is_fine() {
    let findings = Findings::default();
    assert!(findings.is_fine());
    assert!(shown(&findings).ends_with("nothing found\n"));
}

#[test]
fn a_misspelt_scheduler_is_told_with_the_nearest_that_is_there() {
    let pods = vec!["web/a".to_owned(), "web/b".to_owned()];
    let (scheduler_name, nearest) = ("mien".to_owned(), Some("mine".to_owned()));
    let findings = Findings {
        unclaimed: vec![Unclaimed { scheduler_name, pods, nearest }],
        ..Findings::default()
    };
    assert!(!findings.is_fine());
    let text = shown(&findings);
    assert!(text.contains("mien") && text.contains("web/a"), "{text}");
    assert!(text.contains(r#"did you mean "mine"?"#), "{text}");
    assert_eq!(findings.json()["unclaimed"][0]["count"], 2);
}

#[test]
fn a_pod_that_has_waited_for_long_is_shown_with_its_reason_and_others_are_counted() {
    let pending = vec![waiting("old", true), waiting("new", false)];
    let findings = Findings { pending, ..Findings::default() };
    assert!(!findings.is_fine());
    let text = shown(&findings);
    assert!(text.contains("1 pod waiting for 1m0s or longer"), "{text}");
    assert!(text.contains("Unschedulable: 0/1 nodes are available"), "{text}");
    assert!(text.contains("1m30s"), "{text}");
    assert!(text.contains("1 pod waiting for less than 1m0s"), "{text}");
    assert!(!text.contains("new"), "{text}");
}

#[test]
fn a_gated_pod_is_shown_with_its_gates() {
    let gates = vec!["example.com/quota".to_owned()];
    let gated = vec![Waiting { gates, ..waiting("held", false) }];
    let findings = Findings { gated, ..Findings::default() };
    assert!(findings.is_fine());
    assert!(shown(&findings).contains("gates: example.com/quota"));
}

#[test]
fn a_promised_node_is_told_by_node() {
    let pending = vec![Waiting { nominated: Some("n1".to_owned()), ..waiting("p", false) }];
    let findings = Findings { pending, ..Findings::default() };
    assert_eq!(findings.json()["nominated"]["n1"][0], "web/p");
}

#[test]
fn an_own_lease_that_nobody_holds_is_a_finding() {
    let with = |lease| Findings { leases: vec![lease], ..Findings::default() };
    assert!(with(lease(true, true, "a_1")).is_fine());
    assert!(with(lease(false, false, "a_1")).is_fine());
    let findings = with(lease(false, true, "a_1"));
    assert!(!findings.is_fine());
    assert!(shown(&findings).contains("nobody: a_1 let it run out"));
    assert!(shown(&with(lease(false, true, ""))).contains("nobody: it was given back"));
}
