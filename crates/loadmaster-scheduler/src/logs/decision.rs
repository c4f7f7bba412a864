//! Decisions as log lines. What is not asked for costs nothing.

use std::{collections::BTreeMap, sync::Arc};

use loadmaster_core::{
    profile::NodePluginScores,
    scheduler::{Attempt, AttemptOutcome, EventRecord},
};
use loadmaster_framework::{NodeInfo, NodeToStatus, Snapshot, api::ObjectKey};
use tracing::Level;

/// One line on what a try came to, and from verbosity 4 on what plugins had to say. `snapshot` is
/// the cluster as the try saw it.
pub(crate) fn decided(attempt: &Attempt, snapshot: &Snapshot) {
    let Attempt { pod, profile, attempts, outcome } = attempt;
    let pod = pod.key();
    match outcome {
        AttemptOutcome::Assumed { node, evaluated_nodes, feasible_nodes, .. } => {
            tracing::info!(
                %pod, %node, %profile, attempts, evaluated_nodes, feasible_nodes, "node chosen"
            );
        }
        AttemptOutcome::Unschedulable { message, nominated_node, victims, .. } => {
            let promised = nominated_node.as_deref().unwrap_or_default();
            let victims: Vec<_> = victims.iter().map(|it| it.key().to_string()).collect();
            if promised.is_empty() {
                tracing::info!(%pod, %profile, attempts, reason = message, "no node fits");
            } else {
                let victims = victims.join(",");
                tracing::info!(
                    %pod, %profile, attempts, node = promised, victims, reason = message,
                    "no node fits; making room"
                );
            }
        }
        AttemptOutcome::Error { message } => {
            tracing::warn!(%pod, %profile, attempts, error = message, "trying failed");
        }
        AttemptOutcome::Skipped => tracing::debug!(%pod, %profile, "nothing to try"),
    }
    if tracing::enabled!(Level::DEBUG) {
        plugins(&pod, outcome, snapshot);
    }
}

/// The pod is bound.
pub(crate) fn bound(record: &EventRecord) {
    tracing::debug!(pod = %record.regarding.key(), "bound");
}

/// The node was chosen and the pod did not get there.
pub(crate) fn binding_failed(record: &EventRecord) {
    tracing::warn!(pod = %record.regarding.key(), reason = record.note, "binding failed");
}

fn plugins(pod: &ObjectKey, outcome: &AttemptOutcome, snapshot: &Snapshot) {
    match outcome {
        AttemptOutcome::Assumed { node, scores, diagnosis, .. } => {
            refusals(pod, &diagnosis.node_to_status, snapshot);
            if let Some((nodes, scores)) = scores {
                points(pod, node, nodes, scores);
            }
        }
        AttemptOutcome::Unschedulable { fit_error: Some(error), .. } => {
            refusals(pod, &error.diagnosis.node_to_status, snapshot);
        }
        _ => {}
    }
}

/// What each plugin gave to the chosen node, and at the highest verbosity to each other one.
fn points(pod: &ObjectKey, chosen: &str, nodes: &[Arc<NodeInfo>], scores: &NodePluginScores) {
    for (at, info) in nodes.iter().enumerate() {
        let node = &**info.name();
        if node == chosen {
            for (plugin, points) in scores.of_node(at) {
                tracing::debug!(%pod, %node, plugin, points, "score");
            }
        }
        if tracing::enabled!(Level::TRACE) {
            let each: Vec<_> =
                scores.of_node(at).map(|(name, it)| format!("{name}={it}")).collect();
            let total = scores.totals()[at];
            tracing::trace!(%pod, %node, total, plugins = each.join(","), "node scored");
        }
    }
}

fn refusals(pod: &ObjectKey, statuses: &NodeToStatus, snapshot: &Snapshot) {
    let mut counts: BTreeMap<(&str, String), usize> = BTreeMap::new();
    for (at, status) in statuses.explicit() {
        *counts.entry((status.plugin(), status.message())).or_default() += 1;
        let (plugin, code, reason) = (status.plugin(), status.code().as_str(), status.message());
        let node = snapshot.nodes().get(at).map(|it| &**it.name()).unwrap_or_default();
        tracing::trace!(%pod, %node, plugin, code, reason, "node refused");
    }
    for ((plugin, reason), nodes) in counts {
        tracing::debug!(%pod, plugin, nodes, reason, "refused");
    }
}

#[cfg(test)]
mod tests;
