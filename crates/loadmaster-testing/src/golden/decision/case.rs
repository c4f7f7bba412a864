//! What a case says. Every field is known, so that none is skipped in silence.

use std::collections::BTreeMap;

use loadmaster_core::profile::Profile;
use loadmaster_framework::{
    Point,
    api::{
        CsiDriver, CsiNode, CsiStorageCapacity, Namespace, Node, PersistentVolume,
        PersistentVolumeClaim, Pod, PodDisruptionBudget, ReplicaSet, ReplicationController,
        Service, StatefulSet, StorageClass, Timestamp, VolumeAttachment,
    },
};
use serde::{Deserialize, Serialize};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Case {
    #[cfg_attr(not(test), expect(dead_code, reason = "only tests tell of a case by name"))]
    pub id: String,
    #[serde(rename = "family")]
    _family: String,
    #[serde(default, rename = "note")]
    _note: String,
    pub config: Option<serde_json::Value>,
    pub namespaces: Vec<Namespace>,
    pub nodes: Vec<Node>,
    pub pods: Vec<Pod>,
    #[serde(default)]
    pub nominatedpods: Vec<Pod>,
    pub services: Vec<Service>,
    pub replicasets: Vec<ReplicaSet>,
    #[serde(default)]
    pub replicationcontrollers: Vec<ReplicationController>,
    #[serde(default)]
    pub statefulsets: Vec<StatefulSet>,
    pub pvs: Vec<PersistentVolume>,
    pub pvcs: Vec<PersistentVolumeClaim>,
    pub storageclasses: Vec<StorageClass>,
    pub csinodes: Vec<CsiNode>,
    #[serde(default)]
    pub csidrivers: Vec<CsiDriver>,
    #[serde(default)]
    pub csistoragecapacities: Vec<CsiStorageCapacity>,
    #[serde(default)]
    pub volumeattachments: Vec<VolumeAttachment>,
    pub pdbs: Vec<PodDisruptionBudget>,
    pub pod: Option<Pod>,
    pub queue: Option<Vec<Queued>>,
    pub expected: Decision,
}

/// A pod, and when it entered the queue.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Queued {
    pub pod: Pod,
    pub timestamp: Timestamp,
}

/// A decision, point by point; what was not reached is absent.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub(super) struct Decision {
    pub pre_enqueue: Option<Verdict>,
    pub pre_filter: Option<PreFilter>,
    pub nominated_node_tried: Option<NominatedNodeTried>,
    pub filter: Vec<NodeVerdict>,
    pub feasible: Vec<String>,
    pub scores: Vec<NodeScores>,
    pub best: Vec<String>,
    pub fit_error: Option<String>,
    pub error: Option<String>,
    pub unschedulable_plugins: Vec<String>,
    pub post_filter: Option<PostFilter>,
    pub plugins: Option<Expanded>,
    pub order: Vec<Name>,
    pub gated: Vec<Gated>,
}

#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Verdict {
    pub code: String,
    pub plugin: String,
    pub reasons: Vec<String>,
}

#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub(super) struct PreFilter {
    pub code: String,
    pub plugin: String,
    pub reasons: Vec<String>,
    pub node_names: Vec<String>,
}

#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct NominatedNodeTried {
    pub node: String,
    pub feasible: bool,
}

#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub(super) struct NodeVerdict {
    pub node: String,
    pub code: String,
    pub plugin: String,
    pub reasons: Vec<String>,
    pub excluded_by_pre_filter: bool,
}

#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct NodeScores {
    pub node: String,
    /// A plugin that is missing gave 0.
    pub plugins: BTreeMap<String, i64>,
    pub total: i64,
}

#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub(super) struct PostFilter {
    pub code: String,
    pub plugin: String,
    pub reasons: Vec<String>,
    pub nominated_node: String,
    pub victims: Vec<Name>,
    #[serde(rename = "numPDBViolations")]
    pub num_pdb_violations: i64,
    pub candidates: Vec<Candidate>,
}

#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub(super) struct Candidate {
    pub node: String,
    pub code: String,
    pub plugin: String,
    pub reasons: Vec<String>,
    pub victims: Vec<Name>,
    #[serde(rename = "numPDBViolations")]
    pub num_pdb_violations: i64,
}

/// A pod's name. The fields keep it from being taken for the name of a list's element: the order
/// of pods matters.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields, into = "String")]
pub(super) struct Name {
    pub namespace: String,
    pub name: String,
}

impl From<Name> for String {
    fn from(name: Name) -> Self {
        format!("{}/{}", name.namespace, name.name)
    }
}

#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Gated {
    pub namespace: String,
    pub name: String,
    pub code: String,
    pub plugin: String,
    pub reasons: Vec<String>,
}

/// A profile in which `multiPoint` and the defaults have been worked out.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Expanded {
    pre_filter: Vec<String>,
    filter: Vec<String>,
    post_filter: Vec<String>,
    score: BTreeMap<String, i64>,
}

impl Expanded {
    pub(super) fn of(profile: &Profile) -> Self {
        let at = |point| profile.plugins_at(point).into_iter().map(str::to_owned).collect();
        Self {
            pre_filter: at(Point::PreFilter),
            filter: at(Point::Filter),
            post_filter: at(Point::PostFilter),
            score: profile.score_weights().map(|(name, it)| (name.to_owned(), it)).collect(),
        }
    }
}

impl Decision {
    /// Brings what may be in any order into one, and leaves out points of 0.
    pub(super) fn tidy(&mut self) {
        self.best.sort_unstable();
        self.gated.sort_by(|a, b| (&a.namespace, &a.name).cmp(&(&b.namespace, &b.name)));
        for node in &mut self.scores {
            node.plugins.retain(|_, points| *points != 0);
        }
        for node in &mut self.filter {
            sort_scalars(&node.plugin, &mut node.reasons);
        }
        for candidate in self.post_filter.iter_mut().flat_map(|it| &mut it.candidates) {
            sort_scalars(&candidate.plugin, &mut candidate.reasons);
        }
    }
}

/// Sorts `NodeResourcesFit`'s reasons about extended resources and huge pages, which upstream has in
/// random order, behind the others.
fn sort_scalars(plugin: &str, reasons: &mut [String]) {
    const FIRST: [&str; 4] = [
        "Too many pods",
        "Insufficient cpu",
        "Insufficient memory",
        "Insufficient ephemeral-storage",
    ];
    if plugin == "NodeResourcesFit" {
        let place = |it: &str| FIRST.iter().position(|first| it == *first);
        reasons.sort_by(|a, b| match (place(a), place(b)) {
            (Some(_), Some(_)) => std::cmp::Ordering::Equal,
            (Some(_), None) => std::cmp::Ordering::Less,
            (None, Some(_)) => std::cmp::Ordering::Greater,
            (None, None) => a.cmp(b),
        });
    }
}
