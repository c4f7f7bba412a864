//! The scheduler: told of the world, it decides, and says what must be done.
//!
//! It is driven from outside, on one thread, and is deterministic for a seed and an order of calls:
//!
//! - handlers tell it something: [`Scheduler::handle_event`], [`Scheduler::handle_result`],
//!   [`Scheduler::handle_timeout`];
//! - the one command is [`Scheduler::schedule_one`];
//! - polls ask what is next: [`Scheduler::poll_action`] after any of the above, until it has
//!   nothing more, and [`Scheduler::poll_timeout`] for when time itself must be handled;
//! - the rest are getters.
//!
//! `now` is the time since some fixed moment; it never runs backwards.

mod attempt;
mod binding_cycle;
mod change;
mod executor;
mod facts;
mod failure;
mod handle;
mod handle_event;
mod host;
mod instance;
mod known;
mod options;
mod purpose;
mod reload;
mod results;
mod schedule_one;
mod status_patch;
mod waiting;
mod work;

use std::{
    collections::{BTreeMap, VecDeque},
    sync::Arc,
    time::Duration,
};

use loadmaster_framework::{ClusterEvent, Snapshot, api::Text};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

pub use attempt::{Attempt, AttemptOutcome};
pub use change::{ClusterChange, NewFact};
pub use options::{OptionsError, SchedulerOptions};
pub use reload::Replaced;
pub use work::{ConditionPatch, EventRecord, EventType, Work, WorkId, WorkResult};

use crate::{
    cache::Cache,
    meter::{Meter, Observation},
    profile::Profile,
    queue::SchedulingQueue,
};
use binding_cycle::BindingCycle;
use executor::Preemptions;
use host::{Host, Profiles};
use instance::SlotStore;
use known::KnownPods;
use purpose::Purpose;
use waiting::WaitingPods;

/// A scheduler. See the [module](self) for how to drive it.
#[derive(Debug)]
pub struct Scheduler {
    profiles: Profiles,
    percentage_of_nodes_to_score: u32,
    pods: KnownPods,
    cache: Cache,
    queue: SchedulingQueue,
    snapshot: Snapshot,
    /// What plugins keep between cycles.
    slots: SlotStore,
    waiting: WaitingPods,
    /// Pods between Permit and the end of their binding, by uid.
    bindings: BTreeMap<Text, BindingCycle>,
    preemptions: Preemptions,
    work: VecDeque<(WorkId, Work)>,
    purposes: BTreeMap<WorkId, Purpose>,
    next_work_id: u64,
    next_start_node_index: usize,
    seed: u64,
    rng: ChaCha8Rng,
    meter: Option<Arc<dyn Meter>>,
    /// The events that the change amounts to that is being taken in, while it is and is measured.
    taking_in: Option<Vec<ClusterEvent>>,
}

impl Scheduler {
    /// A scheduler that knows nothing of the world yet.
    ///
    /// # Errors
    /// [`OptionsError`] says what is wrong with the profiles.
    pub fn new(options: SchedulerOptions) -> Result<Self, OptionsError> {
        let mut slots = SlotStore::default();
        let queue = options.queue();
        let (percentage_of_nodes_to_score, seed) =
            (options.percentage_of_nodes_to_score, options.seed);
        let meter = options.meter.clone();
        Ok(Self {
            profiles: Profiles::new(options, &mut slots, None)?,
            percentage_of_nodes_to_score,
            pods: KnownPods::default(),
            cache: Cache::default(),
            queue: SchedulingQueue::new(queue),
            snapshot: Snapshot::default(),
            slots,
            waiting: WaitingPods::default(),
            bindings: BTreeMap::new(),
            preemptions: Preemptions::default(),
            work: VecDeque::new(),
            purposes: BTreeMap::new(),
            next_work_id: 0,
            next_start_node_index: 0,
            seed,
            rng: ChaCha8Rng::seed_from_u64(seed),
            meter,
            taking_in: None,
        })
    }

    /// Something to do in the world, in order; `None` when there is nothing more for now.
    pub fn poll_action(&mut self) -> Option<(WorkId, Work)> {
        self.work.pop_front()
    }

    /// When [`Scheduler::handle_timeout`] has something to do next.
    pub fn poll_timeout(&self) -> Option<Duration> {
        let bindings = self.bindings.values().filter_map(BindingCycle::deadline).min();
        [self.queue.poll_timeout(), self.waiting.next_expiry(), bindings]
            .into_iter()
            .flatten()
            .min()
    }

    /// Time has passed: backoffs end, waits run out, pods that have waited for five minutes are
    /// tried again.
    pub fn handle_timeout(&mut self, now: Duration) {
        let (queue, host) = self.queue_and_host();
        queue.handle_timeout(&host, now);
        self.waiting.expire(now);
        self.settle_waits(now);
        self.expire_bindings(now);
    }

    /// Whether [`Scheduler::schedule_one`] would try a pod.
    pub fn has_next(&self) -> bool {
        self.queue.has_next()
    }

    /// Every profile, in the order of the configuration.
    pub fn profiles(&self) -> impl Iterator<Item = &Profile> {
        self.profiles.iter().map(|it| &***it)
    }

    /// What the cluster looks like.
    pub fn cache(&self) -> &Cache {
        &self.cache
    }

    /// Who waits, and where.
    pub fn queue(&self) -> &SchedulingQueue {
        &self.queue
    }

    /// The cluster as the last cycle saw it.
    pub fn snapshot(&self) -> &Snapshot {
        &self.snapshot
    }

    /// How many pods are between Permit and the end of their binding, and how many of them wait at
    /// Permit.
    pub fn binding_counts(&self) -> (usize, usize) {
        (self.bindings.len(), self.waiting.len())
    }

    /// How much work is handed out, or is to be, whose result is awaited.
    pub fn awaited_work(&self) -> usize {
        self.purposes.len()
    }

    /// How many unfinished pods are known.
    pub fn pod_count(&self) -> usize {
        self.pods.len()
    }

    /// The queue, to be changed, and what it asks of the rest meanwhile.
    fn queue_and_host(&mut self) -> (&mut SchedulingQueue, Host<'_>) {
        let host = Host {
            profiles: &self.profiles,
            preemptions: &self.preemptions,
            pods: &self.pods,
            listers: self.cache.listers(),
        };
        (&mut self.queue, host)
    }

    /// The time, where anything is measured.
    fn measured(&self) -> Option<Duration> {
        self.meter.as_ref().map(|it| it.now())
    }

    /// Tells the meter of something that began at `began`, a time on the scheduler's clock.
    fn observe_since<'a>(
        &self,
        began: Option<Duration>,
        observation: impl FnOnce(Duration) -> Observation<'a>,
    ) {
        if let (Some(meter), Some(began)) = (&self.meter, began) {
            meter.observe(observation(meter.now().saturating_sub(began)));
        }
    }

    /// Tells the meter of something.
    fn observe(&self, observation: Observation<'_>) {
        if let Some(meter) = &self.meter {
            meter.observe(observation);
        }
    }

    /// Hands work out; `purpose` says what its result is for.
    fn give(&mut self, work: Work, purpose: Option<Purpose>) -> WorkId {
        let id = WorkId(self.next_work_id);
        self.next_work_id += 1;
        if let Some(purpose) = purpose {
            self.purposes.insert(id, purpose);
        }
        self.work.push_back((id, work));
        id
    }
}
