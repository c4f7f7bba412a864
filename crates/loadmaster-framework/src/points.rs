//! The extension points, in the order in which one pod meets them.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use serde::{Serialize, de::DeserializeOwned};

use super::{
    Action, ActionResult, CycleState, FieldError, Gates, Handle, Hooks, NodeInfo, NodeScore,
    NodeToStatus, Object, Outcome, PodInfo, QueuedPodInfo, Snapshot, Status,
};
use crate::api::{ObjectKey, Text};

/// What every point of a cycle is told. Nothing in it does I/O.
#[derive(Clone, Copy, Debug)]
pub struct Cycle<'a> {
    /// The pod being placed.
    pub pod: &'a PodInfo,
    /// The cluster as this cycle sees it.
    pub snapshot: &'a Snapshot,
    /// The profile's scheduler name.
    pub profile: &'a str,
    /// Time on the scheduler's clock, as the caller gave it.
    pub now: Duration,
}

/// A named thing with arguments that a profile can enable.
pub trait Plugin: Sized + Send + Sync + 'static {
    /// Name in configuration, logs, metrics and events; upstream's spelling.
    const NAME: &'static str;
    /// Its page in Markdown: rustdoc, the manual and `scheduler explain NAME` show this text.
    const DOC: &'static str = "";
    /// Its `pluginConfig` entry. `Default` is what an absent entry means; serialised, it is what
    /// `scheduler config show` prints. A field that it does not know is refused by the registry.
    type Args: DeserializeOwned + Serialize + Default;

    /// What is wrong with the values of `args`, which stand at `path` in the configuration; empty
    /// when nothing is.
    fn validate(_args: &Self::Args, _path: &str) -> Vec<FieldError> {
        Vec::new()
    }

    /// Makes the plugin of arguments that [`Plugin::validate`] has let pass, and lists the points
    /// it takes part in.
    ///
    /// # Errors
    /// [`FieldError`] names the field and what it may hold.
    fn build(args: Self::Args, gates: &Gates) -> Result<Hooks, FieldError>;
}

/// What [`PreEnqueue`] is told.
#[derive(Clone, Copy, Debug)]
pub struct Enqueue<'a> {
    /// The pod that wants into the active queue.
    pub pod: &'a PodInfo,
    /// Time on the scheduler's clock.
    pub now: Duration,
    /// Whether victims that an earlier try of this pod chose are still being deleted.
    pub preempting: bool,
}

/// Lets a pod into the active queue, or holds it back.
pub trait PreEnqueue: Send + Sync {
    /// `Ok` lets the pod in.
    ///
    /// # Errors
    /// Any refusal keeps it among the unschedulable pods, gated by this plugin.
    fn pre_enqueue(&self, cx: Enqueue<'_>) -> Outcome;
}

/// Orders the active queue. Exactly one plugin of a profile does, the same in all profiles.
pub trait QueueSort: Send + Sync {
    /// Whether `a` goes before `b`.
    fn less(&self, a: &QueuedPodInfo, b: &QueuedPodInfo) -> bool;
}

/// Which nodes are worth a look.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Candidates {
    /// This plugin's Filter has nothing to say for this pod and is not called.
    Skip,
    /// Every node.
    All,
    /// These alone; names may be of nodes that do not exist.
    Only(BTreeSet<Text>),
}

/// Looks at the pod once, before any node.
pub trait PreFilter: Send + Sync {
    /// Precomputes for [`Filter`] and may narrow the nodes.
    ///
    /// # Errors
    /// `Unschedulable` lets the other plugins' PreFilter run and preemption be tried (k/k#119770);
    /// `UnschedulableAndUnresolvable` and errors end the cycle.
    fn pre_filter(&self, cx: Cycle<'_>, state: &mut CycleState) -> Outcome<Candidates>;

    /// What-if: `added` is on `node` now. Brings the state of this plugin up to date, to the same
    /// as if PreFilter had seen it there. `node` holds the pod already.
    ///
    /// # Errors
    /// Any status ends the what-if.
    fn add_pod(
        &self,
        _cx: Cycle<'_>,
        _state: &mut CycleState,
        _added: &PodInfo,
        _node: &NodeInfo,
    ) -> Outcome {
        Ok(())
    }

    /// What-if: `removed` is off `node` now. `node` holds the pod no more.
    ///
    /// # Errors
    /// Any status ends the what-if.
    fn remove_pod(
        &self,
        _cx: Cycle<'_>,
        _state: &mut CycleState,
        _removed: &PodInfo,
        _node: &NodeInfo,
    ) -> Outcome {
        Ok(())
    }
}

/// Says whether one node can hold the pod. Called for many nodes, possibly at once.
pub trait Filter: Send + Sync {
    /// `Ok` means that the pod fits on `node`.
    ///
    /// # Errors
    /// A refusal concerns this node only; an error ends the cycle.
    fn filter(&self, cx: Cycle<'_>, state: &CycleState, node: &NodeInfo) -> Outcome;
}

/// What happens to the node that is promised to the pod.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Nominating {
    /// It stays as it is.
    #[default]
    Keep,
    /// None is promised any more.
    Clear,
    /// This one is.
    Node(Text),
}

/// What a PostFilter achieved.
#[derive(Clone, Debug)]
pub struct PostFilterResult {
    /// What happens to the node that is promised to the pod.
    pub nominating: Nominating,
    /// Pods to delete from that node, most important first.
    pub victims: Vec<Arc<PodInfo>>,
    /// `Ok` when room is being made; else why not, for the message.
    pub status: Outcome,
}

impl PostFilterResult {
    /// Nothing could be done.
    pub fn nothing(status: Status) -> Self {
        Self { nominating: Nominating::Keep, victims: Vec::new(), status: Err(status) }
    }
}

/// Last resort when no node passed.
pub trait PostFilter: Send + Sync {
    /// Tries to make room; `why` holds each node's refusal. The first plugin whose status is `Ok`
    /// or an error ends the round.
    fn post_filter(
        &self,
        cx: Cycle<'_>,
        state: &mut CycleState,
        why: &NodeToStatus,
        handle: &mut dyn Handle,
    ) -> PostFilterResult;
}

/// Whether a plugin's Score is wanted for this pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interest {
    /// Call it for every feasible node.
    Score,
    /// Leave it out; it would rank all nodes the same.
    Skip,
}

/// Looks at all feasible nodes once, before scoring.
pub trait PreScore: Send + Sync {
    /// Precomputes for [`Score`].
    ///
    /// # Errors
    /// Any status ends the cycle as an error.
    fn pre_score(
        &self,
        cx: Cycle<'_>,
        state: &mut CycleState,
        nodes: &[Arc<NodeInfo>],
    ) -> Outcome<Interest>;
}

/// Ranks the nodes that fit. Called for many nodes, possibly at once.
pub trait Score: Send + Sync {
    /// A raw score on the plugin's own scale.
    ///
    /// # Errors
    /// Any status ends the cycle as an error.
    fn score(&self, cx: Cycle<'_>, state: &CycleState, node: &NodeInfo) -> Outcome<i64>;

    /// Brings the raw scores to [`NodeScore::MIN`]`..=`[`NodeScore::MAX`] points. By default they
    /// are taken to be there already. A score outside fails the pod's cycle (k/k#80784).
    ///
    /// # Errors
    /// Any status ends the cycle as an error.
    fn normalize(
        &self,
        _cx: Cycle<'_>,
        _state: &CycleState,
        _scores: &mut [NodeScore<'_>],
    ) -> Outcome {
        Ok(())
    }
}

/// Claims what the pod will use on the chosen node.
pub trait Reserve: Send + Sync {
    /// Takes the claim.
    ///
    /// # Errors
    /// Any status undoes every claim of this cycle.
    fn reserve(
        &self,
        cx: Cycle<'_>,
        state: &mut CycleState,
        node: &str,
        handle: &mut dyn Handle,
    ) -> Outcome;

    /// Gives the claim back. Called for all plugins in reverse order, also for those that never
    /// reserved; must be idempotent.
    fn unreserve(&self, cx: Cycle<'_>, state: &mut CycleState, node: &str, handle: &mut dyn Handle);
}

/// A gate's answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Permission {
    /// Go on.
    Allow,
    /// Hold the pod, at most this long (and never beyond 15 minutes, as upstream).
    Wait(Duration),
}

/// The last gate before binding.
pub trait Permit: Send + Sync {
    /// Lets the pod pass, or holds it.
    ///
    /// # Errors
    /// Any status undoes the reservation.
    fn permit(
        &self,
        cx: Cycle<'_>,
        state: &mut CycleState,
        node: &str,
        handle: &mut dyn Handle,
    ) -> Outcome<Permission>;
}

/// Whether a plugin's PreBind has anything to do for a pod (KEP-5278).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PreFlight {
    /// It has: the node is written to the pod's status before.
    Needed,
    /// It has not, and is not called.
    Skip,
}

/// What a [`PreBind`] is told next.
#[derive(Clone, Debug)]
pub enum PreBindInput {
    /// The pod has reached this plugin.
    Start,
    /// The actions asked for were done, in order.
    Done(Vec<ActionResult>),
    /// An object that was waited for changed.
    Changed(Object),
    /// The wait ran out.
    Deadline,
}

/// What a [`PreBind`] wants next.
#[derive(Clone, Debug)]
pub enum PreBindStep {
    /// These things done; then `Done` is told.
    Do(Vec<Action>),
    /// To be told when one of these objects changes, or when the deadline (on the scheduler's
    /// clock) has passed.
    WaitFor {
        /// Objects, by kind and key.
        keys: Vec<(super::EventResource, ObjectKey)>,
        /// Until when.
        deadline: Duration,
    },
    /// Nothing more: the next plugin, or the binding.
    Ready,
    /// The end: the reservation is undone.
    Fail(Status),
}

/// Prepares the world for the pod, step by step: it says what to do and never does it.
pub trait PreBind: Send + Sync {
    /// Whether there will be anything to do.
    ///
    /// # Errors
    /// Any status undoes the reservation.
    fn pre_flight(&self, cx: Cycle<'_>, state: &CycleState, node: &str) -> Outcome<PreFlight>;

    /// The next step.
    fn step(
        &self,
        cx: Cycle<'_>,
        state: &mut CycleState,
        node: &str,
        input: PreBindInput,
    ) -> PreBindStep;
}

/// A binder's answer.
#[derive(Clone, Debug, PartialEq)]
pub enum Binding {
    /// Not mine; ask the next.
    Skip,
    /// Do this, and the pod is bound.
    Do(Action),
}

/// Puts the pod on its node. The first that does not skip wins.
pub trait Bind: Send + Sync {
    /// How to bind.
    ///
    /// # Errors
    /// Any status undoes the reservation.
    fn bind(&self, cx: Cycle<'_>, state: &CycleState, node: &str) -> Outcome<Binding>;
}

/// Told when the pod is bound.
pub trait PostBind: Send + Sync {
    /// For clean-up only; nothing can fail any more.
    fn post_bind(&self, cx: Cycle<'_>, state: &CycleState, node: &str, handle: &mut dyn Handle);
}
