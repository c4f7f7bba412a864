//! The order in which nodes are visited: one of each zone in turn.

use loadmaster_framework::api::{Node, Text};

const REGION: &str = "topology.kubernetes.io/region";
const ZONE: &str = "topology.kubernetes.io/zone";
const BETA_REGION: &str = "failure-domain.beta.kubernetes.io/region";
const BETA_ZONE: &str = "failure-domain.beta.kubernetes.io/zone";

/// Region and zone; both empty for a node that names neither.
type ZoneKey = (Text, Text);

/// Names of nodes by zone; zones and the nodes in them in the order in which they came.
///
/// Source: `pkg/scheduler/backend/cache/node_tree.go`, v1.36.
#[derive(Clone, Debug, Default)]
pub(super) struct NodeTree {
    zones: Vec<(ZoneKey, Vec<Text>)>,
    len: usize,
}

impl NodeTree {
    /// How many nodes there are.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Adds `node` behind the others of its zone.
    pub(super) fn add(&mut self, node: &Node) {
        let key = zone_key(node);
        let name = node.name().clone();
        match self.zones.iter_mut().find(|(it, _)| *it == key) {
            Some((_, names)) => names.push(name),
            None => self.zones.push((key, vec![name])),
        }
        self.len += 1;
    }

    /// Moves the node behind the others of its new zone, if the zone is another than before.
    pub(super) fn update(&mut self, old: &Node, new: &Node) {
        if zone_key(old) != zone_key(new) {
            self.remove(old);
            self.add(new);
        }
    }

    /// Drops `node`; a zone without nodes is forgotten.
    pub(super) fn remove(&mut self, node: &Node) {
        let key = zone_key(node);
        let Some(at) = self.zones.iter().position(|(it, _)| *it == key) else { return };
        let names = &mut self.zones[at].1;
        let before = names.len();
        names.retain(|it| it != node.name());
        self.len -= before - names.len();
        if names.is_empty() {
            self.zones.remove(at);
        }
    }

    /// Every name: the first node of each zone, then the second of each, ….
    pub(super) fn list(&self) -> impl Iterator<Item = &Text> {
        let longest = self.zones.iter().map(|(_, names)| names.len()).max().unwrap_or(0);
        (0..longest).flat_map(|at| self.zones.iter().filter_map(move |(_, names)| names.get(at)))
    }
}

/// The older labels count before the newer ones, as upstream has it.
fn zone_key(node: &Node) -> ZoneKey {
    let labels = &node.metadata.labels;
    let first = |keys: [&str; 2]| keys.iter().find_map(|it| labels.get(it)).cloned();
    (first([BETA_REGION, REGION]).unwrap_or_default(), first([BETA_ZONE, ZONE]).unwrap_or_default())
}
