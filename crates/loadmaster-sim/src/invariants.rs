//! What must hold whatever happens.

use std::collections::BTreeMap;

use loadmaster_core::queue::QueuePart;
use loadmaster_framework::{
    PodInfo,
    api::{ObjectKey, Resource, Text},
};

use crate::Sim;

/// Something that must never be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Violation {
    /// More is placed on a node than it has.
    #[error("node {node} is over its allocatable {resource}: {used} of {offered}")]
    Overcommitted {
        /// The node.
        node: Text,
        /// The resource.
        resource: &'static str,
        /// What its pods take.
        used: i128,
        /// What it offers.
        offered: i128,
    },
    /// A pod that waits is nowhere, or in two places.
    #[error("pod {pod} is in {places} places, not one")]
    Misplaced {
        /// The pod.
        pod: ObjectKey,
        /// In how many places it is.
        places: usize,
    },
}

impl Sim {
    /// Checks that no node of the cluster holds more than it offers.
    ///
    /// # Errors
    /// The first [`Violation`].
    pub fn check_nodes(&self) -> Result<(), Violation> {
        let mut used: BTreeMap<Text, (Resource, i128)> = BTreeMap::new();
        for pod in self.cluster().pods().filter(|it| !it.is_finished()) {
            if let Some(node) = pod.node_name() {
                let (sum, count) = used.entry(node.clone()).or_default();
                sum.add(&PodInfo::new(pod.clone()).resources().requests);
                *count += 1;
            }
        }
        for node in self.cluster().objects().filter_map(|it| it.as_node()) {
            let Some((sum, count)) = used.get(node.name()) else { continue };
            let offered = Resource::from_resource_list(&node.status.allocatable);
            let slots = [
                ("cpu", sum.milli_cpu, offered.milli_cpu),
                ("memory", sum.memory, offered.memory),
                ("ephemeral-storage", sum.ephemeral_storage, offered.ephemeral_storage),
                ("pods", *count, offered.allowed_pod_number),
            ];
            if let Some((resource, used, offered)) = slots.into_iter().find(|it| it.1 > it.2) {
                let node = node.name().clone();
                return Err(Violation::Overcommitted { node, resource, used, offered });
            }
        }
        Ok(())
    }

    /// Checks that each pod that waits for this scheduler is in exactly one place: a part of the
    /// queue, in flight, or assumed. To be asked when everything has been told.
    ///
    /// # Errors
    /// The first [`Violation`].
    pub fn check_pods(&self) -> Result<(), Violation> {
        let (queue, cache) = (self.scheduler().queue(), self.scheduler().cache());
        for pod in self.cluster().pods() {
            let responsible = self
                .scheduler()
                .profiles()
                .any(|it| **it.scheduler_name() == *pod.scheduler_name());
            if !responsible || pod.is_finished() || pod.node_name().is_some() {
                continue;
            }
            let queued = queue
                .pending_pods()
                .filter(|(_, it): &(QueuePart, _)| it.pod.uid() == pod.uid())
                .count();
            let assumed = usize::from(cache.is_assumed(pod.uid()));
            let in_flight = usize::from(queue.is_in_flight(pod.uid()) && assumed == 0);
            let places = queued + assumed + in_flight;
            if places != 1 {
                return Err(Violation::Misplaced { pod: pod.key(), places });
            }
        }
        Ok(())
    }
}
