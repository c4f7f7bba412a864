//! A cluster in memory, as one scheduling cycle sees it.

use std::{collections::BTreeMap, sync::Arc};

use loadmaster_core::{cache::Cache, profile::NominatedPods};
use loadmaster_framework::{Listers, Object, PodInfo, Snapshot, api::Text};

/// A cluster in memory: nodes, the pods placed on them, pods that are promised to nodes, and
/// everything else that plugins look at.
#[derive(Debug, Default)]
pub struct Cluster {
    cache: Cache,
    order: Vec<Text>,
    nominated: BTreeMap<Text, Vec<Arc<PodInfo>>>,
}

impl Cluster {
    /// Adds an object; one of the same kind and name is replaced. A pod counts where it is placed,
    /// or where a node is promised to it; one that has ended or that merely waits is left out, as
    /// no cycle sees it.
    pub fn add(&mut self, object: impl Into<Object>) {
        match object.into() {
            Object::Node(node) => {
                let name = node.name().clone();
                if self.cache.upsert_node(node).is_none() {
                    self.order.push(name);
                }
            }
            Object::Pod(pod) if pod.is_finished() => {}
            Object::Pod(pod) if pod.node_name().is_some() => {
                self.cache.upsert_pod(Arc::new(PodInfo::new(pod)));
            }
            Object::Pod(pod) => {
                let promised = pod.status.nominated_node_name.clone();
                if !promised.is_empty() {
                    let pod = Arc::new(PodInfo::new(pod));
                    self.nominated.entry(promised).or_default().push(pod);
                }
            }
            other => {
                self.cache.listers_mut().upsert(&other);
            }
        }
    }

    /// What is known beside nodes and pods.
    pub fn listers(&self) -> &Listers {
        self.cache.listers()
    }

    /// Names of the nodes, in the order in which they came.
    pub fn node_names(&self) -> &[Text] {
        &self.order
    }

    /// The cluster as a cycle sees it.
    pub fn snapshot(&self) -> Snapshot {
        let mut snapshot = Snapshot::default();
        self.cache.update_snapshot(&mut snapshot);
        snapshot
    }
}

impl NominatedPods for Cluster {
    fn for_node(&self, node: &str) -> &[Arc<PodInfo>] {
        self.nominated.get(node).map_or(&[], Vec::as_slice)
    }
}
