mod binding;

use loadmaster_framework::{
    ActionType, Candidates, CycleState, Interest, NodeInfo, Object, PodInfo,
    api::{
        CsiDriver, CsiStorageCapacity, CsiVolume, GcePersistentDisk, ObjectMeta, ObjectReference,
        Pod, Quantity, Timestamp, Volume,
    },
};
use loadmaster_testing::builders::{
    ClaimBuilder, NodeBuilder, VolumeBuilder, csi_node, expression, node, persistent_volume,
    persistent_volume_claim, pod, requirement, selector, storage_class,
};

use super::VolumeBinding;
use crate::in_tree::trial::Trial;

const HOST: &str = "kubernetes.io/hostname";
const NO_MATCH: &str = "Unresolvable: node(s) didn't find available persistent volumes to bind";
const OUT_OF_REACH: &str = "Unresolvable: node(s) didn't match PersistentVolume's node affinity";
const NO_ROOM: &str = "Unresolvable: node(s) did not have enough free storage";

fn host(name: &str) -> NodeBuilder {
    node(name).label(HOST, name)
}

/// Nodes `a`, `b` and `c`, and two classes whose claims wait for a pod: `local`, whose volumes are
/// there, and `made`, whose volumes the driver `d` makes.
fn trial() -> Trial {
    let nodes: Vec<NodeInfo> = ["a", "b", "c"].map(|it| host(it).info::<Pod>([])).into();
    Trial::of::<VolumeBinding>(nodes)
        .knowing(storage_class("local").wait_for_first_consumer().build())
        .knowing(storage_class("made").provisioner("d").wait_for_first_consumer().build())
}

/// A volume of class `local` on the node `on`.
fn local(name: &str, size: &str, on: &str) -> VolumeBuilder {
    persistent_volume(name, size).class("local").node_affinity([requirement(HOST, "In", [on])])
}

fn claim(name: &str, size: &str) -> ClaimBuilder {
    persistent_volume_claim(name, size).class("local")
}

fn verdicts(trial: &Trial, pod: &PodInfo) -> Vec<String> {
    trial.verdicts(pod).into_iter().map(|(_, it)| it).collect()
}

/// The verdicts on a pod with the claim `c`.
fn on_claim(trial: Trial, claim: ClaimBuilder) -> Vec<String> {
    verdicts(&trial.knowing(claim.build()), &pod("new").claim("c").info())
}

#[test]
fn the_page_example_holds() {
    let trial = trial()
        .knowing(local("small", "5Gi", "a").build())
        .knowing(local("large", "20Gi", "b").build());
    assert_eq!(on_claim(trial, claim("c", "10Gi")), [NO_MATCH, "", NO_MATCH]);
}

#[test]
fn a_bound_volume_must_be_in_reach() {
    let trial = trial().knowing(local("v", "1Gi", "b").bound_to("c").build());
    assert_eq!(on_claim(trial, claim("c", "1Gi").bound_to("v")), [OUT_OF_REACH, "", OUT_OF_REACH]);
}

#[test]
fn a_bound_volume_that_does_not_exist_refuses_every_node() {
    let lost = "Unresolvable: node(s) unavailable due to one or more pvc(s) bound to non-existent \
                pv(s)";
    assert_eq!(on_claim(trial(), claim("c", "1Gi").bound_to("gone")), [lost; 3]);
}

#[test]
fn a_volume_that_a_driver_took_over_is_in_reach_by_the_drivers_labels() {
    let zone = "topology.kubernetes.io/zone";
    let google = |it: VolumeBuilder| {
        it.with(|it| it.spec.gce_persistent_disk = Some(GcePersistentDisk::default()))
            .node_affinity([requirement(zone, "In", ["z"])])
            .bound_to("c")
    };
    let nodes = [
        node("old").label(zone, "z").info::<Pod>([]),
        node("new").label("topology.gke.io/zone", "z").info::<Pod>([]),
        node("both").label(zone, "z").info::<Pod>([]),
    ];
    let migrated = "storage.alpha.kubernetes.io/migrated-plugins";
    let changed = |name: &str| {
        csi_node(name).annotation(migrated, "kubernetes.io/aws-ebs,kubernetes.io/gce-pd").build()
    };
    let trial = Trial::of::<VolumeBinding>(nodes)
        .knowing(changed("new"))
        .knowing(changed("both"))
        .knowing(google(persistent_volume("v", "1Gi")).build());
    assert_eq!(on_claim(trial, claim("c", "1Gi").bound_to("v")), ["", "", OUT_OF_REACH]);
}

#[test]
fn reasons_of_bound_and_of_waiting_claims_come_together() {
    let trial = trial()
        .knowing(local("v", "1Gi", "b").bound_to("bound").build())
        .knowing(claim("bound", "1Gi").bound_to("v").build())
        .knowing(claim("waiting", "1Gi").build());
    let both = "Unresolvable: node(s) didn't match PersistentVolume's node affinity, node(s) \
                didn't find available persistent volumes to bind";
    let pod = pod("new").claim("bound").claim("waiting").info();
    assert_eq!(verdicts(&trial, &pod), [both, NO_MATCH, both]);
}

#[test]
fn claims_that_cannot_be_had_make_the_pod_unschedulable() {
    let now = Timestamp("2026-01-01T00:00:00Z".parse().unwrap());
    let trial = trial()
        .knowing(storage_class("at-once").build())
        .knowing(claim("unbound", "1Gi").class("at-once").build())
        .knowing(persistent_volume_claim("classless", "1Gi").build())
        .knowing(claim("half", "1Gi").with(|it| it.spec.volume_name = "v".into()).build())
        .knowing(
            claim("lost", "1Gi").bound_to("v").with(|it| it.status.phase = "Lost".into()).build(),
        )
        .knowing(
            claim("going", "1Gi").with(|it| it.metadata.deletion_timestamp = Some(now)).build(),
        )
        .knowing(claim("new-foreign", "1Gi").build());
    let unbound = "pod has unbound immediate PersistentVolumeClaims";
    let base = || pod("new");
    for (pod, reason) in [
        (base().claim("missing"), "persistentvolumeclaim \"missing\" not found"),
        (base().claim("unbound"), unbound),
        (base().claim("classless"), unbound),
        (base().claim("half"), unbound),
        (
            base().claim("lost"),
            "persistentvolumeclaim \"lost\" bound to non-existent persistentvolume \"v\"",
        ),
        (base().claim("going"), "persistentvolumeclaim \"going\" is being deleted"),
        (
            base().ephemeral_claim("data"),
            "waiting for ephemeral volume controller to create the persistentvolumeclaim \
             \"new-data\"",
        ),
        (
            base().ephemeral_claim("foreign"),
            "PVC default/new-foreign was not created for pod default/new (pod is not owner)",
        ),
    ] {
        let status = trial.pre_filter(&pod.info()).0.unwrap_err();
        assert_eq!(status.message(), reason);
        assert_eq!(status.code().as_str(), "UnschedulableAndUnresolvable", "{reason}");
    }
}

#[test]
fn a_class_that_does_not_say_when_it_binds_is_an_error() {
    let undefined = storage_class("undefined").with(|it| it.volume_binding_mode = None).build();
    let trial = trial().knowing(undefined).knowing(claim("c", "1Gi").class("undefined").build());
    let status = trial.pre_filter(&pod("new").claim("c").info()).0.unwrap_err();
    assert!(status.is_error());
    assert_eq!(status.message(), "VolumeBindingMode not set for StorageClass \"undefined\"");
}

#[test]
fn without_claims_nothing_is_asked_and_nothing_scored() {
    let (trial, plain) = (trial(), pod("new").info());
    assert_eq!(trial.pre_filter(&plain).0, Ok(Candidates::Skip));
    let point = trial.hooks.pre_score.as_ref().unwrap();
    let interest = point.pre_score(trial.cycle(&plain), &mut CycleState::default(), &[]);
    assert_eq!(interest, Ok(Interest::Skip));
}

#[test]
fn a_volume_must_suit_the_claim_in_every_way() {
    let on_a = || local("v", "5Gi", "a");
    let rows: Vec<(bool, &str, VolumeBuilder, ClaimBuilder)> = vec![
        (true, "plain", on_a(), claim("c", "5Gi")),
        (false, "too small", on_a(), claim("c", "5368709121")),
        (false, "access mode", on_a(), claim("c", "1Gi").access_modes(["ReadWriteMany"])),
        (
            true,
            "one of its access modes",
            on_a().access_modes(["ReadWriteMany", "ReadWriteOnce"]),
            claim("c", "1Gi").access_modes(["ReadWriteMany"]),
        ),
        (false, "class", on_a().class("other"), claim("c", "1Gi")),
        (
            false,
            "mode",
            on_a().with(|it| it.spec.volume_mode = Some("Block".into())),
            claim("c", "1Gi"),
        ),
        (
            true,
            "the mode by default",
            on_a(),
            claim("c", "1Gi").with(|it| it.spec.volume_mode = Some("Filesystem".into())),
        ),
        (
            false,
            "attributes class",
            on_a(),
            claim("c", "1Gi").with(|it| it.spec.volume_attributes_class_name = Some("x".into())),
        ),
        (
            true,
            "selector",
            on_a().label("tier", "hot"),
            claim("c", "1Gi").with(|it| it.spec.selector = Some(selector([("tier", "hot")]))),
        ),
        (
            false,
            "another label",
            on_a().label("tier", "cold"),
            claim("c", "1Gi").with(|it| it.spec.selector = Some(selector([("tier", "hot")]))),
        ),
        (false, "taken", on_a().bound_to("other"), claim("c", "1Gi")),
        (
            false,
            "released",
            on_a().with(|it| it.status.phase = "Released".into()),
            claim("c", "1Gi"),
        ),
    ];
    for (suits, what, volume, claim) in rows {
        let verdicts = on_claim(trial().knowing(volume.build()), claim);
        assert_eq!(verdicts[0].is_empty(), suits, "{what}");
    }
}

/// A volume that a person has kept for the claim by name.
fn kept(volume: VolumeBuilder, claim: &str) -> VolumeBuilder {
    let claim_ref = ObjectReference {
        namespace: "default".into(),
        name: claim.into(),
        ..ObjectReference::default()
    };
    volume.with(|it| it.spec.claim_ref = Some(claim_ref))
}

#[test]
fn a_volume_that_is_kept_for_the_claim_is_taken_or_none_is() {
    let trial = trial()
        .knowing(kept(local("kept", "5Gi", "a"), "c").build())
        .knowing(local("free", "1Gi", "b").build());
    assert_eq!(on_claim(trial, claim("c", "1Gi")), ["", NO_MATCH, NO_MATCH]);
}

#[test]
fn two_claims_of_a_pod_do_not_share_a_volume() {
    let trial = trial()
        .knowing(local("a1", "5Gi", "a").build())
        .knowing(local("b1", "5Gi", "b").build())
        .knowing(local("b2", "10Gi", "b").build())
        .knowing(claim("c1", "8Gi").build())
        .knowing(claim("c2", "1Gi").build());
    // The smaller claim goes first and takes the smaller volume, so that the larger finds one.
    let pod = pod("new").claim("c1").claim("c2").info();
    assert_eq!(verdicts(&trial, &pod), [NO_MATCH, "", NO_MATCH]);
}

#[test]
fn a_wrong_selector_of_a_claim_is_an_error() {
    let wrong =
        claim("c", "1Gi").with(|it| it.spec.selector = Some(expression("k", "Near", ["v"])));
    let text = "Error: error creating internal label selector for claim: default/c: \"Near\" is \
                not a valid label selector operator";
    assert_eq!(on_claim(trial(), wrong), [text; 3]);
}

#[test]
fn a_volume_is_made_where_the_class_allows() {
    let class = storage_class("zonal")
        .provisioner("d")
        .wait_for_first_consumer()
        .allowed_topology(HOST, ["a", "b"])
        .allowed_topology(HOST, ["c d"]);
    let trial = trial().knowing(class.build());
    assert_eq!(on_claim(trial, claim("c", "1Gi").class("zonal")), ["", "", NO_MATCH]);
}

#[test]
fn a_claim_whose_volume_is_being_made_for_a_node_stays_there() {
    let selected = claim("c", "1Gi").class("made").selected_node("b");
    assert_eq!(on_claim(trial(), selected), [NO_MATCH, "", NO_MATCH]);
    assert_eq!(on_claim(trial(), claim("c", "1Gi").class("made")), ["", "", ""]);
}

fn room(name: &str, on: &str, capacity: &str, largest: Option<&str>) -> CsiStorageCapacity {
    let quantity = |it: &str| Quantity::parse(it).unwrap();
    CsiStorageCapacity {
        metadata: ObjectMeta { name: name.into(), ..ObjectMeta::default() },
        node_topology: Some(selector([(HOST, on)])),
        storage_class_name: "made".into(),
        capacity: Some(quantity(capacity)),
        maximum_volume_size: largest.map(quantity),
    }
}

fn driver(tells_room: bool) -> CsiDriver {
    let mut driver = CsiDriver::default();
    driver.metadata.name = "d".into();
    driver.spec.storage_capacity = Some(tells_room);
    driver
}

#[test]
fn a_volume_is_made_where_there_is_room_if_the_driver_tells() {
    let with = |tells| {
        trial()
            .knowing(driver(tells))
            .knowing(room("ra", "a", "10Gi", None))
            .knowing(room("rb", "b", "10Gi", Some("2Gi")))
            .knowing(CsiStorageCapacity { node_topology: None, ..room("rc", "c", "10Gi", None) })
    };
    let made = || claim("c", "5Gi").class("made");
    assert_eq!(on_claim(with(true), made()), ["", NO_ROOM, NO_ROOM]);
    assert_eq!(on_claim(with(false), made()), ["", "", ""]);
}

#[test]
fn filter_answers_the_same_without_prefilter() {
    let trial = trial().knowing(local("v", "1Gi", "b").build()).knowing(claim("c", "1Gi").build());
    let (pod, state) = (pod("new").claim("c").info(), CycleState::default());
    assert!(trial.filter(&pod, &state, "b").is_ok());
    assert!(trial.filter(&pod, &state, "a").is_err());
}

#[test]
fn a_change_of_storage_that_may_help_wakes_the_pod() {
    let trial = trial();
    let waiting = pod("new").claim("c").ephemeral_claim("data").info();
    let add = |it: Object| trial.helps(ActionType::ADD, &waiting, None, Some(it));
    let update =
        |old: Object, new: Object| trial.helps(ActionType::UPDATE, &waiting, Some(old), Some(new));
    assert!(add(claim("c", "1Gi").build().into()));
    assert!(add(claim("new-data", "1Gi").build().into()));
    assert!(!add(claim("other", "1Gi").build().into()));
    assert!(!add(claim("c", "1Gi").namespace("other").build().into()));
    assert!(add(persistent_volume("v", "1Gi").build().into()));
    let class = |zone: &str| Object::from(storage_class("s").allowed_topology("z", [zone]).build());
    assert!(add(class("1")));
    assert!(update(class("1"), class("2")));
    assert!(!update(class("1"), class("1")));
    let migrated = |plugins: &str| {
        let key = "storage.alpha.kubernetes.io/migrated-plugins";
        Object::from(csi_node("a").annotation(key, plugins.to_owned()).build())
    };
    assert!(update(migrated(""), migrated("kubernetes.io/gce-pd")));
    assert!(!update(migrated("x"), migrated("x")));
    let room = |size, largest| Object::from(room("r", "a", size, largest));
    assert!(add(room("1Gi", None)));
    assert!(update(room("1Gi", None), room("2Gi", None)));
    assert!(!update(room("2Gi", None), room("1Gi", None)));
    assert!(!update(room("1Gi", Some("1Gi")), room("9Gi", Some("1Gi"))));
    assert!(!update(driver(true).into(), driver(false).into()), "no volume of the driver");
    let csi = CsiVolume { driver: "d".into(), ..CsiVolume::default() };
    let inline = pod("new").volume(Volume { csi: Some(csi), ..Volume::default() }).info();
    let drop = |from: bool, to: bool| {
        let (old, new) = (driver(from).into(), driver(to).into());
        trial.helps(ActionType::UPDATE, &inline, Some(old), Some(new))
    };
    assert!(drop(true, false));
    assert!(!drop(false, true));
}
