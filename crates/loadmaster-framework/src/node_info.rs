//! A node with everything already placed on it.

use std::{collections::BTreeMap, sync::Arc};

use super::{HostPortInfo, PodInfo};
use crate::api::{Node, ObjectKey, Pod, Resource, Text};

/// One node of the snapshot, with everything already placed on it.
#[derive(Clone, Debug, Default)]
pub struct NodeInfo {
    node: Arc<Node>,
    pods: Vec<Arc<PodInfo>>,
    pods_with_affinity: Vec<Arc<PodInfo>>,
    pods_with_required_anti_affinity: Vec<Arc<PodInfo>>,
    used_ports: HostPortInfo,
    requested: Resource,
    non_zero_requested: Resource,
    allocatable: Resource,
    images: Arc<BTreeMap<Text, i64>>,
    pvc_ref_counts: BTreeMap<ObjectKey, u32>,
    generation: u64,
}

impl NodeInfo {
    /// `node` with nothing on it.
    pub fn new(node: Arc<Node>) -> Self {
        let mut info = Self::default();
        info.set_node(node);
        info
    }

    /// The node itself.
    pub fn node(&self) -> &Node {
        &self.node
    }

    /// The node itself, shared.
    pub fn shared_node(&self) -> &Arc<Node> {
        &self.node
    }

    /// The node's name.
    pub fn name(&self) -> &Text {
        self.node.name()
    }

    /// The value of the node's label `key`.
    pub fn label(&self, key: &str) -> Option<&str> {
        self.node.label(key)
    }

    /// Every pod placed on the node, also those that are terminating or only assumed to be here.
    pub fn pods(&self) -> &[Arc<PodInfo>] {
        &self.pods
    }

    /// Those of [`NodeInfo::pods`] that have pod affinity or anti-affinity.
    pub fn pods_with_affinity(&self) -> &[Arc<PodInfo>] {
        &self.pods_with_affinity
    }

    /// Those of [`NodeInfo::pods`] that have required anti-affinity.
    pub fn pods_with_required_anti_affinity(&self) -> &[Arc<PodInfo>] {
        &self.pods_with_required_anti_affinity
    }

    /// Host ports taken.
    pub fn used_ports(&self) -> &HostPortInfo {
        &self.used_ports
    }

    /// What the pods on the node take together.
    pub fn requested(&self) -> &Resource {
        &self.requested
    }

    /// The same, with 100 millicores and 200 MiB for each container that asks for none; only those
    /// two slots are kept.
    pub fn non_zero_requested(&self) -> &Resource {
        &self.non_zero_requested
    }

    /// What the node offers to pods.
    pub fn allocatable(&self) -> &Resource {
        &self.allocatable
    }

    /// The size in bytes of image `name` on this node, if it is here.
    pub fn image_size(&self, name: &str) -> Option<i64> {
        self.images.get(name).copied()
    }

    /// Names of the images on this node.
    pub fn image_names(&self) -> impl Iterator<Item = &Text> {
        self.images.keys()
    }

    /// How many pods on this node use the claim.
    pub fn pvc_ref_count(&self, claim: &ObjectKey) -> u32 {
        self.pvc_ref_counts.get(claim).copied().unwrap_or(0)
    }

    /// Grows with every change to any node of the cache, and is never used twice: equal generations
    /// mean equal contents, also across a node that went and came back (k/k#63262).
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// For the cache: marks a change.
    pub fn set_generation(&mut self, generation: u64) {
        self.generation = generation;
    }

    /// Replaces the node, and keeps what is placed on it.
    pub fn set_node(&mut self, node: Arc<Node>) {
        self.allocatable = Resource::from_resource_list(&node.status.allocatable);
        let images = node.status.images.iter();
        let named = images.flat_map(|it| it.names.iter().map(|name| (name.clone(), it.size_bytes)));
        self.images = Arc::new(named.collect());
        self.node = node;
    }

    /// Places `pod` here.
    pub fn add_pod(&mut self, pod: Arc<PodInfo>) {
        if pod.has_affinity() {
            self.pods_with_affinity.push(Arc::clone(&pod));
        }
        if pod.has_required_anti_affinity() {
            self.pods_with_required_anti_affinity.push(Arc::clone(&pod));
        }
        self.requested.add(&pod.resources().requests);
        self.non_zero_requested.add(&pod.resources().non_zero);
        self.used_ports.add_pod(&pod);
        for claim in pod_claims(&pod) {
            *self.pvc_ref_counts.entry(claim).or_default() += 1;
        }
        self.pods.push(pod);
    }

    /// Takes the pod of this uid away, and returns it if it was here. Sums are exact again
    /// afterwards, also where they had been beyond 64 bits.
    pub fn remove_pod(&mut self, uid: &str) -> Option<Arc<PodInfo>> {
        let pod = take(&mut self.pods, uid)?;
        take(&mut self.pods_with_affinity, uid);
        take(&mut self.pods_with_required_anti_affinity, uid);
        self.requested.sub(&pod.resources().requests);
        self.non_zero_requested.sub(&pod.resources().non_zero);
        self.used_ports.remove_pod(&pod);
        for claim in pod_claims(&pod) {
            if let Some(count) = self.pvc_ref_counts.get_mut(&claim) {
                *count -= 1;
                if *count == 0 {
                    self.pvc_ref_counts.remove(&claim);
                }
            }
        }
        Some(pod)
    }
}

fn take(pods: &mut Vec<Arc<PodInfo>>, uid: &str) -> Option<Arc<PodInfo>> {
    let at = pods.iter().position(|it| &**it.uid() == uid)?;
    Some(pods.swap_remove(at))
}

/// Claims that the pod's volumes name outright (upstream counts these alone).
fn pod_claims(pod: &Pod) -> impl Iterator<Item = ObjectKey> {
    let volumes = pod.spec.volumes.iter().filter_map(|it| it.persistent_volume_claim.as_ref());
    volumes.map(|it| ObjectKey::new(pod.namespace().clone(), it.claim_name.clone()))
}
