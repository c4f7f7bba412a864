//! The cache.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use loadmaster_framework::api::{Node, Text};
use loadmaster_framework::{Listers, NodeInfo, PodInfo, Snapshot};

use super::node_tree::NodeTree;

/// What the cluster looks like as far as it is known, with the pods that were assumed to be where
/// the scheduler has decided, before the server says so.
///
/// Events may come in any order, doubled, or not at all: a pod before its node, a node gone before
/// its pods, a pod bound elsewhere than assumed. What arrives last counts, and nothing is an error
/// (k/k#106102). An assumed pod stays until it is confirmed or forgotten, however long its binding
/// takes (k/k#106361).
///
/// Source: `pkg/scheduler/backend/cache/cache.go`, v1.36.
#[derive(Clone, Debug, Default)]
pub struct Cache {
    nodes: BTreeMap<Text, Entry>,
    tree: NodeTree,
    pods: BTreeMap<Text, CachedPod>,
    assumed: usize,
    images: Arc<BTreeMap<Text, usize>>,
    /// The last change of any node. It never restarts, so a node that went and came back is not
    /// taken for its predecessor (k/k#63262).
    generation: u64,
    /// The node of each change that no later change of the same node has overtaken.
    changes: BTreeMap<u64, Text>,
    listers: Listers,
}

#[derive(Clone, Debug)]
struct Entry {
    name: Text,
    info: Arc<NodeInfo>,
    /// Without a node there are only pods that say they are on it: they came first, or the node
    /// went first (k/k#95124, #93938).
    exists: bool,
}

/// A pod in the cache.
#[derive(Clone, Debug)]
pub struct CachedPod {
    /// The pod; its `spec.nodeName` is where it counts.
    pub info: Arc<PodInfo>,
    /// Whether the scheduler has put it there and the server has not said so yet.
    pub assumed: bool,
}

/// Why a pod cannot be assumed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AssumeError {
    /// It is in the cache already, bound or assumed.
    #[error("pod {uid} is in the cache already, on node {node}")]
    Known {
        /// The pod.
        uid: Text,
        /// Where the cache has it.
        node: Text,
    },
    /// It has no `spec.nodeName`.
    #[error("pod {uid} has no node to be assumed on")]
    NoNode {
        /// The pod.
        uid: Text,
    },
}

impl Cache {
    /// A node appeared or changed. Returns the version before, if there was one.
    pub fn upsert_node(&mut self, node: Arc<Node>) -> Option<Arc<Node>> {
        let entry = self.entry(node.name());
        let old = entry.exists.then(|| Arc::clone(entry.info.shared_node()));
        match &old {
            Some(old) => self.tree.update(old, &node),
            None => self.tree.add(&node),
        }
        self.entry(node.name()).exists = true;
        self.count_images(old.as_deref(), Some(&node));
        let name = node.name().clone();
        self.change(&name, |info| info.set_node(node));
        old
    }

    /// A node is gone. Returns its last version. Pods that were on it are kept aside until they go
    /// too, or the node comes back.
    pub fn remove_node(&mut self, name: &str) -> Option<Arc<Node>> {
        let entry = self.nodes.get_mut(name).filter(|it| it.exists)?;
        entry.exists = false;
        let node = Arc::clone(entry.info.shared_node());
        self.tree.remove(&node);
        self.count_images(Some(&node), None);
        self.change(name, |info| info.set_node(Arc::default()));
        self.drop_empty(name);
        Some(node)
    }

    /// A bound pod appeared or changed, or an assumed pod is confirmed. It counts on the node that
    /// it names now, wherever it was before. Returns what the cache had.
    ///
    /// A pod that names no node is taken away.
    pub fn upsert_pod(&mut self, pod: Arc<PodInfo>) -> Option<CachedPod> {
        let old = self.remove_pod(pod.uid());
        if pod.node_name().is_some() {
            self.place(pod, false);
        }
        old
    }

    /// A pod is gone, bound or assumed, wherever its last known version says it was (k/k#106102).
    /// Returns what the cache had.
    pub fn remove_pod(&mut self, uid: &str) -> Option<CachedPod> {
        let old = self.pods.remove(uid)?;
        self.assumed -= usize::from(old.assumed);
        let node = &old.info.spec.node_name;
        self.change(node, |info| {
            info.remove_pod(uid);
        });
        self.drop_empty(node);
        Some(old)
    }

    /// Counts `pod` on the node that its `spec.nodeName` names, before the server has bound it.
    ///
    /// # Errors
    /// [`AssumeError`] where the cache has the pod, or the pod no node.
    pub fn assume_pod(&mut self, pod: Arc<PodInfo>) -> Result<(), AssumeError> {
        let uid = pod.uid().clone();
        if let Some(known) = self.pods.get(&uid) {
            return Err(AssumeError::Known { uid, node: known.info.spec.node_name.clone() });
        }
        if pod.node_name().is_none() {
            return Err(AssumeError::NoNode { uid });
        }
        self.place(pod, true);
        Ok(())
    }

    /// Takes an assumed pod away again. Returns it; `None` where no such pod is assumed, so also
    /// once the server has confirmed it.
    pub fn forget_pod(&mut self, uid: &str) -> Option<Arc<PodInfo>> {
        if !self.is_assumed(uid) {
            return None;
        }
        self.remove_pod(uid).map(|it| it.info)
    }

    /// Whether the pod is assumed to be on a node, and not confirmed yet.
    pub fn is_assumed(&self, uid: &str) -> bool {
        self.pods.get(uid).is_some_and(|it| it.assumed)
    }

    /// The pod of this uid, bound or assumed, also where its node is not there.
    pub fn get_pod(&self, uid: &str) -> Option<&CachedPod> {
        self.pods.get(uid)
    }

    /// The node of this name with what is on it; `None` for one of which only pods are known.
    pub fn node(&self, name: &str) -> Option<&Arc<NodeInfo>> {
        self.nodes.get(name).filter(|it| it.exists).map(|it| &it.info)
    }

    /// Every pod, bound and assumed, in the order of the uids.
    pub fn pods(&self) -> impl Iterator<Item = &CachedPod> {
        self.pods.values()
    }

    /// How many nodes there are.
    pub fn node_count(&self) -> usize {
        self.tree.len()
    }

    /// How many pods there are, bound and assumed.
    pub fn pod_count(&self) -> usize {
        self.pods.len()
    }

    /// How many of them are assumed.
    pub fn assumed_pod_count(&self) -> usize {
        self.assumed
    }

    /// What is known beside nodes and pods.
    pub fn listers(&self) -> &Listers {
        &self.listers
    }

    /// What is known beside nodes and pods, to be changed.
    pub fn listers_mut(&mut self) -> &mut Listers {
        &mut self.listers
    }

    /// Brings `snapshot` up to date; it must be empty or have been filled by this cache alone.
    ///
    /// Only nodes that changed since are replaced. Nodes keep their places until one appears or
    /// vanishes; then all are put in order anew, one of each zone in turn. So a node that changes
    /// its zone, or goes and comes back between two snapshots, keeps its place until then, as
    /// upstream has it.
    pub fn update_snapshot(&self, snapshot: &mut Snapshot) {
        let mut reorder = false;
        for name in self.changes.range(snapshot.generation() + 1..).map(|(_, name)| name) {
            let Some(info) = self.node(name) else { continue };
            match snapshot.position(name) {
                Some(at) => snapshot.replace_node(at, Arc::clone(info)),
                None => reorder = true,
            }
        }
        if reorder || snapshot.nodes().len() > self.tree.len() {
            let ordered = self.tree.list().filter_map(|name| self.node(name));
            snapshot.set_nodes(ordered.cloned().collect());
        }
        snapshot.set_image_nodes(Arc::clone(&self.images));
        snapshot.set_listers(self.listers.clone());
        snapshot.set_generation(self.generation);
    }

    fn entry(&mut self, name: &Text) -> &mut Entry {
        let new = || Entry { name: name.clone(), info: Arc::default(), exists: false };
        self.nodes.entry(name.clone()).or_insert_with(new)
    }

    fn place(&mut self, pod: Arc<PodInfo>, assumed: bool) {
        let node = pod.spec.node_name.clone();
        self.entry(&node);
        self.change(&node, |info| info.add_pod(Arc::clone(&pod)));
        self.assumed += usize::from(assumed);
        self.pods.insert(pod.uid().clone(), CachedPod { info: pod, assumed });
    }

    /// Changes a node and gives it a generation of its own. A snapshot that shows it keeps what it
    /// shows.
    fn change(&mut self, name: &str, edit: impl FnOnce(&mut NodeInfo)) {
        let Some(entry) = self.nodes.get_mut(name) else { return };
        self.generation += 1;
        let info = Arc::make_mut(&mut entry.info);
        self.changes.remove(&info.generation());
        edit(info);
        info.set_generation(self.generation);
        self.changes.insert(self.generation, Text::clone(&entry.name));
    }

    /// Forgets a node that is not there and that no pod names.
    fn drop_empty(&mut self, name: &str) {
        if self.nodes.get(name).is_some_and(|it| !it.exists && it.info.pods().is_empty())
            && let Some(entry) = self.nodes.remove(name)
        {
            self.changes.remove(&entry.info.generation());
        }
    }

    /// Keeps count of the nodes that have each image.
    fn count_images(&mut self, old: Option<&Node>, new: Option<&Node>) {
        if old.map(|it| &it.status.images) == new.map(|it| &it.status.images) {
            return;
        }
        let names = |node: Option<&Node>| -> BTreeSet<Text> {
            let images = node.into_iter().flat_map(|it| &it.status.images);
            images.flat_map(|it| it.names.iter().cloned()).collect()
        };
        let counts = Arc::make_mut(&mut self.images);
        for name in names(new) {
            *counts.entry(name).or_default() += 1;
        }
        for name in names(old) {
            if let Some(count) = counts.get_mut(&name) {
                *count -= 1;
                if *count == 0 {
                    counts.remove(&name);
                }
            }
        }
    }
}
