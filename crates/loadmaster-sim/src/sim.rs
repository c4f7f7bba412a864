//! A cluster and a scheduler, driven together.

use std::time::Duration;

use loadmaster_core::{
    cycle::{Ports, Sequential},
    scheduler::{
        Attempt, ClusterChange, EventRecord, OptionsError, Replaced, Scheduler, SchedulerOptions,
        Work, WorkId, WorkResult,
    },
};
use loadmaster_framework::{Action, ActionError, ActionResult, Object, PatchKind, api::ObjectKey};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::{Cluster, Faults, cluster::place};

/// A cluster and a scheduler in one value. See the [crate](crate).
#[derive(Debug)]
pub struct Sim {
    cluster: Cluster,
    scheduler: Scheduler,
    faults: Faults,
    rng: ChaCha8Rng,
    now: Duration,
    records: Vec<EventRecord>,
    deleted: Vec<Object>,
}

impl Sim {
    /// An empty cluster, at time 0. `seed` draws the faults; the scheduler has its own.
    ///
    /// # Errors
    /// [`OptionsError`] where the scheduler cannot be made.
    pub fn new(options: SchedulerOptions, seed: u64) -> Result<Self, OptionsError> {
        Ok(Self {
            cluster: Cluster::default(),
            scheduler: Scheduler::new(options)?,
            faults: Faults::default(),
            rng: ChaCha8Rng::seed_from_u64(seed),
            now: Duration::ZERO,
            records: Vec::new(),
            deleted: Vec::new(),
        })
    }

    /// Gives the scheduler another configuration.
    ///
    /// # Errors
    /// [`OptionsError`] where the scheduler refuses it.
    pub fn replace_profiles(
        &mut self,
        options: SchedulerOptions,
    ) -> Result<Replaced, OptionsError> {
        self.scheduler.replace_profiles(self.now, options)
    }

    /// From here on things go wrong as `faults` says.
    pub fn set_faults(&mut self, faults: Faults) {
        self.faults = faults;
    }

    /// The time, since the beginning.
    pub fn now(&self) -> Duration {
        self.now
    }

    /// What the API server would say there is.
    pub fn cluster(&self) -> &Cluster {
        &self.cluster
    }

    /// The scheduler.
    pub fn scheduler(&self) -> &Scheduler {
        &self.scheduler
    }

    /// Events recorded since the last call.
    pub fn take_records(&mut self) -> Vec<EventRecord> {
        std::mem::take(&mut self.records)
    }

    /// Pods that the scheduler deleted since the last call.
    pub fn take_deleted(&mut self) -> Vec<Object> {
        std::mem::take(&mut self.deleted)
    }

    /// Stores an object; the scheduler is told when [`Sim::deliver`] comes to it.
    pub fn write(&mut self, object: impl Into<Object>) {
        self.cluster.write(object.into());
    }

    /// Drops the object of the kind and key of `like`.
    pub fn delete(&mut self, like: &Object) {
        self.cluster.delete(like);
    }

    /// Binds a pod of the default namespace as another scheduler would.
    ///
    /// # Panics
    /// There is no such pod, or it is bound.
    pub fn bind_by_another(&mut self, name: &str, node: &str) {
        let key = ObjectKey::new("default", name);
        let uid = self.cluster.pod(&key).map(|it| it.uid().clone()).unwrap_or_default();
        let bound = self.cluster.bind(&key, &uid, &node.into());
        bound.expect("a pod that is there and free");
    }

    /// Moves the clock, and lets the scheduler handle it.
    pub fn advance(&mut self, by: Duration) {
        self.now += by;
        self.scheduler.handle_timeout(self.now);
    }

    /// Moves the clock without telling the scheduler.
    pub fn tick(&mut self, by: Duration) {
        self.now += by;
    }

    /// Tells the scheduler what it has not been told; faults may make some of it wait for the next
    /// call, or come twice.
    pub fn deliver(&mut self) {
        let mut held: Vec<ClusterChange> = Vec::new();
        while let Some(change) = self.cluster.untold.pop_front() {
            let at = place(object(&change));
            let behind = held.iter().any(|it| place(object(it)) == at);
            if behind || self.happens(self.faults.late_percent) {
                held.push(change);
                continue;
            }
            if self.happens(self.faults.doubled_percent) {
                self.scheduler.handle_event(self.now, change.clone());
            }
            self.scheduler.handle_event(self.now, change);
        }
        self.cluster.untold.extend(held);
    }

    /// Does what the scheduler wants done, and hands back what came of it, until there is nothing
    /// more.
    pub fn perform(&mut self) {
        while let Some((id, work)) = self.scheduler.poll_action() {
            self.perform_one(id, work);
        }
    }

    /// Something that the scheduler wants done, which is then left undone.
    pub fn poll_action(&mut self) -> Option<(WorkId, Work)> {
        self.scheduler.poll_action()
    }

    /// Tells and does, until both have come to rest.
    pub fn settle(&mut self) {
        loop {
            self.perform();
            if self.cluster.untold.is_empty() {
                return;
            }
            self.deliver();
        }
    }

    /// Tries the pod at the head of the queue; what follows from it has not been done yet.
    pub fn schedule_one(&mut self) -> Option<Attempt> {
        self.schedule_one_with(&mut Sequential)
    }

    /// As [`Sim::schedule_one`], with extenders answered by `ports`.
    pub fn schedule_one_with(&mut self, ports: &mut dyn Ports) -> Option<Attempt> {
        self.scheduler.schedule_one(self.now, ports)
    }

    /// Settles, and tries pods until nobody is to be tried now. Returns the tries in order.
    ///
    /// A pod that is tried again and again without end is left after ten tries for each pod.
    pub fn run(&mut self) -> Vec<Attempt> {
        let mut attempts = Vec::new();
        let most = 10 * (self.cluster.pods().count() + 1);
        self.settle();
        while attempts.len() < most {
            let Some(attempt) = self.schedule_one() else { break };
            attempts.push(attempt);
            self.settle();
        }
        attempts
    }

    fn happens(&mut self, percent: u32) -> bool {
        percent > 0 && self.rng.random_range(0..100) < percent
    }

    fn perform_one(&mut self, id: WorkId, work: Work) {
        let result = match work {
            Work::Record(record) => return self.records.push(record),
            Work::ReadPod { key, uid } => {
                let pod = self.cluster.pod(&key).filter(|it| **it.uid() == *uid).cloned();
                if self.happens(self.faults.lost_percent) {
                    WorkResult::Pod(Err("the connection was reset".to_owned()))
                } else {
                    WorkResult::Pod(Ok(pod.map(Object::Pod)))
                }
            }
            other => WorkResult::Done(self.call(&other)),
        };
        self.scheduler.handle_result(self.now, id, result);
    }

    /// Makes a call, with the faults that calls meet.
    fn call(&mut self, work: &Work) -> ActionResult {
        if self.happens(self.faults.refused_percent) {
            return Err(ActionError::Refused("the server is overloaded".to_owned()));
        }
        if self.happens(self.faults.lost_percent) {
            if self.rng.random_bool(0.5) {
                // Done or not, the answer is lost all the same.
                let _lost = self.carry_out(work);
            }
            return Err(ActionError::Unknown("the connection was reset".to_owned()));
        }
        self.carry_out(work)
    }

    fn carry_out(&mut self, work: &Work) -> ActionResult {
        let done = match work {
            Work::Do(Action::Bind { pod, uid, node }) => self.cluster.bind(pod, uid, node),
            Work::Do(Action::Patch { resource, key, patch, kind: PatchKind::Merge, .. }) => {
                self.cluster.patch(resource, key, patch)
            }
            Work::ExtenderBind { pod, node, .. } => self.cluster.bind(&pod.key(), pod.uid(), node),
            Work::PatchPodStatus { pod, condition, nominated_node_name } => {
                let (condition, node) = (condition.as_ref(), nominated_node_name.as_ref());
                self.cluster.patch_status(&pod.key(), pod.uid(), condition, node)
            }
            Work::DeletePod { pod } => {
                let deleted = self.cluster.delete_pod(&pod.key(), pod.uid());
                if deleted.is_ok() {
                    self.deleted.push(Object::Pod(pod.pod().clone()));
                }
                deleted
            }
            other => Err(ActionError::Refused(format!("no way to do {other:?} here"))),
        };
        done.map(|()| serde_json::Value::Null)
    }
}

fn object(change: &ClusterChange) -> &Object {
    match change {
        ClusterChange::Applied(it) | ClusterChange::Deleted(it) => it,
        ClusterChange::Facts { .. } | ClusterChange::FactsConfirmed { .. } => {
            unreachable!("the cluster tells of objects alone")
        }
    }
}
