//! The loops over a profile's plugins, up to the choice of a node.

use std::{collections::BTreeSet, sync::Arc};

use loadmaster_framework::{
    Candidates, Code, Cycle, CycleState, Enqueue, Handle, Hint, Interest, NodeInfo, NodeToStatus,
    Nominating, Outcome, PluginError, PodInfo, PostFilterResult, PreEnqueue, PreFilter,
    QueuedPodInfo, QueueingHint, Slot, Status, api::Text,
};

use super::{
    At, PluginSet, Profile,
    guard::{Answer, guarded},
};
use crate::meter::{CallPoint, Observation, PluginCall};

/// Plugins whose Filter has nothing to say for the pod of this cycle.
#[derive(Clone, Copy, Debug, Default)]
struct SkipFilter(PluginSet);

/// What the PreFilter plugins said together.
#[derive(Clone, Debug)]
pub struct PreFilterVerdict {
    /// The nodes worth a look, `None` for all; or the refusal that ends the search.
    pub outcome: Outcome<Option<BTreeSet<Text>>>,
    /// Plugins that narrowed the search.
    pub narrowing: BTreeSet<&'static str>,
    /// What is left of the nodes when the narrowing itself left none, for recordings.
    pub narrowed_to_nothing: bool,
}

/// Pods that are promised to nodes.
pub trait NominatedPods: Sync {
    /// Those promised to `node`, of any priority.
    fn for_node(&self, node: &str) -> &[Arc<PodInfo>];
}

/// No pod is promised to any node.
#[derive(Clone, Copy, Debug)]
pub struct NoNominations;

impl NominatedPods for NoNominations {
    fn for_node(&self, _: &str) -> &[Arc<PodInfo>] {
        &[]
    }
}

pub(super) fn flatten<T>(result: Result<Outcome<T>, PluginError>) -> Outcome<T> {
    result.unwrap_or_else(|panic| Err(panic.into()))
}

impl Profile {
    /// Whether `a` goes before `b`; a comparator that panics orders by nothing.
    pub fn less(&self, a: &QueuedPodInfo, b: &QueuedPodInfo) -> bool {
        let it = &self.queue_sort;
        let compare = || it.hook.less(a, b);
        it.call(&self.watch, CallPoint::QueueSort, None, compare).unwrap_or(false)
    }

    /// Asks `plugin` whether a change may help a pod that it rejected.
    ///
    /// # Errors
    /// The plugin's own, or its panic; both count as yes.
    pub fn run_queueing_hint(
        &self,
        plugin: &str,
        hint: Hint<'_>,
    ) -> Result<QueueingHint, PluginError> {
        let mut hooks = self.hooks.iter().enumerate().filter(|(_, it)| it.name == plugin);
        let found = hooks.next();
        let Some((at, plugin, ask)) =
            found.and_then(|(at, it)| Some((at, it.name, it.enqueue_extensions.as_ref()?)))
        else {
            return Ok(QueueingHint::Queue);
        };
        let began = self.watch.now();
        let call = PluginCall { plugin, point: CallPoint::QueueingHint, node: None };
        let answer = guarded(&self.watch, at, call, || ask.queueing_hint(hint)).flatten();
        if let Some((began, now)) = began.zip(self.watch.now()) {
            let (event, took) = (hint.event, now.saturating_sub(began));
            let hint = match answer {
                Ok(QueueingHint::Queue) => "Queue",
                Ok(QueueingHint::Skip) => "QueueSkip",
                Err(_) => "Error",
            };
            self.watch.observe(Observation::Hint { plugin, event, hint, took });
        }
        answer
    }

    /// Whether the pod may enter the active queue; the first refusal holds it back. The plugin
    /// named `first` (the one that holds it back now) is asked before the others.
    ///
    /// # Errors
    /// The first refusal.
    pub fn run_pre_enqueue(&self, cx: Enqueue<'_>, first: Option<&str>) -> Outcome {
        let is_first = |it: &&At<dyn PreEnqueue>| first == Some(it.name);
        let (gating, others) = (self.pre_enqueue.iter(), self.pre_enqueue.iter());
        let mut ordered = gating.filter(is_first).chain(others.filter(|it| !is_first(it)));
        self.timed(CallPoint::PreEnqueue, || {
            ordered.try_for_each(|it| {
                let call = || it.hook.pre_enqueue(cx);
                let answer = it.call(&self.watch, CallPoint::PreEnqueue, None, call);
                flatten(answer).map_err(|status| status.with_plugin(it.name))
            })
        })
    }

    /// Asks every PreFilter. One that is merely Unschedulable does not keep the others from being
    /// asked, so that preemption has their state (k/k#119770).
    pub fn run_pre_filter(&self, cx: Cycle<'_>, state: &mut CycleState) -> PreFilterVerdict {
        self.timed(CallPoint::PreFilter, || self.ask_pre_filters(cx, state))
    }

    fn ask_pre_filters(&self, cx: Cycle<'_>, state: &mut CycleState) -> PreFilterVerdict {
        let mut skip = PluginSet::default();
        let mut narrowing = BTreeSet::new();
        let mut nodes: Option<BTreeSet<Text>> = None;
        let mut refusal = None;
        let mut narrowed_to_nothing = false;
        for it in &self.pre_filter {
            let At { plugin, name, .. } = it;
            let call = || it.hook.pre_filter(cx, state);
            match flatten(it.call(&self.watch, CallPoint::PreFilter, None, call)) {
                Ok(Candidates::Skip) => skip.insert(*plugin),
                Ok(Candidates::All) => {}
                Ok(Candidates::Only(only)) => {
                    narrowing.insert(*name);
                    let merged = match nodes.take() {
                        Some(before) => before.intersection(&only).cloned().collect(),
                        None => only,
                    };
                    if merged.is_empty() {
                        let named: Vec<_> = narrowing.iter().copied().collect();
                        let reason = match &named[..] {
                            [only] => format!("node(s) didn't satisfy plugin {only}"),
                            all => format!(
                                "node(s) didn't satisfy plugin(s) [{}] simultaneously",
                                all.join(" ")
                            ),
                        };
                        refusal = Some(Status::unresolvable(reason));
                        narrowed_to_nothing = true;
                        break;
                    }
                    nodes = Some(merged);
                }
                Err(status) => {
                    let status = status.with_plugin(name);
                    match status.code() {
                        Code::Unschedulable => refusal = Some(status),
                        Code::UnschedulableAndUnresolvable => {
                            refusal = Some(status);
                            narrowing.clear();
                            break;
                        }
                        _ => {
                            let text = format!("running PreFilter plugin {name:?}: {status}");
                            refusal = Some(Status::error(text).with_plugin(name));
                            narrowing.clear();
                            break;
                        }
                    }
                }
            }
        }
        state.put(SkipFilter(skip));
        let outcome = refusal.map_or(Ok(nodes), Err);
        PreFilterVerdict { outcome, narrowing, narrowed_to_nothing }
    }

    /// Whether there is any Filter.
    pub fn has_filter(&self) -> bool {
        !self.filter.is_empty()
    }

    /// Asks the Filters in order; the first refusal is the node's.
    ///
    /// # Errors
    /// The first refusal, or the error of a plugin that broke.
    pub fn run_filter(&self, cx: Cycle<'_>, state: &CycleState, node: &NodeInfo) -> Outcome {
        let SkipFilter(skip) = state.try_get().copied().unwrap_or_default();
        for it in &self.filter {
            let At { plugin, name, .. } = it;
            if skip.contains(*plugin) {
                continue;
            }
            let call = || it.hook.filter(cx, state, node);
            let answer = it.call(&self.watch, CallPoint::Filter, Some(node.name()), call);
            if let Err(status) = flatten(answer) {
                return Err(if status.is_rejected() {
                    status.with_plugin(name)
                } else {
                    let text = format!("running {name:?} filter plugin: {status}");
                    Status::error(text).with_plugin(name)
                });
            }
        }
        Ok(())
    }

    /// Asks the Filters as if pods of equal or higher priority that are promised to the node were
    /// there, and, where there are such pods, once more without them: the pod must fit both ways,
    /// since they may never come (a pod with affinity to them would wait for ever).
    ///
    /// # Errors
    /// As [`Profile::run_filter`].
    pub fn run_filter_with_nominated(
        &self,
        cx: Cycle<'_>,
        state: &CycleState,
        node: &NodeInfo,
        nominated: &dyn NominatedPods,
    ) -> Outcome {
        let matter =
            |it: &&Arc<PodInfo>| it.priority() >= cx.pod.priority() && it.uid() != cx.pod.uid();
        let promised = nominated.for_node(node.name());
        if promised.iter().any(|it| matter(&it)) {
            let mut with = node.clone();
            let mut with_state = state.fork();
            for pod in promised.iter().filter(matter) {
                with.add_pod(Arc::clone(pod));
                self.run_add_pod(cx, &mut with_state, pod, &with)
                    .map_err(|status| Status::error(status.message()))?;
            }
            self.run_filter(cx, &with_state, &with)?;
        }
        self.run_filter(cx, state, node)
    }

    /// What-if: tells the PreFilter plugins that `added` is on `node` now.
    ///
    /// # Errors
    /// The first status that is not success, as an error.
    pub fn run_add_pod(
        &self,
        cx: Cycle<'_>,
        state: &mut CycleState,
        added: &PodInfo,
        node: &NodeInfo,
    ) -> Outcome {
        let names = ("AddPod", CallPoint::PreFilterAddPod);
        self.tell_pre_filters(state, node, names, |hook, state| {
            hook.add_pod(cx, state, added, node)
        })
    }

    /// What-if: tells the PreFilter plugins that `removed` is off `node` now.
    ///
    /// # Errors
    /// The first status that is not success, as an error.
    pub fn run_remove_pod(
        &self,
        cx: Cycle<'_>,
        state: &mut CycleState,
        removed: &PodInfo,
        node: &NodeInfo,
    ) -> Outcome {
        let names = ("RemovePod", CallPoint::PreFilterRemovePod);
        self.tell_pre_filters(state, node, names, |hook, state| {
            hook.remove_pod(cx, state, removed, node)
        })
    }

    /// Tells each PreFilter plugin that has something to say for the pod of a change on `node`.
    fn tell_pre_filters(
        &self,
        state: &mut CycleState,
        node: &NodeInfo,
        (what, point): (&'static str, CallPoint),
        tell: impl Fn(&dyn PreFilter, &mut CycleState) -> Outcome,
    ) -> Outcome {
        let SkipFilter(skip) = state.try_get().copied().unwrap_or_default();
        for it in &self.pre_filter {
            let At { plugin, name, .. } = it;
            if skip.contains(*plugin) {
                continue;
            }
            let call = || tell(&*it.hook, state);
            flatten(it.call(&self.watch, point, Some(node.name()), call)).map_err(|status| {
                let text = format!("running {what} on PreFilter plugin {name:?}: {status}");
                Status::error(text).with_plugin(name)
            })?;
        }
        Ok(())
    }

    /// Whether there is any PostFilter.
    pub fn has_post_filter(&self) -> bool {
        !self.post_filter.is_empty()
    }

    /// Asks the PostFilter plugins in order, until one makes room or breaks.
    pub fn run_post_filter(
        &self,
        cx: Cycle<'_>,
        state: &mut CycleState,
        why: &NodeToStatus,
        handles: &mut dyn Handles,
    ) -> PostFilterResult {
        self.timed(CallPoint::PostFilter, || self.ask_post_filters(cx, state, why, handles))
    }

    fn ask_post_filters(
        &self,
        cx: Cycle<'_>,
        state: &mut CycleState,
        why: &NodeToStatus,
        handles: &mut dyn Handles,
    ) -> PostFilterResult {
        let mut nominating = Nominating::Keep;
        let mut reasons = Vec::new();
        let mut rejector = "";
        for it in &self.post_filter {
            let At { plugin, name, .. } = it;
            let call = || {
                let mut answer = PostFilterResult::nothing(Status::unschedulable_for([]));
                handles.with(*plugin, &mut |handle| {
                    answer = it.hook.post_filter(cx, state, why, handle);
                });
                answer
            };
            if *name == DEFAULT_PREEMPTION {
                self.watch.observe(Observation::PreemptionAttempt);
            }
            let answer = it
                .call(&self.watch, CallPoint::PostFilter, None, call)
                .unwrap_or_else(|broken| PostFilterResult::nothing(broken.into()));
            match answer.status {
                Ok(()) => return PostFilterResult { status: Ok(()), ..answer },
                Err(status) => match status.code() {
                    Code::Unschedulable | Code::Pending => {
                        if answer.nominating != Nominating::Keep {
                            nominating = answer.nominating;
                        }
                        reasons.extend_from_slice(status.reasons());
                        if rejector.is_empty() {
                            rejector = name;
                        }
                    }
                    Code::UnschedulableAndUnresolvable => {
                        let status = Err(status.with_plugin(name));
                        return PostFilterResult { status, ..answer };
                    }
                    _ => return PostFilterResult::nothing(status.with_plugin(name)),
                },
            }
        }
        let status = Err(Status::unschedulable_for(reasons).with_plugin(rejector));
        PostFilterResult { nominating, victims: Vec::new(), status }
    }

    /// Asks every PreScore; returns the plugins whose Score is not wanted.
    ///
    /// # Errors
    /// The first status that is not success, as an error.
    pub fn run_pre_score(
        &self,
        cx: Cycle<'_>,
        state: &mut CycleState,
        nodes: &[Arc<NodeInfo>],
    ) -> Outcome<PluginSet> {
        let mut skip = PluginSet::default();
        let outcome = self.timed(CallPoint::PreScore, || {
            self.pre_score.iter().try_for_each(|it| {
                let At { plugin, name, .. } = it;
                let call = || it.hook.pre_score(cx, state, nodes);
                match flatten(it.call(&self.watch, CallPoint::PreScore, None, call)) {
                    Ok(Interest::Score) => {}
                    Ok(Interest::Skip) => skip.insert(*plugin),
                    Err(status) => {
                        let text = format!("running PreScore plugin {name:?}: {status}");
                        return Err(Status::error(text).with_plugin(name));
                    }
                }
                Ok(())
            })
        });
        outcome.map(|()| skip)
    }

    /// Asks all plugins of a point, and tells how long they took together.
    pub(super) fn timed<T: Answer>(&self, point: CallPoint, ask: impl FnOnce() -> T) -> T {
        let began = self.watch.now();
        let answer = ask();
        self.watch.point(&self.scheduler_name, point, began, answer.code());
        answer
    }
}

impl Answer for PreFilterVerdict {
    fn code(&self) -> Code {
        self.outcome.as_ref().map_or_else(Status::code, |_| Code::Success)
    }
}

/// The plugin whose tries to make room upstream counts.
const DEFAULT_PREEMPTION: &str = "DefaultPreemption";

/// A source of handles, one plugin's at a time.
pub trait Handles {
    /// Calls `call` with the handle of the plugin at this position of the profile.
    fn with(&mut self, plugin: usize, call: &mut dyn FnMut(&mut dyn Handle));
}

/// The slots of a profile's plugins, by position.
#[derive(Debug, Default)]
pub struct Slots(Vec<Slot>);

impl Slots {
    /// One empty slot for each of `count` plugins.
    pub fn new(count: usize) -> Self {
        Self(std::iter::repeat_with(Slot::default).take(count).collect())
    }

    /// The slot of the plugin at this position.
    ///
    /// # Panics
    /// If the profile has no such plugin.
    pub fn get_mut(&mut self, plugin: usize) -> &mut Slot {
        &mut self.0[plugin]
    }
}
