//! Reserve and PreBind: what is assumed, what is written, and what is waited for.

use std::{sync::Arc, time::Duration};

use loadmaster_framework::{
    Action, ActionError, Cycle, CycleState, DryRun, EventResource, Handle, Listers, NodeInfo,
    NodeToStatus, Object, Outcome, PatchKind, PodInfo, PreBindInput, PreBindStep, PreFlight, Slot,
    WaitingPod,
    api::{ObjectKey, PersistentVolume, PersistentVolumeClaim},
};
use serde_json::{Value, json};

use super::*;

/// A handle for which only assumptions count.
#[derive(Default)]
struct Notes {
    listers: Listers,
    slot: Slot,
}

impl Handle for Notes {
    fn nominated_pods(&self, _: &str) -> Vec<Arc<PodInfo>> {
        Vec::new()
    }
    fn waiting_pods(&self) -> Vec<WaitingPod> {
        Vec::new()
    }
    fn allow_waiting_pod(&mut self, _: &str, _: &'static str) -> bool {
        false
    }
    fn reject_waiting_pod(&mut self, _: &str, _: &'static str, _: &str) -> bool {
        false
    }
    fn activate(&mut self, _: &[ObjectKey]) {}
    fn slot(&mut self) -> &mut Slot {
        &mut self.slot
    }
    fn assume(&mut self, object: Object) {
        self.listers.assume(object);
    }
    fn restore(&mut self, object: &Object) {
        self.listers.restore(object);
    }
    fn run_filters(&self, _: Cycle<'_>, _: &CycleState, _: &NodeInfo) -> Outcome {
        Ok(())
    }
    fn run_add_pod(&self, _: Cycle<'_>, _: &mut CycleState, _: &PodInfo, _: &NodeInfo) -> Outcome {
        Ok(())
    }
    fn run_remove_pod(
        &self,
        _: Cycle<'_>,
        _: &mut CycleState,
        _: &PodInfo,
        _: &NodeInfo,
    ) -> Outcome {
        Ok(())
    }
    fn dry_run_preemption(
        &self,
        _: Cycle<'_>,
        _: &CycleState,
        _: &NodeToStatus,
        _: &[usize],
        _: usize,
    ) -> Outcome<DryRun> {
        Ok(DryRun::default())
    }
}

/// A pod that has been placed, on its way to being bound.
struct Way {
    trial: Trial,
    pod: Arc<PodInfo>,
    node: &'static str,
    state: CycleState,
    now: Duration,
}

impl Way {
    /// PreFilter and Reserve of a pod with `claims` on `node`.
    fn begin(trial: Trial, claims: &[&str], node: &'static str) -> Self {
        let pod = claims.iter().fold(pod("new"), |pod, it| pod.claim(it)).info();
        let (_, state) = trial.pre_filter(&pod);
        let mut way = Self { trial, pod, node, state, now: Duration::from_secs(7) };
        way.with_handle(|way, cx, state, notes| {
            let point = way.hooks.reserve.as_ref().unwrap();
            point.reserve(cx, state, node, notes).unwrap();
        });
        way
    }

    fn with_handle(&mut self, call: impl FnOnce(&Trial, Cycle<'_>, &mut CycleState, &mut Notes)) {
        let listers = self.trial.snapshot.listers().clone();
        let mut notes = Notes { listers, ..Notes::default() };
        call(&self.trial, self.trial.cycle(&self.pod), &mut self.state, &mut notes);
        self.trial.snapshot.set_listers(notes.listers);
    }

    fn unreserve(&mut self) {
        let node = self.node;
        self.with_handle(|way, cx, state, notes| {
            way.hooks.reserve.as_ref().unwrap().unreserve(cx, state, node, notes);
        });
    }

    fn pre_flight(&self) -> PreFlight {
        let point = self.trial.hooks.pre_bind.as_ref().unwrap();
        point.pre_flight(self.trial.cycle(&self.pod), &self.state, self.node).unwrap()
    }

    fn step(&mut self, input: PreBindInput) -> PreBindStep {
        let point = Arc::clone(self.trial.hooks.pre_bind.as_ref().unwrap());
        let cx = Cycle { now: self.now, ..self.trial.cycle(&self.pod) };
        point.step(cx, &mut self.state, self.node, input)
    }

    /// The one patch that the step asks for: of what, and its content.
    fn patch(&mut self, input: PreBindInput) -> (String, String, Value) {
        let PreBindStep::Do(actions) = self.step(input) else { panic!("a write is due") };
        let [Action::Patch { resource, key, subresource, kind, patch, .. }] = &actions[..] else {
            panic!("one patch is due, not {actions:?}")
        };
        assert_eq!((&**subresource, *kind), ("", PatchKind::Merge));
        (resource.to_string(), key.to_string(), patch.clone())
    }

    /// What the step waits for.
    fn wait(&mut self, input: PreBindInput) -> (Vec<(EventResource, String)>, Duration) {
        match self.step(input) {
            PreBindStep::WaitFor { keys, deadline } => {
                (keys.into_iter().map(|(kind, key)| (kind, key.to_string())).collect(), deadline)
            }
            step => panic!("a wait is due, not {step:?}"),
        }
    }

    fn failure(&mut self, input: PreBindInput) -> String {
        match self.step(input) {
            PreBindStep::Fail(status) => {
                assert!(status.is_error());
                status.message()
            }
            step => panic!("a failure is due, not {step:?}"),
        }
    }

    /// The world shows this object now.
    fn see(&mut self, object: impl Into<Object>) -> PreBindInput {
        let (mut listers, object) = (self.trial.snapshot.listers().clone(), object.into());
        listers.upsert(&object);
        self.trial.snapshot.set_listers(listers);
        PreBindInput::Changed(object)
    }
}

fn done(version: &str) -> PreBindInput {
    PreBindInput::Done(vec![Ok(json!({"metadata": {"resourceVersion": version}}))])
}

fn volume(version: &str, change: impl FnOnce(&mut PersistentVolume)) -> PersistentVolume {
    local("v", "1Gi", "a")
        .with(|it| it.metadata.resource_version = version.into())
        .with(change)
        .build()
}

fn of_class(
    class: &str,
    version: &str,
    change: impl FnOnce(&mut PersistentVolumeClaim),
) -> PersistentVolumeClaim {
    claim("c", "1Gi")
        .class(class.to_owned())
        .with(|it| it.metadata.resource_version = version.into())
        .with(change)
        .build()
}

fn bound(class: &str, version: &str) -> PersistentVolumeClaim {
    let claim = ClaimBuilder::bound_to(claim("c", "1Gi").class(class.to_owned()), "v");
    claim.selected_node("a").with(|it| it.metadata.resource_version = version.into()).build()
}

fn claim_ref(it: &mut PersistentVolume) {
    it.spec.claim_ref = local("v", "1Gi", "a").bound_to("c").build().spec.claim_ref;
}

/// A pod on node `a` whose claim takes the volume `v` there.
fn taking() -> Way {
    let trial = trial().knowing(volume("3", |_| {})).knowing(of_class("local", "4", |_| {}));
    Way::begin(trial, &["c"], "a")
}

/// A pod on node `a` for whose claim a volume is to be made.
fn making() -> Way {
    Way::begin(trial().knowing(of_class("made", "4", |_| {})), &["c"], "a")
}

#[test]
fn what_one_pod_takes_another_does_not_find() {
    let mut way = taking();
    let other = || pod("other").claim("d").info();
    way.see(claim("d", "1Gi").build());
    assert_eq!(verdicts(&way.trial, &other()), [NO_MATCH; 3]);
    way.unreserve();
    assert_eq!(verdicts(&way.trial, &other()), ["", NO_MATCH, NO_MATCH]);
}

#[test]
fn a_pod_that_shares_a_claim_follows_the_first_to_its_node() {
    let mut way = making();
    let other = || pod("other").claim("c").info();
    assert_eq!(verdicts(&way.trial, &other()), ["", NO_MATCH, NO_MATCH]);
    way.unreserve();
    assert_eq!(verdicts(&way.trial, &other()), ["", "", ""]);
}

#[test]
fn a_pod_whose_claims_are_bound_has_nothing_to_do_before_binding() {
    let trial = trial().knowing(volume("3", claim_ref)).knowing(bound("local", "4"));
    let mut way = Way::begin(trial, &["c"], "a");
    assert_eq!(way.pre_flight(), PreFlight::Skip);
    assert!(matches!(way.step(PreBindInput::Start), PreBindStep::Ready));
    assert_eq!(taking().pre_flight(), PreFlight::Needed);
}

#[test]
fn a_volume_that_is_there_is_bound_and_waited_for() {
    let mut way = taking();
    let (resource, key, patch) = way.patch(PreBindInput::Start);
    assert_eq!((&*resource, &*key), ("persistentvolumes", "v"));
    let expected = json!({
        "metadata": {
            "annotations": {"pv.kubernetes.io/bound-by-controller": "yes"},
            "resourceVersion": "3",
            "uid": "PersistentVolume/v",
        },
        "spec": {"claimRef": {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "namespace": "default",
            "name": "c",
            "uid": "PersistentVolumeClaim/c",
            "resourceVersion": "4",
        }},
    });
    assert_eq!(patch, expected);
    // The world is behind: nothing is wrong with the volume as it was.
    let (keys, deadline) = way.wait(done("10"));
    let claim = (EventResource::PersistentVolumeClaim, "default/c".to_owned());
    assert_eq!(keys, [claim, (EventResource::PersistentVolume, "v".to_owned())]);
    assert_eq!(deadline, Duration::from_secs(607));
    way.now = Duration::from_secs(9);
    let seen = way.see(volume("10", claim_ref));
    assert_eq!(way.wait(seen).1, deadline, "the time does not begin anew");
    let seen = way.see(bound("local", "11"));
    assert!(matches!(way.step(seen), PreBindStep::Ready));
}

#[test]
fn a_volume_is_asked_for_and_waited_for() {
    let mut way = making();
    let (resource, key, patch) = way.patch(PreBindInput::Start);
    assert_eq!((&*resource, &*key), ("persistentvolumeclaims", "default/c"));
    let expected = json!({"metadata": {
        "annotations": {"volume.kubernetes.io/selected-node": "a"},
        "resourceVersion": "4",
        "uid": "PersistentVolumeClaim/c",
    }});
    assert_eq!(patch, expected);
    let (keys, _) = way.wait(done("10"));
    assert_eq!(keys, [(EventResource::PersistentVolumeClaim, "default/c".to_owned())]);
    // The claim may be seen bound before the volume is seen at all.
    let seen = way.see(bound("made", "11"));
    let (keys, _) = way.wait(seen);
    assert!(keys.contains(&(EventResource::PersistentVolume, "v".to_owned())));
    let seen = way.see(volume("12", claim_ref));
    assert!(matches!(way.step(seen), PreBindStep::Ready));
}

#[test]
fn a_write_that_is_refused_ends_it_and_the_reservation_can_be_undone() {
    let mut way = taking();
    way.patch(PreBindInput::Start);
    let conflict = ActionError::Conflict("the volume has been changed".to_owned());
    let failure = way.failure(PreBindInput::Done(vec![Err(conflict)]));
    assert_eq!(failure, "the volume has been changed");
    way.unreserve();
    assert!(verdicts(&way.trial, &way.pod)[0].is_empty());
}

#[test]
fn what_is_written_stays_assumed_until_the_world_shows_it() {
    let mut way = taking();
    way.patch(PreBindInput::Start);
    way.wait(done("10"));
    way.unreserve();
    way.see(claim("d", "1Gi").build());
    let other = pod("other").claim("d").info();
    assert_eq!(verdicts(&way.trial, &other), [NO_MATCH; 3]);
}

#[test]
fn the_wait_ends_when_its_time_is_over() {
    let mut way = making();
    way.patch(PreBindInput::Start);
    way.wait(done("10"));
    assert_eq!(way.failure(PreBindInput::Deadline), "binding volumes: context deadline exceeded");
}

#[test]
fn a_provisioner_that_hands_the_claim_back_ends_the_wait() {
    let after = |change: fn(&mut PersistentVolumeClaim)| {
        let mut way = making();
        way.patch(PreBindInput::Start);
        way.see(of_class("made", "11", change));
        way.failure(done("10"))
    };
    let reset = "binding volumes: selectedNode annotation reset for PVC \"c\"";
    assert_eq!(after(|_| {}), reset);
    let other = |it: &mut PersistentVolumeClaim| {
        it.metadata.annotations = [("other", "x")].into_iter().collect();
    };
    assert_eq!(after(other), "binding volumes: provisioning failed for PVC \"c\"");
}

#[test]
fn a_volume_that_is_out_of_reach_or_let_go_ends_the_wait() {
    let after = |object: Object| {
        let mut way = taking();
        way.patch(PreBindInput::Start);
        way.wait(done("10"));
        let seen = way.see(object);
        way.failure(seen)
    };
    let reset = "binding volumes: ClaimRef got reset for pv \"v\"";
    assert_eq!(after(volume("11", |_| {}).into()), reset);
    let elsewhere = local("v", "1Gi", "b")
        .with(|it| it.metadata.resource_version = "11".into())
        .with(claim_ref);
    assert_eq!(
        after(elsewhere.build().into()),
        "binding volumes: pv \"v\" node affinity doesn't match node \"a\": no matching \
         NodeSelectorTerms"
    );
}

#[test]
fn a_volume_or_a_claim_that_is_gone_ends_the_wait() {
    let after = |way: fn() -> Way, object: Object| {
        let mut way = way();
        way.patch(PreBindInput::Start);
        way.wait(done("10"));
        let mut listers = way.trial.snapshot.listers().clone();
        listers.remove(&object);
        way.trial.snapshot.set_listers(listers);
        way.failure(PreBindInput::Changed(object))
    };
    assert_eq!(
        after(taking, volume("3", |_| {}).into()),
        "binding volumes: failed to check binding: persistentvolumes \"v\" not found"
    );
    assert_eq!(
        after(making, of_class("made", "4", |_| {}).into()),
        "binding volumes: failed to check provisioning pvc: persistentvolumeclaims \"default/c\" \
         not found"
    );
}
