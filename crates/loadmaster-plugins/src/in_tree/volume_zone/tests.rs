use loadmaster_framework::{
    ActionType, Candidates, CycleState, NodeInfo, Object,
    api::{PersistentVolume, Pod},
};
use loadmaster_testing::builders::{
    node, persistent_volume, persistent_volume_claim, pod, storage_class,
};

use super::VolumeZone;
use crate::in_tree::trial::Trial;

const ZONE: &str = "topology.kubernetes.io/zone";
const REGION: &str = "topology.kubernetes.io/region";
const BETA_ZONE: &str = "failure-domain.beta.kubernetes.io/zone";

fn labelled(name: &str, labels: &[(&str, &str)]) -> NodeInfo {
    let node = node(name);
    labels.iter().fold(node, |node, (key, value)| node.label(*key, *value)).info::<Pod>([])
}

fn volume(labels: &[(&str, &str)]) -> PersistentVolume {
    let volume = persistent_volume("v", "1Gi");
    labels.iter().fold(volume, |it, (key, value)| it.label(*key, *value)).build()
}

/// Four nodes, and a claim `c` bound to `volume`.
fn trial(volume: PersistentVolume) -> Trial {
    let nodes = [
        labelled("a", &[(ZONE, "z1"), (REGION, "r1")]),
        labelled("b", &[(ZONE, "z2"), (REGION, "r1")]),
        labelled("c", &[(ZONE, "z3"), (REGION, "r2")]),
        labelled("d", &[]),
    ];
    Trial::of::<VolumeZone>(nodes)
        .knowing(persistent_volume_claim("c", "1Gi").bound_to("v").build())
        .knowing(volume)
}

fn refused(labels: &[(&str, &str)]) -> Vec<String> {
    trial(volume(labels)).refused(&pod("new").claim("c").info())
}

#[test]
fn the_page_example_holds() {
    let trial = trial(volume(&[(ZONE, "z1__z2")]));
    let verdicts = trial.verdicts(&pod("new").claim("c").info());
    let verdicts: Vec<&str> = verdicts.iter().map(|(_, it)| &**it).collect();
    assert_eq!(verdicts, ["", "", "Unresolvable: node(s) had no available volume zone", ""]);
}

#[test]
fn every_label_must_match_and_old_ones_match_todays() {
    assert_eq!(refused(&[(REGION, "r1")]), ["c"]);
    assert_eq!(refused(&[(ZONE, "z1"), (REGION, "r2")]), ["a", "b", "c"]);
    assert_eq!(refused(&[(BETA_ZONE, "z1")]), ["b", "c"]);
    // A label that cannot be understood says nothing, and one without meaning neither.
    assert_eq!(refused(&[(ZONE, "z1__")]), Vec::<String>::new());
    assert_eq!(refused(&[("zone", "z9")]), Vec::<String>::new());
}

#[test]
fn without_labels_on_the_volumes_filter_is_skipped() {
    let trial = trial(volume(&[]));
    assert_eq!(trial.pre_filter(&pod("new").claim("c").info()).0, Ok(Candidates::Skip));
    assert_eq!(trial.pre_filter(&pod("new").info()).0, Ok(Candidates::Skip));
}

#[test]
fn a_claim_without_its_volume_makes_the_pod_unschedulable_unless_it_waits_for_a_consumer() {
    let of_class =
        |name: &str, class: &str| persistent_volume_claim(name, "1Gi").class(class).build();
    let trial = Trial::of::<VolumeZone>([])
        .knowing(persistent_volume_claim("plain", "1Gi").build())
        .knowing(persistent_volume_claim("lost", "1Gi").bound_to("gone").build())
        .knowing(of_class("unknown", "none"))
        .knowing(of_class("at-once", "immediate"))
        .knowing(of_class("undefined", "undefined"))
        .knowing(of_class("waits", "waits"))
        .knowing(storage_class("immediate").build())
        .knowing(storage_class("undefined").with(|it| it.volume_binding_mode = None).build())
        .knowing(storage_class("waits").wait_for_first_consumer().build());
    for (claim, reason) in [
        ("missing", "persistentvolumeclaim \"missing\" not found"),
        ("lost", "persistentvolume \"gone\" not found"),
        ("plain", "PersistentVolumeClaim had no pv name and storageClass name"),
        ("unknown", "storageclass.storage.k8s.io \"none\" not found"),
        ("at-once", "PersistentVolume had no name"),
        ("undefined", "VolumeBindingMode not set for StorageClass \"undefined\""),
        ("", "PersistentVolumeClaim had no name"),
    ] {
        let status = trial.pre_filter(&pod("new").claim(claim).info()).0.unwrap_err();
        assert_eq!(status.message(), reason);
        assert_eq!(status.code().as_str(), "UnschedulableAndUnresolvable");
    }
    assert_eq!(trial.pre_filter(&pod("new").claim("waits").info()).0, Ok(Candidates::Skip));
}

#[test]
fn filter_answers_the_same_without_prefilter() {
    let trial = trial(volume(&[(ZONE, "z1")]));
    let (pod, state) = (pod("new").claim("c").info(), CycleState::default());
    assert!(trial.filter(&pod, &state, "a").is_ok());
    assert!(trial.filter(&pod, &state, "b").is_err());
}

#[test]
fn a_change_that_gives_the_pod_its_volume_or_a_zone_wakes_it() {
    let trial = Trial::of::<VolumeZone>([]);
    let waiting = pod("new").claim("c").info();
    let add = |it: Object| trial.helps(ActionType::ADD, &waiting, None, Some(it));
    assert!(add(storage_class("s").wait_for_first_consumer().build().into()));
    assert!(!add(storage_class("s").build().into()));
    assert!(add(persistent_volume_claim("c", "1Gi").build().into()));
    assert!(!add(persistent_volume_claim("other", "1Gi").build().into()));
    assert!(!add(persistent_volume_claim("c", "1Gi").namespace("other").build().into()));
    assert!(add(volume(&[]).into()));
    assert!(add(node("n").build().into()));
    let update = |old: PersistentVolume, new: PersistentVolume| {
        trial.helps(ActionType::UPDATE, &waiting, Some(old.into()), Some(new.into()))
    };
    assert!(update(volume(&[]), volume(&[(ZONE, "z1")])));
    assert!(!update(volume(&[(ZONE, "z1__z2")]), volume(&[(ZONE, "z2__z1")])));
    assert!(!update(volume(&[]), volume(&[("other", "x")])));
}
