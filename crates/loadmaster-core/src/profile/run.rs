//! The loops over a profile's plugins, up to the choice of a node, and after it.

use std::{collections::BTreeSet, sync::Arc};

use loadmaster_framework::{
    Binding, Candidates, Code, Cycle, CycleState, Enqueue, Handle, Hint, Interest, NodeInfo,
    NodeToStatus, Nominating, Outcome, Permission, PluginError, PodInfo, PostFilterResult,
    PreBindInput, PreBindStep, PreEnqueue, PreFilter, PreFlight, QueuedPodInfo, QueueingHint, Slot,
    Status, api::Text,
};

use super::{At, PluginSet, Profile, guard::guarded};

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

fn flatten<T>(result: Result<Outcome<T>, PluginError>) -> Outcome<T> {
    result.unwrap_or_else(|panic| Err(panic.into()))
}

impl Profile {
    /// Whether `a` goes before `b`; a comparator that panics orders by nothing.
    pub fn less(&self, a: &QueuedPodInfo, b: &QueuedPodInfo) -> bool {
        let At { name, hook, .. } = &self.queue_sort;
        guarded(name, "QueueSort", None, || hook.less(a, b)).unwrap_or(false)
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
        let hooks = self.hooks.iter().find(|it| it.name == plugin);
        let Some((name, ask)) =
            hooks.and_then(|it| Some((it.name, it.enqueue_extensions.as_ref()?)))
        else {
            return Ok(QueueingHint::Queue);
        };
        guarded(name, "QueueingHint", None, || ask.queueing_hint(hint)).flatten()
    }

    /// Whether the pod may enter the active queue; the first refusal holds it back. The plugin
    /// named `first` (the one that holds it back now) is asked before the others.
    ///
    /// # Errors
    /// The first refusal.
    pub fn run_pre_enqueue(&self, cx: Enqueue<'_>, first: Option<&str>) -> Outcome {
        let is_first = |it: &&At<dyn PreEnqueue>| first == Some(it.name);
        let (gating, others) = (self.pre_enqueue.iter(), self.pre_enqueue.iter());
        let ordered = gating.filter(is_first).chain(others.filter(|it| !is_first(it)));
        for At { name, hook, .. } in ordered {
            flatten(guarded(name, "PreEnqueue", None, || hook.pre_enqueue(cx)))
                .map_err(|status| status.with_plugin(name))?;
        }
        Ok(())
    }

    /// Asks every PreFilter. One that is merely Unschedulable does not keep the others from being
    /// asked, so that preemption has their state (k/k#119770).
    pub fn run_pre_filter(&self, cx: Cycle<'_>, state: &mut CycleState) -> PreFilterVerdict {
        let mut skip = PluginSet::default();
        let mut narrowing = BTreeSet::new();
        let mut nodes: Option<BTreeSet<Text>> = None;
        let mut refusal = None;
        let mut narrowed_to_nothing = false;
        for At { plugin, name, hook } in &self.pre_filter {
            match flatten(guarded(name, "PreFilter", None, || hook.pre_filter(cx, state))) {
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
        for At { plugin, name, hook } in &self.filter {
            if skip.contains(*plugin) {
                continue;
            }
            let call = || hook.filter(cx, state, node);
            if let Err(status) = flatten(guarded(name, "Filter", Some(node.name()), call)) {
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
        let names = ("AddPod", "PreFilterExtensionAddPod");
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
        let names = ("RemovePod", "PreFilterExtensionRemovePod");
        self.tell_pre_filters(state, node, names, |hook, state| {
            hook.remove_pod(cx, state, removed, node)
        })
    }

    /// Tells each PreFilter plugin that has something to say for the pod of a change on `node`.
    fn tell_pre_filters(
        &self,
        state: &mut CycleState,
        node: &NodeInfo,
        (what, point): (&'static str, &'static str),
        tell: impl Fn(&dyn PreFilter, &mut CycleState) -> Outcome,
    ) -> Outcome {
        let SkipFilter(skip) = state.try_get().copied().unwrap_or_default();
        for At { plugin, name, hook } in &self.pre_filter {
            if skip.contains(*plugin) {
                continue;
            }
            let call = || tell(&**hook, state);
            flatten(guarded(name, point, Some(node.name()), call)).map_err(|status| {
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
        let mut nominating = Nominating::Keep;
        let mut reasons = Vec::new();
        let mut rejector = "";
        for At { plugin, name, hook } in &self.post_filter {
            let call = || {
                let mut answer = PostFilterResult::nothing(Status::unschedulable_for([]));
                handles.with(*plugin, &mut |handle| {
                    answer = hook.post_filter(cx, state, why, handle);
                });
                answer
            };
            let answer = guarded(name, "PostFilter", None, call)
                .unwrap_or_else(|panic| PostFilterResult::nothing(panic.into()));
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
        for At { plugin, name, hook } in &self.pre_score {
            let call = || hook.pre_score(cx, state, nodes);
            match flatten(guarded(name, "PreScore", None, call)) {
                Ok(Interest::Score) => {}
                Ok(Interest::Skip) => skip.insert(*plugin),
                Err(status) => {
                    let text = format!("running PreScore plugin {name:?}: {status}");
                    return Err(Status::error(text).with_plugin(name));
                }
            }
        }
        Ok(skip)
    }

    /// Takes every claim.
    ///
    /// # Errors
    /// The first refusal, or the error of a plugin that broke; the caller unreserves.
    pub fn run_reserve(
        &self,
        cx: Cycle<'_>,
        state: &mut CycleState,
        node: &str,
        handles: &mut dyn Handles,
    ) -> Outcome {
        for At { plugin, name, hook } in &self.reserve {
            let call = || {
                let mut outcome = Ok(());
                handles.with(*plugin, &mut |it| outcome = hook.reserve(cx, state, node, it));
                outcome
            };
            flatten(guarded(name, "Reserve", Some(node), call))
                .map_err(|status| named(status, "Reserve", name))?;
        }
        Ok(())
    }

    /// Gives every claim back, in reverse order.
    pub fn run_unreserve(
        &self,
        cx: Cycle<'_>,
        state: &mut CycleState,
        node: &str,
        handles: &mut dyn Handles,
    ) {
        for At { plugin, name, hook } in self.reserve.iter().rev() {
            let call = || handles.with(*plugin, &mut |it| hook.unreserve(cx, state, node, it));
            // A plugin that breaks here must not keep the others from giving back.
            let _panicked = guarded(name, "Unreserve", Some(node), call);
        }
    }

    /// Asks every Permit; returns the plugins that hold the pod and for how long.
    ///
    /// # Errors
    /// The first refusal, or the error of a plugin that broke; the caller unreserves.
    pub fn run_permit(
        &self,
        cx: Cycle<'_>,
        state: &mut CycleState,
        node: &str,
        handles: &mut dyn Handles,
    ) -> Outcome<Vec<(&'static str, std::time::Duration)>> {
        let mut waits = Vec::new();
        for At { plugin, name, hook } in &self.permit {
            let call = || {
                let mut outcome = Ok(Permission::Allow);
                handles.with(*plugin, &mut |it| outcome = hook.permit(cx, state, node, it));
                outcome
            };
            match flatten(guarded(name, "Permit", Some(node), call)) {
                Ok(Permission::Allow) => {}
                Ok(Permission::Wait(patience)) => waits.push((*name, patience.min(MAX_WAIT))),
                Err(status) => return Err(named(status, "Permit", name)),
            }
        }
        Ok(waits)
    }

    /// Asks every PreBind whether it has anything to do; returns the positions, in the list of
    /// PreBind plugins, of those that have.
    ///
    /// # Errors
    /// The error of a plugin that broke.
    pub fn run_pre_flight(
        &self,
        cx: Cycle<'_>,
        state: &CycleState,
        node: &str,
    ) -> Outcome<Vec<usize>> {
        let mut needed = Vec::new();
        for (at, At { name, hook, .. }) in self.pre_bind.iter().enumerate() {
            let call = || hook.pre_flight(cx, state, node);
            match flatten(guarded(name, "PreBindPreFlight", Some(node), call)) {
                Ok(PreFlight::Needed) => needed.push(at),
                Ok(PreFlight::Skip) => {}
                Err(status) => return Err(named(status, "PreBindPreFlight", name)),
            }
        }
        Ok(needed)
    }

    /// The next step of the PreBind plugin at position `at` of the list of PreBind plugins.
    pub fn run_pre_bind(
        &self,
        at: usize,
        cx: Cycle<'_>,
        state: &mut CycleState,
        node: &str,
        input: PreBindInput,
    ) -> PreBindStep {
        let At { name, hook, .. } = &self.pre_bind[at];
        match guarded(name, "PreBind", Some(node), || hook.step(cx, state, node, input)) {
            Ok(PreBindStep::Fail(status)) => PreBindStep::Fail(named(status, "PreBind", name)),
            Ok(step) => step,
            Err(panic) => PreBindStep::Fail(named(panic.into(), "PreBind", name)),
        }
    }

    /// Asks the binders in order; the first that does not skip says how.
    ///
    /// # Errors
    /// The refusal or error of that binder, or that there was none.
    pub fn run_bind(
        &self,
        cx: Cycle<'_>,
        state: &CycleState,
        node: &str,
    ) -> Outcome<loadmaster_framework::Action> {
        for At { name, hook, .. } in &self.bind {
            match flatten(guarded(name, "Bind", Some(node), || hook.bind(cx, state, node))) {
                Ok(Binding::Skip) => {}
                Ok(Binding::Do(action)) => return Ok(action),
                Err(status) => return Err(named(status, "Bind", name)),
            }
        }
        Err(Status::error("no bind plugin took the pod"))
    }

    /// Tells every PostBind that the pod is bound.
    pub fn run_post_bind(
        &self,
        cx: Cycle<'_>,
        state: &CycleState,
        node: &str,
        handles: &mut dyn Handles,
    ) {
        for At { plugin, name, hook } in &self.post_bind {
            let call = || handles.with(*plugin, &mut |it| hook.post_bind(cx, state, node, it));
            // Nothing can fail any more; a panic here is only a panic.
            let _panicked = guarded(name, "PostBind", Some(node), call);
        }
    }
}

/// A source of handles, one plugin's at a time.
pub trait Handles {
    /// Calls `call` with the handle of the plugin at this position of the profile.
    fn with(&mut self, plugin: usize, call: &mut dyn FnMut(&mut dyn Handle));
}

/// No pod waits at Permit longer than this (upstream: `maxTimeout`).
const MAX_WAIT: std::time::Duration = std::time::Duration::from_mins(15);

/// Stamps the plugin on a refusal; an error is told in upstream's words.
fn named(status: Status, point: &str, plugin: &'static str) -> Status {
    if status.is_rejected() {
        return status.with_plugin(plugin);
    }
    Status::error(format!("running {point} plugin {plugin:?}: {status}")).with_plugin(plugin)
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
