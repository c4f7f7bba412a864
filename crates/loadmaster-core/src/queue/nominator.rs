//! Nodes that are promised to pods which wait for room there.

use std::{collections::BTreeMap, sync::Arc};

use loadmaster_framework::api::Text;
use loadmaster_framework::{Nominating, PodInfo};

/// Which node is promised to which pod. A promise counts at once, before the server knows of it
/// (k/k#72124).
///
/// Source: `pkg/scheduler/backend/queue/nominator.go`, v1.36.
#[derive(Clone, Debug, Default)]
pub(super) struct Nominator {
    by_node: BTreeMap<Text, Vec<Arc<PodInfo>>>,
    nodes: BTreeMap<Text, Text>,
}

impl Nominator {
    /// Notes what is promised to `pod`; [`Nominating::Keep`] is what its status says.
    pub(super) fn add(&mut self, pod: Arc<PodInfo>, nominating: &Nominating) {
        self.remove(pod.uid());
        let node = match nominating {
            Nominating::Keep => &pod.status.nominated_node_name,
            Nominating::Clear => return,
            Nominating::Node(node) => node,
        };
        if node.is_empty() {
            return;
        }
        let node = node.clone();
        self.nodes.insert(pod.uid().clone(), node.clone());
        self.by_node.entry(node).or_default().push(pod);
    }

    /// The pod changed. A promise that the server does not know of yet stays; one that was in the
    /// pod's status follows it.
    pub(super) fn update(&mut self, old_status_node: &str, pod: Arc<PodInfo>) {
        let known_here_alone =
            old_status_node.is_empty() && pod.status.nominated_node_name.is_empty();
        let promised = self.nodes.get(pod.uid()).filter(|_| known_here_alone);
        let nominating = promised.cloned().map_or(Nominating::Keep, Nominating::Node);
        self.add(pod, &nominating);
    }

    /// Nothing is promised to the pod any more. Returns the node that was.
    pub(super) fn remove(&mut self, uid: &str) -> Option<Text> {
        let node = self.nodes.remove(uid)?;
        if let Some(pods) = self.by_node.get_mut(&node) {
            pods.retain(|it| &**it.uid() != uid);
            if pods.is_empty() {
                self.by_node.remove(&node);
            }
        }
        Some(node)
    }

    /// The node is gone: nothing on it is promised any more (k/k#85677). Returns the pods to which
    /// it was.
    pub(super) fn remove_node(&mut self, node: &str) -> Vec<Arc<PodInfo>> {
        let pods = self.by_node.remove(node).unwrap_or_default();
        for pod in &pods {
            self.nodes.remove(pod.uid());
        }
        pods
    }

    /// The pods to which `node` is promised, in the order in which it was.
    pub(super) fn pods(&self, node: &str) -> &[Arc<PodInfo>] {
        self.by_node.get(node).map_or(&[], Vec::as_slice)
    }

    /// The node that is promised to the pod.
    pub(super) fn node(&self, uid: &str) -> Option<&Text> {
        self.nodes.get(uid)
    }
}
