use loadmaster_framework::{
    ActionType, Candidates, CycleState, NodeInfo, Object,
    api::{AwsElasticBlockStore, ObjectMeta, PersistentVolumeClaim, Pod, Volume, VolumeAttachment},
};
use loadmaster_testing::builders::{
    PodBuilder, csi_node, node, persistent_volume, persistent_volume_claim, pod, storage_class,
};

use super::NodeVolumeLimits;
use crate::in_tree::trial::Trial;

const DRIVER: &str = "d";
const EXCEEDS: &str = "Unschedulable: node(s) exceed max volume count";

fn trial(nodes: impl IntoIterator<Item = NodeInfo>) -> Trial {
    Trial::of::<NodeVolumeLimits>(nodes)
}

/// Volumes `v0`, `v1`, … of the driver, each bound to a claim `c0`, `c1`, ….
fn with_volumes(trial: Trial, count: usize) -> Trial {
    (0..count).fold(trial, |trial, at| {
        let (volume, claim) = (format!("v{at}"), format!("c{at}"));
        let bound = persistent_volume_claim(&claim, "1Gi").bound_to(&*volume).build();
        trial.knowing(persistent_volume(&volume, "1Gi").csi(DRIVER, &volume).build()).knowing(bound)
    })
}

fn using(name: &str, claims: impl IntoIterator<Item = usize>) -> PodBuilder {
    claims.into_iter().fold(pod(name), |pod, at| pod.claim(&format!("c{at}")))
}

fn amazon(id: &str) -> Volume {
    let disk = AwsElasticBlockStore { volume_id: id.into() };
    Volume { name: "disk".into(), aws_elastic_block_store: Some(disk), ..Volume::default() }
}

#[test]
fn the_page_example_holds() {
    let trial = trial([
        node("a").info([using("p1", [0, 1]).build()]),
        node("b").info([using("p2", [2]).build()]),
        node("c").info([using("p3", [3, 4, 5]).build()]),
    ])
    .knowing(csi_node("a").driver(DRIVER, Some(2)).build())
    .knowing(csi_node("b").driver(DRIVER, Some(2)).build())
    .knowing(csi_node("c").driver(DRIVER, None).build());
    let verdicts = with_volumes(trial, 7).verdicts(&using("new", [6]).info());
    let verdicts: Vec<&str> = verdicts.iter().map(|(_, it)| &**it).collect();
    assert_eq!(verdicts, [EXCEEDS, "", ""]);
}

#[test]
fn a_volume_that_a_pod_on_the_node_uses_is_not_attached_twice() {
    let trial = trial([node("a").info([using("p", [0, 1]).build()])])
        .knowing(csi_node("a").driver(DRIVER, Some(2)).build());
    let trial = with_volumes(trial, 3);
    assert!(trial.refused(&using("new", [0, 1]).info()).is_empty());
    assert_eq!(trial.refused(&using("new", [0, 2]).info()), ["a"]);
}

fn attachment(name: &str, node: &str, volume: &str) -> VolumeAttachment {
    let metadata = ObjectMeta { name: name.into(), ..ObjectMeta::default() };
    let mut attachment = VolumeAttachment { metadata, ..VolumeAttachment::default() };
    attachment.spec.attacher = DRIVER.into();
    attachment.spec.node_name = node.into();
    attachment.spec.source.persistent_volume_name = Some(volume.into());
    attachment
}

#[test]
fn what_is_attached_without_a_pod_counts_too() {
    let cluster = || {
        let trial = trial([node("a").info([using("p", [0]).build()]), node("b").info::<Pod>([])])
            .knowing(csi_node("a").driver(DRIVER, Some(2)).build())
            .knowing(csi_node("b").driver(DRIVER, Some(2)).build());
        with_volumes(trial, 4).knowing(attachment("x0", "a", "v0"))
    };
    assert!(cluster().refused(&using("new", [3]).info()).is_empty(), "its pod counts it already");
    let more = cluster()
        .knowing(attachment("x1", "a", "v1"))
        .knowing(attachment("x2", "b", "v2"))
        .knowing(attachment("x3", "b", "gone"));
    assert_eq!(more.refused(&using("new", [3]).info()), ["a"]);
    // As upstream has it, a volume that is attached and new to the pods counts twice.
    let full = cluster().knowing(attachment("x2", "b", "v2")).knowing(attachment("x3", "b", "v3"));
    assert_eq!(full.refused(&using("new", [3]).info()), ["b"]);
}

#[test]
fn a_claim_without_a_volume_counts_for_its_classs_provisioner() {
    let pending =
        |name: &str, class: &str| persistent_volume_claim(name, "1Gi").class(class).build();
    let trial = trial([node("a").info([using("p", [0]).build()])])
        .knowing(csi_node("a").driver(DRIVER, Some(1)).driver("ebs.csi.aws.com", Some(0)).build())
        .knowing(storage_class("fast").provisioner(DRIVER).build())
        .knowing(storage_class("old").provisioner("kubernetes.io/aws-ebs").build())
        .knowing(pending("new", "fast"))
        .knowing(pending("old", "old"))
        .knowing(pending("free", "unknown"));
    let trial = with_volumes(trial, 1);
    assert_eq!(trial.refused(&pod("new").claim("new").info()), ["a"]);
    assert_eq!(trial.refused(&pod("new").claim("old").info()), ["a"]);
    assert!(trial.refused(&pod("new").claim("free").info()).is_empty());
}

#[test]
fn disks_of_clouds_count_for_the_driver_that_took_over_where_drivers_are_known() {
    let there = pod("p").volume(amazon("aws://z/vol-1")).build();
    let trial = trial([node("a").info([there]), node("b").info::<Pod>([])])
        .knowing(csi_node("a").driver("ebs.csi.aws.com", Some(1)).build());
    assert_eq!(trial.refused(&pod("new").volume(amazon("vol-2")).info()), ["a"]);
    assert!(trial.refused(&pod("new").volume(amazon("vol-1")).info()).is_empty());
    let wrong = trial.verdicts(&pod("new").volume(amazon("aws://z/disk")).info());
    assert_eq!(
        wrong[0].1,
        "Error: converting volume(disk) from inline to csi: failed to translate Kubernetes ID to \
         EBS Volume ID Invalid format for AWS volume (aws://z/disk)"
    );
    assert_eq!(wrong[1].1, "");
}

#[test]
fn a_claim_that_is_not_there_matters_for_the_new_pod_only() {
    let trial = trial([node("a").info([pod("p").claim("gone").build()])])
        .knowing(csi_node("a").driver(DRIVER, Some(1)).build());
    let trial = with_volumes(trial, 1);
    assert!(trial.refused(&using("new", [0]).info()).is_empty());
    let verdicts = trial.verdicts(&pod("new").claim("gone").info());
    let reason =
        "Unresolvable: looking up PVC default/gone: persistentvolumeclaim \"gone\" not found";
    assert_eq!(verdicts[0].1, reason);
}

#[test]
fn a_pods_own_claim_must_be_owned_by_it() {
    let trial = trial([node("a").info::<Pod>([])])
        .knowing(persistent_volume_claim("new-data", "1Gi").build());
    let verdicts = trial.verdicts(&pod("new").ephemeral_claim("data").info());
    assert_eq!(
        verdicts[0].1,
        "Error: PVC default/new-data was not created for pod default/new (pod is not owner)"
    );
}

#[test]
fn a_pod_without_such_volumes_is_not_looked_at() {
    let trial = trial([node("a").info::<Pod>([])]);
    assert_eq!(trial.pre_filter(&pod("new").info()).0, Ok(Candidates::Skip));
    let other = pod("new").volume(Volume { name: "tmp".into(), ..Volume::default() });
    assert_eq!(trial.pre_filter(&other.info()).0, Ok(Candidates::Skip));
}

#[test]
fn filter_answers_the_same_without_prefilter() {
    let trial = trial([node("a").info([using("p", [0]).build()])])
        .knowing(csi_node("a").driver(DRIVER, Some(1)).build());
    let trial = with_volumes(trial, 2);
    assert!(trial.filter(&using("new", [1]).info(), &CycleState::default(), "a").is_err());
}

#[test]
fn what_may_leave_room_for_a_volume_wakes_the_pod() {
    let trial = trial([]);
    let waiting = using("new", [0]).info();
    let helps =
        |action, old: Option<Object>, new: Option<Object>| trial.helps(action, &waiting, old, new);
    let limit = |count| Some(Object::from(csi_node("a").driver(DRIVER, count).build()));
    assert!(helps(ActionType::ADD, None, limit(None)));
    assert!(helps(ActionType::UPDATE, limit(Some(1)), limit(Some(2))));
    assert!(helps(ActionType::UPDATE, limit(None), limit(Some(2))));
    assert!(!helps(ActionType::UPDATE, limit(Some(2)), limit(Some(1))));
    let gone = |it: PodBuilder| helps(ActionType::DELETE, Some(it.build().into()), None);
    assert!(gone(using("p", [1]).node("a")));
    assert!(gone(pod("p").volume(amazon("vol-1")).node("a")));
    assert!(!gone(using("p", [1])), "it was not placed");
    assert!(!gone(pod("p").node("a")));
    let claim = |it: PersistentVolumeClaim| helps(ActionType::ADD, None, Some(it.into()));
    assert!(claim(persistent_volume_claim("c0", "1Gi").build()));
    assert!(!claim(persistent_volume_claim("c1", "1Gi").build()));
    let detached = Object::from(attachment("x", "a", "v9"));
    assert!(helps(ActionType::DELETE, Some(detached.clone()), None));
    let inline = pod("new").volume(amazon("vol-1")).info();
    assert!(!trial.helps(ActionType::DELETE, &inline, Some(detached), None), "another driver");
}
