//! One scheduling cycle: the pod at the head of the queue, up to Permit.

use std::{sync::Arc, time::Duration};

use loadmaster_framework::{
    Cycle, CycleState, NodeToStatus, Nominating, PodInfo, PostFilterResult, QueuedPodInfo, Status,
    api::{Pod, Text},
};

use super::{
    Attempt, AttemptOutcome, EventType, Scheduler, binding_cycle::BindingCycle, failure::Failure,
    instance::Instance,
};
use crate::{
    cycle::{Choice, NO_NODES_AVAILABLE, NoChoice, Ports, Search},
    meter::Observation,
    profile::NominatedPods,
    queue::SchedulingQueue,
    report::FitError,
};

impl NominatedPods for SchedulingQueue {
    fn for_node(&self, node: &str) -> &[Arc<PodInfo>] {
        self.nominated_pods(node)
    }
}

/// What a cycle came to, before anything follows from it.
enum Found {
    Node(Choice),
    Unfit(Box<FitError>, PostFilterResult),
    NoNodes,
    Broken(Status),
}

impl Scheduler {
    /// Tries the pod at the head of the queue: `None` when nobody is to be tried now. What follows
    /// from it is in [`Scheduler::poll_action`].
    pub fn schedule_one(&mut self, now: Duration, ports: &mut dyn Ports) -> Option<Attempt> {
        let (queue, host) = self.queue_and_host();
        let mut info = queue.pop(&host)?;
        let uid = info.pod.uid().clone();
        info.initial_attempt_timestamp.get_or_insert(now);
        let Some(instance) = self.profiles.get(info.pod.scheduler_name()).cloned() else {
            self.queue.done(&uid);
            return Some(attempt(&info, Text::from(""), AttemptOutcome::Skipped));
        };
        let name = instance.scheduler_name().clone();
        if self.skips(&info, &name) {
            self.queue.done(&uid);
            return Some(attempt(&info, name, AttemptOutcome::Skipped));
        }
        self.cache.update_snapshot(&mut self.snapshot);
        let mut state = CycleState::default();
        instance.watch().begin_cycle();
        let found = self.find(now, &instance, &info.pod, &mut state, ports);
        self.observe_since(Some(now), |took| Observation::Algorithm { took });
        let tried = attempt(&info, name, AttemptOutcome::Skipped);
        let outcome = match found {
            Found::Node(choice) => self.assume(now, &instance, info, state, choice),
            Found::NoNodes => {
                let message = NO_NODES_AVAILABLE.to_owned();
                let failure = Failure::unschedulable(message.clone());
                self.handle_failure((now, now), &instance, info, failure, &Nominating::Clear);
                AttemptOutcome::Unschedulable {
                    message,
                    fit_error: None,
                    nominated_node: None,
                    victims: Vec::new(),
                }
            }
            Found::Broken(status) => {
                let message = status.message();
                let failure = Failure::error(message.clone());
                self.handle_failure((now, now), &instance, info, failure, &Nominating::Clear);
                AttemptOutcome::Error { message }
            }
            Found::Unfit(fit_error, post_filter) => {
                self.unfit(now, &instance, info, fit_error, post_filter)
            }
        };
        self.settle_waits(now);
        instance.end_cycle();
        Some(Attempt { outcome, ..tried })
    }

    /// Whether the pod must not be tried: it is going, or has a node already.
    fn skips(&mut self, info: &QueuedPodInfo, profile: &Text) -> bool {
        let pod = &info.pod;
        if pod.is_terminating() {
            let note = format!("skip schedule deleting pod: {}", pod.key());
            self.record(pod, profile, EventType::Warning, "FailedScheduling", "Scheduling", note);
            return true;
        }
        self.cache.get_pod(pod.uid()).is_some()
    }

    fn find(
        &mut self,
        now: Duration,
        instance: &Instance,
        pod: &PodInfo,
        state: &mut CycleState,
        ports: &mut dyn Ports,
    ) -> Found {
        let name = instance.scheduler_name();
        let cx = Cycle { pod, snapshot: &self.snapshot, profile: name, now };
        let search = Search {
            profile: instance,
            nominated: &self.queue,
            extenders: instance.extenders(),
            percentage_of_nodes_to_score: self.percentage_of_nodes_to_score,
            next_start_node_index: &mut self.next_start_node_index,
        };
        let mut fit_error = match search.run(cx, state, ports, &mut self.rng) {
            Ok(choice) => return Found::Node(choice),
            Err(NoChoice::NoNodes) => return Found::NoNodes,
            Err(NoChoice::Broken(status)) => return Found::Broken(status),
            Err(NoChoice::Unfit(fit_error)) => fit_error,
        };
        if !instance.has_post_filter() {
            let nothing = PostFilterResult {
                nominating: Nominating::Clear,
                victims: Vec::new(),
                status: Ok(()),
            };
            return Found::Unfit(fit_error, nothing);
        }
        let why: &NodeToStatus = &fit_error.diagnosis.node_to_status;
        let result = self.with_handles(now, instance, pod, Some(ports), |plugins, cx, handles| {
            plugins.run_post_filter(cx, state, why, handles)
        });
        if let Some(status) = instance.over_budget() {
            return Found::Broken(status);
        }
        if let Err(status) = &result.status {
            fit_error.diagnosis.post_filter_message = status.message();
        }
        Found::Unfit(fit_error, result)
    }

    fn unfit(
        &mut self,
        now: Duration,
        instance: &Instance,
        info: QueuedPodInfo,
        fit_error: Box<FitError>,
        post_filter: PostFilterResult,
    ) -> AttemptOutcome {
        let message = fit_error.to_string();
        let failure = Failure::fit_error(&fit_error);
        let pod = Arc::clone(&info.pod);
        let nominated_node = match &post_filter.nominating {
            Nominating::Node(node) => Some(node.clone()),
            Nominating::Clear => None,
            Nominating::Keep => self.queue.nominated_node(pod.uid()).cloned(),
        };
        if let Nominating::Node(node) = &post_filter.nominating {
            self.preempt(now, &pod, node, &post_filter.victims);
        }
        self.handle_failure((now, now), instance, info, failure, &post_filter.nominating);
        AttemptOutcome::Unschedulable {
            message,
            fit_error: Some(fit_error),
            nominated_node,
            victims: post_filter.victims,
        }
    }

    /// The pod is on the node from here on, as far as later cycles see; Reserve and Permit may
    /// still take that back.
    fn assume(
        &mut self,
        now: Duration,
        instance: &Arc<Instance>,
        info: QueuedPodInfo,
        mut state: CycleState,
        choice: Choice,
    ) -> AttemptOutcome {
        let node = choice.node.name().clone();
        let assumed = Arc::new(PodInfo::new(Arc::new(bound(info.pod.pod(), &node))));
        if let Err(error) = self.cache.assume_pod(Arc::clone(&assumed)) {
            let message = error.to_string();
            let failure = Failure::error(message.clone());
            self.handle_failure((now, now), instance, info, failure, &Nominating::Clear);
            return AttemptOutcome::Error { message };
        }
        let promised = self.queue.delete_nominated_pod(assumed.uid());
        if let Some(other) = promised.filter(|it| *it != node) {
            self.promise_given_up(now, info.pod.pod(), other);
        }
        let waits = match self.reserve_and_permit(now, instance, &assumed, &mut state, &node) {
            Ok(waits) => waits,
            Err(status) => {
                self.unreserve_and_forget(now, instance, &assumed, &mut state, &node);
                let message = Failure::at_node(&status).message;
                let failed = !status.is_rejected();
                let failure = Failure::at_node(&status);
                self.handle_failure((now, now), instance, info, failure, &Nominating::Clear);
                return if failed {
                    AttemptOutcome::Error { message }
                } else {
                    AttemptOutcome::Unschedulable {
                        message,
                        fit_error: None,
                        nominated_node: None,
                        victims: Vec::new(),
                    }
                };
            }
        };
        let cycle = BindingCycle::new(
            now,
            Arc::clone(instance),
            info,
            Arc::clone(&assumed),
            state,
            node.clone(),
        );
        self.begin_binding(now, cycle, &waits);
        let Choice { evaluated_nodes, feasible_nodes, scores, diagnosis, .. } = choice;
        AttemptOutcome::Assumed { node, evaluated_nodes, feasible_nodes, scores, diagnosis }
    }

    /// The pod goes elsewhere than to the node that was promised to it, whose room is free again for
    /// pods of its priority or below. Upstream wakes nobody (k/k#134859).
    fn promise_given_up(&mut self, now: Duration, pod: &Arc<Pod>, node: Text) {
        let mut pod = Pod::clone(pod);
        pod.status.nominated_node_name = node;
        let (queue, host) = self.queue_and_host();
        queue.nominated_pod_left(&host, now, &Arc::new(pod));
    }

    fn reserve_and_permit(
        &mut self,
        now: Duration,
        instance: &Instance,
        pod: &PodInfo,
        state: &mut CycleState,
        node: &str,
    ) -> Result<Vec<(&'static str, Duration)>, Status> {
        let outcome = self.with_handles(now, instance, pod, None, |plugins, cx, handles| {
            plugins
                .run_reserve(cx, state, node, handles)
                .and_then(|()| plugins.run_permit(cx, state, node, handles))
        });
        self.settle_waits(now);
        outcome
    }

    /// Takes back what Reserve claimed, and the pod's place on the node.
    pub(super) fn unreserve_and_forget(
        &mut self,
        now: Duration,
        instance: &Instance,
        pod: &PodInfo,
        state: &mut CycleState,
        node: &str,
    ) {
        self.with_handles(now, instance, pod, None, |plugins, cx, handles| {
            plugins.run_unreserve(cx, state, node, handles);
        });
        self.cache.forget_pod(pod.uid());
    }
}

fn attempt(info: &QueuedPodInfo, profile: Text, outcome: AttemptOutcome) -> Attempt {
    Attempt { pod: Arc::clone(&info.pod), profile, attempts: info.attempts, outcome }
}

/// The pod as it will be when it is bound.
fn bound(pod: &Pod, node: &Text) -> Pod {
    let mut pod = pod.clone();
    pod.spec.node_name = node.clone();
    pod
}
