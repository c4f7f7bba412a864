use loadmaster_framework::{
    ActionType, Candidates, CycleState, NodeInfo, Object,
    api::{
        AwsElasticBlockStore, GcePersistentDisk, Iscsi, PersistentVolumeClaim, Pod, Rbd, Volume,
    },
};
use loadmaster_testing::builders::{PodBuilder, node, persistent_volume_claim, pod};
use proptest::prelude::*;

use super::{SinglePodClaims, VolumeRestrictions};
use crate::in_tree::trial::Trial;

fn trial(nodes: impl IntoIterator<Item = NodeInfo>) -> Trial {
    Trial::of::<VolumeRestrictions>(nodes)
}

fn google(name: &str, read_only: bool) -> Volume {
    let disk = GcePersistentDisk { pd_name: name.into(), read_only };
    Volume { gce_persistent_disk: Some(disk), ..Volume::default() }
}

fn amazon(id: &str) -> Volume {
    let disk = AwsElasticBlockStore { volume_id: id.into() };
    Volume { aws_elastic_block_store: Some(disk), ..Volume::default() }
}

fn iscsi(portal: &str, iqn: &str, read_only: bool) -> Volume {
    let disk =
        Iscsi { target_portal: portal.into(), iqn: iqn.into(), read_only, ..Iscsi::default() };
    Volume { iscsi: Some(disk), ..Volume::default() }
}

fn ceph(monitors: &[&str], pool: &str, image: &str, read_only: bool) -> Volume {
    let disk = Rbd {
        ceph_monitors: monitors.iter().map(|it| (*it).into()).collect(),
        rbd_pool: pool.into(),
        rbd_image: image.into(),
        read_only,
    };
    Volume { rbd: Some(disk), ..Volume::default() }
}

#[test]
fn the_page_example_holds() {
    let reader = pod("reader").volume(google("data", true)).build();
    let trial = trial([node("a").info([reader]), node("b").info::<Pod>([])]);
    let writer = pod("new").volume(google("data", false)).info();
    let verdicts = trial.verdicts(&writer);
    assert_eq!(verdicts[0].1, "Unschedulable: node(s) had no available disk");
    assert_eq!(verdicts[1].1, "");
    assert!(trial.refused(&pod("new").volume(google("data", true)).info()).is_empty());
}

#[test]
fn disks_of_each_kind_exclude_each_other_by_their_own_rules() {
    // Each row: a disk on the node, the pod's disk, whether they exclude each other.
    let rows = vec![
        (google("d", true), google("d", false), true),
        (google("d", false), google("e", false), false),
        (amazon("vol-1"), amazon("vol-1"), true),
        (amazon("vol-1"), amazon("vol-2"), false),
        (iscsi("p1", "iqn", false), iscsi("p2", "iqn", true), true),
        (iscsi("p1", "iqn", true), iscsi("p1", "iqn", true), false),
        (iscsi("p1", "iqn", false), iscsi("p1", "other", false), false),
        (ceph(&["m1", "m2"], "p", "i", false), ceph(&["m2", "m3"], "p", "i", true), true),
        (ceph(&["m1"], "p", "i", true), ceph(&["m1"], "p", "i", true), false),
        (ceph(&["m1"], "p", "i", false), ceph(&["m2"], "p", "i", false), false),
        (ceph(&["m1"], "p", "i", false), ceph(&["m1"], "q", "i", false), false),
        (ceph(&["m1"], "p", "i", false), ceph(&["m1"], "p", "j", false), false),
        (amazon("d"), google("d", false), false),
    ];
    for (there, mine, excludes) in rows {
        let shown = format!("{there:?} and {mine:?}");
        let trial = trial([node("a").info([pod("p").volume(there).build()])]);
        let refused = trial.refused(&pod("new").volume(mine).info());
        assert_eq!(!refused.is_empty(), excludes, "{shown}");
    }
}

fn single_pod_claim(name: &str) -> PersistentVolumeClaim {
    persistent_volume_claim(name, "1Gi").access_modes(["ReadWriteOncePod"]).build()
}

#[test]
fn a_read_write_once_pod_claim_in_use_refuses_every_node() {
    let with = |user: PodBuilder| {
        trial([node("a").info([user.build()]), node("b").info::<Pod>([])])
            .knowing(single_pod_claim("c"))
            .knowing(persistent_volume_claim("shared", "1Gi").build())
    };
    let reason = "Unschedulable: node(s) unavailable due to PersistentVolumeClaim with \
                  ReadWriteOncePod access mode already in-use by another pod";
    let verdicts = with(pod("p").claim("c")).verdicts(&pod("new").claim("c").info());
    assert!(verdicts.iter().all(|(_, it)| it == reason), "{verdicts:?}");
    let elsewhere = with(pod("p").namespace("other").claim("c"));
    assert_eq!(elsewhere.pre_filter(&pod("new").claim("c").info()).0, Ok(Candidates::Skip));
    let shared = with(pod("p").claim("shared"));
    assert_eq!(shared.pre_filter(&pod("new").claim("shared").info()).0, Ok(Candidates::Skip));
}

#[test]
fn a_claim_that_is_not_there_makes_the_pod_unschedulable() {
    let trial = trial([node("a").info::<Pod>([])]);
    let verdicts = trial.verdicts(&pod("new").claim("c").info());
    assert_eq!(verdicts[0].1, "Unresolvable: persistentvolumeclaim \"c\" not found");
}

#[test]
fn filter_answers_the_same_without_prefilter() {
    let user = pod("p").claim("c").build();
    let trial = trial([node("a").info([user])]).knowing(single_pod_claim("c"));
    let state = CycleState::default();
    assert!(trial.filter(&pod("new").claim("c").info(), &state, "a").is_err());
    assert!(trial.filter(&pod("new").info(), &state, "a").is_ok());
}

#[test]
fn what_held_a_volume_and_is_gone_wakes_the_pod() {
    let trial = trial([]);
    let waiting = pod("new").claim("c").volume(amazon("vol-1")).info();
    let gone =
        |it: PodBuilder| trial.helps(ActionType::DELETE, &waiting, Some(it.build().into()), None);
    assert!(gone(pod("p").claim("c")));
    assert!(gone(pod("p").volume(amazon("vol-1"))));
    assert!(!gone(pod("p").claim("other").volume(amazon("vol-2"))));
    assert!(!gone(pod("p").namespace("other").claim("c")));
    let added =
        |it: PersistentVolumeClaim| trial.helps(ActionType::ADD, &waiting, None, Some(it.into()));
    assert!(added(single_pod_claim("c")));
    assert!(!added(single_pod_claim("other")));
    let node = Object::from(node("n").build());
    assert!(trial.helps(ActionType::ADD, &waiting, None, Some(node)));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// What-ifs leave the same count as counting afresh, while one pod at most uses each claim.
    #[test]
    fn moving_pods_in_the_state_equals_counting_afresh(
        before in any::<[bool; 3]>(),
        after in any::<[bool; 3]>(),
    ) {
        let names = ["c0", "c1", "plain"];
        let user = |at: usize| pod(&format!("p{at}")).claim(names[at]);
        let cluster = |used: [bool; 3]| {
            let users = (0..3).filter(|at| used[*at]).map(|at| user(at).build());
            trial([node("a").info(users.collect::<Vec<_>>())])
                .knowing(single_pod_claim("c0"))
                .knowing(single_pod_claim("c1"))
                .knowing(persistent_volume_claim("plain", "1Gi").build())
        };
        // The disk keeps the plugin from being skipped.
        let new = names.iter().fold(pod("new"), |pod, name| pod.claim(name));
        let new = new.volume(amazon("vol-1")).info();
        let (trial, afresh) = (cluster(before), cluster(after));
        let (_, mut state) = trial.pre_filter(&new);
        let point = trial.hooks.pre_filter.as_ref().unwrap();
        let node = trial.snapshot.node("a").unwrap();
        for at in 0..3 {
            let moved = user(at).info();
            match (before[at], after[at]) {
                (true, false) => {
                    point.remove_pod(trial.cycle(&new), &mut state, &moved, node).unwrap();
                }
                (false, true) => {
                    point.add_pod(trial.cycle(&new), &mut state, &moved, node).unwrap();
                }
                _ => {}
            }
        }
        let in_use = |state: &CycleState| state.get::<SinglePodClaims>().unwrap().in_use;
        prop_assert_eq!(in_use(&state), in_use(&afresh.pre_filter(&new).1));
    }
}
