use std::collections::BTreeSet;

use loadmaster_config::{RegistryCatalog, load};
use loadmaster_core::{profile::Profile, scheduler::SchedulerOptions};
use loadmaster_framework::{
    Cycle, CycleState, FieldError, Filter, Gates, Hooks, NodeInfo, Outcome, Plugin, Registry,
};

use super::*;
use crate::kind::Kind;

/// The profiles of a configuration.
fn profiles(text: &str) -> Vec<Profile> {
    profiles_of(text, &loadmaster_plugins::registry())
}

fn profiles_of(text: &str, registry: &Registry) -> Vec<Profile> {
    let text = format!(
        "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n\
         profiles:\n{text}"
    );
    let gates = Gates::default();
    let loaded = load(&text, "test", &RegistryCatalog::new(registry, &gates)).unwrap();
    SchedulerOptions::from_config(&loaded, registry, &gates).unwrap().profiles
}

const FEW: &str = "- schedulerName: few\n  plugins:\n    multiPoint:\n      disabled: [{name: \
                   '*'}]\n      enabled:\n      - {name: PrioritySort}\n      - {name: \
                   DefaultBinder}\n      - {name: TaintToleration}\n";

fn kinds(text: &str) -> Vec<Kind> {
    kinds_of(&profiles(text)).into_iter().collect()
}

/// `verbs scope`, for each need.
fn lines(text: &str, wants: Wants<'_>) -> Vec<String> {
    let needs = permissions(&profiles(text), wants);
    let line = |it: &Need| {
        let verbs: Vec<_> = it.verbs.iter().map(String::as_str).collect();
        format!("{} {}", verbs.join(","), it.scope)
    };
    needs.iter().map(line).collect()
}

#[test]
fn a_profile_needs_to_see_what_its_plugins_read_and_no_more() {
    assert_eq!(kinds(FEW), [Kind::Node, Kind::Pod]);
    let affinity = kinds(&format!("{FEW}      - {{name: InterPodAffinity}}\n"));
    assert_eq!(affinity, [Kind::Node, Kind::Pod, Kind::Namespace]);
}

/// A plugin from outside that looks at services.
struct OfOnesOwn;

impl Plugin for OfOnesOwn {
    const NAME: &'static str = "OfOnesOwn";
    type Args = loadmaster_plugins::NoArgs;

    fn build(_: Self::Args, _: &Gates) -> Result<Hooks, FieldError> {
        Ok(Hooks::of(Self).filter().reads(&[Kind::Service]).into())
    }
}

impl Filter for OfOnesOwn {
    fn filter(&self, _: Cycle<'_>, _: &CycleState, _: &NodeInfo) -> Outcome {
        Ok(())
    }
}

#[test]
fn what_a_plugin_of_ones_own_reads_is_watched_and_may_be_read() {
    let mut registry = loadmaster_plugins::registry();
    registry.register::<OfOnesOwn>().unwrap();
    let profiles = profiles_of(&format!("{FEW}      - {{name: OfOnesOwn}}\n"), &registry);
    let readers = readers_of(&profiles);
    assert_eq!(readers[&Kind::Service], BTreeSet::from(["OfOnesOwn"]));
    let needs = permissions(&profiles, Wants::default());
    assert!(needs.iter().any(|it| it.scope.to_string() == "services"), "{needs:#?}");
}

#[test]
fn the_default_profile_needs_what_default_spreading_and_preemption_read() {
    let kinds = kinds("- {}\n");
    for kind in [Kind::Service, Kind::ReplicaSet, Kind::PodDisruptionBudget, Kind::Namespace] {
        assert!(kinds.contains(&kind), "{kind:?}");
    }
}

#[test]
fn spreading_without_deduced_selectors_needs_no_workloads() {
    let listed = "- pluginConfig:\n  - name: PodTopologySpread\n    args: {defaultingType: List}\n";
    assert!(!kinds(listed).contains(&Kind::ReplicaSet));
}

#[test]
fn a_profile_without_volumes_and_preemption_may_neither_see_volumes_nor_delete_pods() {
    assert_eq!(
        lines(FEW, Wants::default()),
        [
            "list events",
            "list,watch nodes",
            "get,list,watch pods",
            "create pods/binding",
            "patch pods/status",
            "create,patch events.events.k8s.io",
        ]
    );
}

#[test]
fn the_default_profile_may_delete_victims_and_write_volumes() {
    let lines = lines("- {}\n", Wants::default());
    for line in [
        "delete,get,list,watch pods",
        "list,patch,watch persistentvolumes",
        "list,patch,watch persistentvolumeclaims",
        "list,watch csinodes.storage.k8s.io",
        "get leases.coordination.k8s.io \"kube-scheduler\" in namespace kube-system",
    ] {
        assert!(lines.iter().any(|it| it == line), "{line}: {lines:#?}");
    }
}

#[test]
fn an_election_may_write_its_own_lease_alone() {
    let election = loadmaster_config::LeaderElection {
        resource_namespace: "ns".to_owned(),
        resource_name: "mine".to_owned(),
        ..Default::default()
    };
    let wants = Wants { leader_election: Some(&election), serving: false };
    let lines = lines(FEW, wants);
    let leases: Vec<_> = lines.iter().filter(|it| it.contains("leases")).collect();
    assert_eq!(
        leases,
        [
            "create leases.coordination.k8s.io in namespace ns",
            "get,update leases.coordination.k8s.io \"mine\" in namespace ns",
        ]
    );
}

#[test]
fn who_serves_may_ask_who_comes_and_what_they_may() {
    let lines = lines(FEW, Wants { leader_election: None, serving: true });
    for line in [
        "create tokenreviews.authentication.k8s.io",
        "create subjectaccessreviews.authorization.k8s.io",
        "get configmaps \"extension-apiserver-authentication\" in namespace kube-system",
    ] {
        assert!(lines.iter().any(|it| it == line), "{line}: {lines:#?}");
    }
}

#[test]
fn a_need_names_the_plugins_that_have_it_and_whether_it_can_be_done_without() {
    let needs = permissions(&profiles("- {}\n"), Wants::default());
    let of = |path: &str| needs.iter().find(|it| it.scope.path() == path).unwrap();
    let by = |path: &str| of(path).needed_by.iter().map(String::as_str).collect::<Vec<_>>();
    assert_eq!(by("csinodes"), ["NodeVolumeLimits", "VolumeBinding"]);
    assert_eq!(by("pods/binding"), ["DefaultBinder"]);
    assert!(!of("csinodes").optional);
    assert!(needs.iter().any(|it| it.optional && it.scope.path() == "events"));
}
