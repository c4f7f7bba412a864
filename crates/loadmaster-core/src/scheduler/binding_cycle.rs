//! The binding cycle: from Permit to the end, for many pods side by side.

use std::{sync::Arc, time::Duration};

use loadmaster_framework::{
    ActionError, ActionResult, Code, Cycle, CycleState, EventResource, Nominating, Object, Outcome,
    PodInfo, PreBindInput, PreBindStep, QueuedPodInfo, Status,
    api::{ObjectKey, Text},
};

use super::{EventType, Scheduler, Work, failure::Failure, instance::Instance, purpose::Purpose};
use crate::{
    event::ASSIGNED_POD_DELETE,
    meter::{AttemptResult, CallPoint, Observation},
    queue::Change,
};

/// A pod whose answer was lost is asked about again after this long.
const READ_AGAIN_AFTER: Duration = Duration::from_secs(1);

/// Where a binding cycle stands.
#[derive(Debug)]
enum Stage {
    /// The pod waits at Permit.
    Permit,
    /// A PreBind plugin's actions are being done: their results as they come.
    Doing(Vec<Option<ActionResult>>),
    /// A PreBind plugin waits for objects to change.
    WaitingFor { keys: Vec<(EventResource, ObjectKey)>, deadline: Duration },
    /// The binding itself is being done, or it is being found out whether it was.
    Binding,
    /// Whether it was bound could not be found out; the question is put again then.
    Unknown { ask_at: Duration },
}

/// One pod's way from Permit to the end of its binding.
#[derive(Debug)]
pub(super) struct BindingCycle {
    /// When the try began.
    started: Duration,
    /// When the wait at Permit, PreBind or the binding began, whichever it is in.
    stage_since: Option<Duration>,
    /// The plugins that deal with it to the end, whatever the configuration says by then.
    instance: Arc<Instance>,
    info: QueuedPodInfo,
    /// The pod with its node.
    assumed: Arc<PodInfo>,
    state: CycleState,
    node: Text,
    /// PreBind plugins that have something to do, by position; the first is at work.
    pre_binds: Vec<usize>,
    stage: Stage,
}

impl BindingCycle {
    pub(super) fn new(
        started: Duration,
        instance: Arc<Instance>,
        info: QueuedPodInfo,
        assumed: Arc<PodInfo>,
        state: CycleState,
        node: Text,
    ) -> Self {
        let (stage_since, pre_binds, stage) = (None, Vec::new(), Stage::Permit);
        Self { started, stage_since, instance, info, assumed, state, node, pre_binds, stage }
    }

    /// The plugins that deal with it.
    pub(super) fn instance(&self) -> &Arc<Instance> {
        &self.instance
    }

    /// When time itself moves it on.
    pub(super) fn deadline(&self) -> Option<Duration> {
        match self.stage {
            Stage::WaitingFor { deadline, .. } => Some(deadline),
            Stage::Unknown { ask_at } => Some(ask_at),
            _ => None,
        }
    }

    /// Whether PreBind is under way and the binding has not begun.
    pub(super) fn is_before_bind(&self) -> bool {
        matches!(self.stage, Stage::Doing(_) | Stage::WaitingFor { .. })
    }
}

impl Scheduler {
    /// A pod has passed Reserve and Permit; `waits` are the plugins that hold it.
    pub(super) fn begin_binding(
        &mut self,
        now: Duration,
        mut cycle: BindingCycle,
        waits: &[(&'static str, Duration)],
    ) {
        let uid = cycle.assumed.uid().clone();
        let plugins = &cycle.instance;
        let name = plugins.scheduler_name();
        let cx = Cycle { pod: &cycle.assumed, snapshot: &self.snapshot, profile: name, now };
        let needed = plugins.run_pre_flight(cx, &cycle.state, &cycle.node);
        let pod = Arc::clone(&cycle.info.pod);
        let node = cycle.node.clone();
        let outcome = needed.map(|needed| cycle.pre_binds = needed);
        let long = !cycle.pre_binds.is_empty() || !waits.is_empty();
        let assumed = Arc::clone(&cycle.assumed);
        self.bindings.insert(uid.clone(), cycle);
        if let Err(status) = outcome {
            return self.fail_binding(now, &uid, &status);
        }
        if long {
            // Whoever looks while it takes its time sees where the pod is going (KEP-5278).
            self.patch_status(&pod, None, Some(node.clone()));
        }
        if waits.is_empty() {
            self.permitted(now, &uid, Ok(()));
        } else {
            self.begin_stage(&uid);
            self.waiting.insert(now, assumed, node, waits);
        }
    }

    /// Takes up waits at Permit that are over.
    pub(super) fn settle_waits(&mut self, now: Duration) {
        loop {
            let settled = self.waiting.take_settled();
            if settled.is_empty() {
                return;
            }
            for (uid, outcome) in settled {
                self.permitted(now, &uid, outcome);
            }
        }
    }

    /// Notes, where anything is measured, that the next part of a binding cycle begins now.
    fn begin_stage(&mut self, uid: &Text) {
        let since = self.measured();
        if let Some(cycle) = self.bindings.get_mut(uid) {
            cycle.stage_since = since;
        }
    }

    /// Tells how long the part of a binding cycle took that ends with `code`.
    fn end_stage(&mut self, uid: &Text, code: Code) {
        let Some(cycle) = self.bindings.get_mut(uid) else { return };
        let since = cycle.stage_since.take();
        let point = match cycle.stage {
            Stage::Permit => {
                return self.observe_since(since, |took| Observation::PermitWait { code, took });
            }
            Stage::Doing(_) | Stage::WaitingFor { .. } => CallPoint::PreBind,
            Stage::Binding | Stage::Unknown { .. } => CallPoint::Bind,
        };
        let profile = &cycle.instance;
        profile.watch().point(profile.scheduler_name(), point, since, code);
    }

    fn permitted(&mut self, now: Duration, uid: &Text, outcome: Outcome) {
        self.end_stage(uid, outcome.as_ref().map_or_else(Status::code, |()| Code::Success));
        match outcome {
            Ok(()) => {
                // Nothing can find it unschedulable any more: events need not be kept for it.
                self.queue.done(uid);
                self.begin_stage(uid);
                if let Some(cycle) = self.bindings.get_mut(uid) {
                    cycle.stage = Stage::Doing(Vec::new());
                }
                self.pre_bind(now, uid, PreBindInput::Start);
            }
            Err(status) => self.fail_binding(now, uid, &status),
        }
    }

    /// Moves the first PreBind plugin on, and the next ones as far as they go by themselves; then
    /// binds.
    fn pre_bind(&mut self, now: Duration, uid: &Text, mut input: PreBindInput) {
        loop {
            let Some(cycle) = self.bindings.get_mut(uid) else { return };
            let Some(&at) = cycle.pre_binds.first() else { return self.bind(now, uid) };
            // What the plugin wrote or waited for may have changed since the cycle.
            self.cache.update_snapshot(&mut self.snapshot);
            let plugins = Arc::clone(&cycle.instance);
            let name = plugins.scheduler_name();
            let cx = Cycle { pod: &cycle.assumed, snapshot: &self.snapshot, profile: name, now };
            match plugins.run_pre_bind(at, cx, &mut cycle.state, &cycle.node, input) {
                PreBindStep::Ready => {
                    cycle.pre_binds.remove(0);
                    input = PreBindInput::Start;
                }
                PreBindStep::Do(actions) if actions.is_empty() => {
                    input = PreBindInput::Done(Vec::new());
                }
                PreBindStep::Do(actions) => {
                    cycle.stage = Stage::Doing(vec![None; actions.len()]);
                    for (action, it) in actions.into_iter().enumerate() {
                        let purpose = Purpose::PreBind { uid: uid.clone(), action };
                        self.give(Work::Do(it), Some(purpose));
                    }
                    return;
                }
                PreBindStep::WaitFor { keys, deadline } => {
                    cycle.stage = Stage::WaitingFor { keys, deadline };
                    return;
                }
                PreBindStep::Fail(status) => return self.fail_binding(now, uid, &status),
            }
        }
    }

    /// An action before the binding was done, or not.
    pub(super) fn pre_bind_done(
        &mut self,
        now: Duration,
        uid: &Text,
        action: usize,
        result: ActionResult,
    ) {
        let Some(cycle) = self.bindings.get_mut(uid) else { return };
        let Stage::Doing(results) = &mut cycle.stage else { return };
        results[action] = Some(result);
        if results.iter().all(Option::is_some) {
            let all = std::mem::take(results).into_iter().flatten().collect();
            self.pre_bind(now, uid, PreBindInput::Done(all));
        }
    }

    /// Tells PreBind plugins of an object that they wait for.
    pub(super) fn tell_bindings(&mut self, now: Duration, object: &Object) {
        let Some(resource) = object.resource() else { return };
        let key = object.key();
        let concerned: Vec<Text> = self
            .bindings
            .iter()
            .filter(|(_, it)| {
                matches!(&it.stage, Stage::WaitingFor { keys, .. }
                    if keys.iter().any(|it| it.0 == resource && it.1 == key))
            })
            .map(|(uid, _)| uid.clone())
            .collect();
        for uid in concerned {
            self.pre_bind(now, &uid, PreBindInput::Changed(object.clone()));
        }
    }

    /// Moves on what has waited for long enough.
    pub(super) fn expire_bindings(&mut self, now: Duration) {
        let due: Vec<Text> = self
            .bindings
            .iter()
            .filter(|(_, it)| it.deadline().is_some_and(|deadline| deadline <= now))
            .map(|(uid, _)| uid.clone())
            .collect();
        for uid in due {
            match self.bindings[&uid].stage {
                Stage::Unknown { .. } => self.ask_whether_bound(&uid),
                _ => self.pre_bind(now, &uid, PreBindInput::Deadline),
            }
        }
    }

    fn bind(&mut self, now: Duration, uid: &Text) {
        self.end_stage(uid, Code::Success);
        self.begin_stage(uid);
        let Some(cycle) = self.bindings.get_mut(uid) else { return };
        cycle.stage = Stage::Binding;
        let mut extenders = cycle.instance.extenders().iter();
        let binder = extenders.find(|it| it.binds && it.is_interested(&cycle.assumed));
        if let Some(extender) = binder {
            // No Bind plugin is asked.
            cycle.stage_since = None;
            let work = Work::ExtenderBind {
                extender: extender.name.clone(),
                pod: Arc::clone(&cycle.assumed),
                node: cycle.node.clone(),
            };
            self.give(work, Some(Purpose::Bind { uid: uid.clone() }));
            return;
        }
        let plugins = &cycle.instance;
        let name = plugins.scheduler_name();
        let cx = Cycle { pod: &cycle.assumed, snapshot: &self.snapshot, profile: name, now };
        match plugins.run_bind(cx, &cycle.state, &cycle.node) {
            Ok(action) => {
                self.give(Work::Do(action), Some(Purpose::Bind { uid: uid.clone() }));
            }
            Err(status) => self.fail_binding(now, uid, &status),
        }
    }

    /// The binding was done, or not, or nobody knows.
    pub(super) fn bind_done(&mut self, now: Duration, uid: &Text, result: ActionResult) {
        let seen = self.cache.get_pod(uid).filter(|it| !it.assumed);
        let seen_at = seen.and_then(|it| it.info.node_name()).cloned();
        let ours = self.bindings.get(uid).map(|it| &it.node);
        match result {
            Ok(_) => self.bound(now, uid),
            // A watch was faster than the answer.
            Err(_) if seen_at.is_some() && seen_at.as_ref() == ours => self.bound(now, uid),
            Err(_) if let Some(other) = seen_at => {
                self.fail_binding(now, uid, &Status::error(bound_to_another(&other)));
            }
            // The server may have done it all the same, or somebody else has: ask.
            Err(ActionError::Unknown(_) | ActionError::Conflict(_)) => self.ask_whether_bound(uid),
            Err(error) => {
                self.fail_binding(now, uid, &Status::error(binding_rejected(&error)));
            }
        }
    }

    fn ask_whether_bound(&mut self, uid: &Text) {
        let Some(cycle) = self.bindings.get_mut(uid) else { return };
        cycle.stage = Stage::Binding;
        let work = Work::ReadPod { key: cycle.assumed.key(), uid: uid.clone() };
        self.give(work, Some(Purpose::ReadBound { uid: uid.clone() }));
    }

    /// A consistent read says whether the pod was bound: to our node is success, to another's or
    /// not at all is failure.
    pub(super) fn bound_read(
        &mut self,
        now: Duration,
        uid: &Text,
        answer: Result<Option<Object>, String>,
    ) {
        let Some(cycle) = self.bindings.get_mut(uid) else { return };
        let Ok(object) = answer else {
            cycle.stage = Stage::Unknown { ask_at: now + READ_AGAIN_AFTER };
            return;
        };
        let pod = object.and_then(|it| it.as_pod().cloned());
        let bound_to = pod.filter(|it| it.uid() == uid).and_then(|it| it.node_name().cloned());
        if bound_to.as_ref() == Some(&cycle.node) {
            self.bound(now, uid);
            return;
        }
        let text = match bound_to {
            Some(other) => bound_to_another(&other),
            None => "binding rejected: pod is not bound".to_owned(),
        };
        self.fail_binding(now, uid, &Status::error(text));
    }

    fn bound(&mut self, now: Duration, uid: &Text) {
        self.end_stage(uid, Code::Success);
        let Some(cycle) = self.bindings.remove(uid) else { return };
        self.observe_bound(&cycle);
        let BindingCycle { instance, assumed, state, node, .. } = cycle;
        self.with_handles(now, &instance, &assumed, None, |plugins, cx, handles| {
            plugins.run_post_bind(cx, &state, &node, handles);
        });
        let name = instance.scheduler_name().clone();
        let note = format!("Successfully assigned {} to {node}", assumed.key());
        self.record(&assumed, &name, EventType::Normal, "Scheduled", "Binding", note);
    }

    fn observe_bound(&self, cycle: &BindingCycle) {
        let profile = cycle.instance.scheduler_name();
        let result = AttemptResult::Scheduled;
        self.observe_since(Some(cycle.started), |took| Observation::Attempt {
            profile,
            result,
            took,
        });
        let QueuedPodInfo { attempts, initial_attempt_timestamp: since, .. } = cycle.info;
        let after_flush = cycle.info.was_flushed_from_unschedulable;
        let took = self.measured().zip(since).map(|(now, since)| now.saturating_sub(since));
        self.observe(Observation::Scheduled { attempts, took, after_flush });
    }

    /// Undoes the reservation; the pod is tried again, and whoever its place helps is woken.
    pub(super) fn fail_binding(&mut self, now: Duration, uid: &Text, status: &Status) {
        self.end_stage(uid, status.code());
        let Some(cycle) = self.bindings.remove(uid) else { return };
        let BindingCycle { started, instance, info, assumed, mut state, node, .. } = cycle;
        self.unreserve_and_forget(now, &instance, &assumed, &mut state, &node);
        let left = Object::Pod(Arc::clone(assumed.pod()));
        let change = Change { event: ASSIGNED_POD_DELETE, old: Some(&left), new: None };
        let failure = Failure::at_node(status);
        if status.is_rejected() {
            // Its own going helps others, not itself.
            self.handle_failure((started, now), &instance, info, failure, &Nominating::Clear);
            let (queue, host) = self.queue_and_host();
            queue.move_others(&host, now, change, uid);
        } else {
            self.wake_for(now, change);
            self.handle_failure((started, now), &instance, info, failure, &Nominating::Clear);
        }
    }
}

fn bound_to_another(node: &str) -> String {
    format!("binding rejected: pod is assigned to node {node:?} already")
}

fn binding_rejected(error: &ActionError) -> String {
    format!("binding rejected: {error}")
}
