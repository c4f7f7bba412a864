//! Why each node lost: data first, and from it upstream's message.

use std::{collections::BTreeMap, collections::BTreeSet, fmt};

use loadmaster_framework::{Code, NodeToStatus, Status};

/// Why a pod found no node.
#[derive(Clone, Debug, Default)]
pub struct Diagnosis {
    /// Each node's refusal.
    pub node_to_status: NodeToStatus,
    /// Plugins that rejected the pod or a node; a change that helps with any of them wakes the pod.
    pub unschedulable_plugins: BTreeSet<&'static str>,
    /// Plugins that answered Pending.
    pub pending_plugins: BTreeSet<&'static str>,
    /// What PreFilter said, where it ended the search.
    pub pre_filter_message: String,
    /// What PostFilter said.
    pub post_filter_message: String,
}

impl Diagnosis {
    /// Notes which plugin rejected; statuses of the framework itself name none.
    pub fn add_plugin_status(&mut self, status: &Status) {
        if status.plugin().is_empty() {
            return;
        }
        if status.is_rejected() {
            self.unschedulable_plugins.insert(status.plugin());
        }
        if status.code() == Code::Pending {
            self.pending_plugins.insert(status.plugin());
        }
    }
}

/// A pod that fits nowhere; displayed, it is the message of the `FailedScheduling` event and of the
/// `PodScheduled` condition, word for word upstream's.
#[derive(Clone, Debug, Default)]
pub struct FitError {
    /// How many nodes there were.
    pub num_all_nodes: usize,
    /// Why not on each.
    pub diagnosis: Diagnosis,
}

impl fmt::Display for FitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "0/{} nodes are available:", self.num_all_nodes)?;
        let diagnosis = &self.diagnosis;
        if diagnosis.pre_filter_message.is_empty() {
            let lines = histogram(&diagnosis.node_to_status, self.num_all_nodes);
            if !lines.is_empty() {
                write!(f, " {}.", lines.join(", "))?;
            }
        } else {
            write!(f, " {}.", diagnosis.pre_filter_message)?;
        }
        if !diagnosis.post_filter_message.is_empty() {
            write!(f, " {}", diagnosis.post_filter_message)?;
        }
        Ok(())
    }
}

/// `count reason`, one for each reason, sorted as text as upstream sorts them (so `10 x` stands
/// before `2 y`).
fn histogram(statuses: &NodeToStatus, num_all_nodes: usize) -> Vec<String> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    let mut explicit = 0;
    for (_, status) in statuses.explicit() {
        explicit += 1;
        for reason in status.reasons() {
            *counts.entry(reason).or_default() += 1;
        }
    }
    if let (Some(absent), true) = (statuses.absent(), explicit < num_all_nodes) {
        for reason in absent.reasons() {
            *counts.entry(reason).or_default() += num_all_nodes - explicit;
        }
    }
    let mut lines: Vec<_> =
        counts.into_iter().map(|(reason, count)| format!("{count} {reason}")).collect();
    lines.sort_unstable();
    lines
}
