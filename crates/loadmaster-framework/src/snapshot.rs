//! The cluster as one cycle sees it.

use std::{collections::BTreeMap, sync::Arc};

use super::{Code, Listers, NodeInfo, Status};
use crate::api::Text;

/// The cluster as one cycle sees it: nothing in it changes while the cycle runs.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    nodes: Vec<Arc<NodeInfo>>,
    index: BTreeMap<Text, usize>,
    image_nodes: Arc<BTreeMap<Text, usize>>,
    listers: Listers,
    generation: u64,
}

impl Snapshot {
    /// A snapshot of `nodes`, in the order in which they are to be visited.
    pub fn new(nodes: Vec<Arc<NodeInfo>>, listers: Listers) -> Self {
        let mut snapshot = Self { listers, ..Self::default() };
        let mut images = BTreeMap::new();
        for name in nodes.iter().flat_map(|it| it.image_names()) {
            *images.entry(name.clone()).or_default() += 1;
        }
        snapshot.set_nodes(nodes);
        snapshot.image_nodes = Arc::new(images);
        snapshot
    }

    /// Every node, in the order in which they are visited.
    pub fn nodes(&self) -> &[Arc<NodeInfo>] {
        &self.nodes
    }

    /// The node of this name.
    pub fn node(&self, name: &str) -> Option<&Arc<NodeInfo>> {
        self.index.get(name).map(|at| &self.nodes[*at])
    }

    /// Where the node of this name stands in [`Snapshot::nodes`].
    pub fn position(&self, name: &str) -> Option<usize> {
        self.index.get(name).copied()
    }

    /// On how many nodes image `name` is.
    pub fn image_node_count(&self, name: &str) -> usize {
        self.image_nodes.get(name).copied().unwrap_or(0)
    }

    /// What is known of the cluster beside its nodes and pods.
    pub fn listers(&self) -> &Listers {
        &self.listers
    }

    /// For the cache: up to which change of its nodes this snapshot shows them.
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// For the cache: notes up to which change of its nodes this snapshot shows them.
    pub fn set_generation(&mut self, generation: u64) {
        self.generation = generation;
    }

    /// For the cache: replaces the list of nodes.
    pub fn set_nodes(&mut self, nodes: Vec<Arc<NodeInfo>>) {
        self.index = nodes.iter().enumerate().map(|(at, it)| (it.name().clone(), at)).collect();
        self.nodes = nodes;
    }

    /// For the cache and for what-ifs: replaces the node at `position` by a later version of it.
    ///
    /// # Panics
    /// If there is no such position.
    pub fn replace_node(&mut self, position: usize, node: Arc<NodeInfo>) {
        self.nodes[position] = node;
    }

    /// For the cache: on how many nodes each image is.
    pub fn set_image_nodes(&mut self, counts: Arc<BTreeMap<Text, usize>>) {
        self.image_nodes = counts;
    }

    /// For the cache: replaces what is known beside nodes and pods.
    pub fn set_listers(&mut self, listers: Listers) {
        self.listers = listers;
    }
}

/// Why each node was refused in a cycle (upstream: `NodeToStatus`).
#[derive(Clone, Debug, Default)]
pub struct NodeToStatus {
    by_position: Vec<Option<Status>>,
    absent: Option<Status>,
}

impl NodeToStatus {
    /// For `count` nodes, none refused on its own yet.
    pub fn new(count: usize) -> Self {
        Self { by_position: vec![None; count], absent: None }
    }

    /// Notes why the node at `position` of the snapshot was refused.
    ///
    /// # Panics
    /// If the position is not below the count given.
    pub fn set(&mut self, position: usize, status: Status) {
        self.by_position[position] = Some(status);
    }

    /// What holds for nodes without a refusal of their own.
    pub fn set_absent(&mut self, status: Option<Status>) {
        self.absent = status;
    }

    /// What holds for nodes without a refusal of their own, if that is a refusal.
    pub fn absent(&self) -> Option<&Status> {
        self.absent.as_ref()
    }

    /// Why the node at `position` was refused, by itself or as one of the absent.
    pub fn get(&self, position: usize) -> Option<&Status> {
        self.by_position.get(position).and_then(Option::as_ref).or(self.absent.as_ref())
    }

    /// Refusals of single nodes: the position in the snapshot and why.
    pub fn explicit(&self) -> impl Iterator<Item = (usize, &Status)> {
        self.by_position.iter().enumerate().filter_map(|(at, it)| Some((at, it.as_ref()?)))
    }

    /// Positions of the nodes refused with `code`.
    pub fn positions_with(&self, code: Code) -> impl Iterator<Item = usize> {
        (0..self.by_position.len())
            .filter(move |at| self.get(*at).is_some_and(|status| status.code() == code))
    }
}
