//! What one try of one pod came to.

use std::sync::Arc;

use loadmaster_framework::{NodeInfo, PodInfo, api::Text};

use crate::{
    profile::NodePluginScores,
    report::{Diagnosis, FitError},
};

/// What one try of one pod came to: for logs, metrics, recordings and `explain`.
#[derive(Clone, Debug)]
pub struct Attempt {
    /// The pod.
    pub pod: Arc<PodInfo>,
    /// The profile's scheduler name.
    pub profile: Text,
    /// How often the pod has been tried, this time included.
    pub attempts: u32,
    /// What came of it.
    pub outcome: AttemptOutcome,
}

/// What a try came to.
#[derive(Clone, Debug)]
pub enum AttemptOutcome {
    /// A node was chosen; the pod waits at Permit or is being bound.
    Assumed {
        /// The node.
        node: Text,
        /// How many nodes were looked at.
        evaluated_nodes: usize,
        /// How many of them fit.
        feasible_nodes: usize,
        /// Each feasible node's points; `None` where one fit alone.
        scores: Option<(Vec<Arc<NodeInfo>>, NodePluginScores)>,
        /// Why the other nodes that were looked at lost.
        diagnosis: Box<Diagnosis>,
    },
    /// It fits nowhere now.
    Unschedulable {
        /// The message that the user reads.
        message: String,
        /// Why each node lost; `None` where there are no nodes.
        fit_error: Option<Box<FitError>>,
        /// The node that is promised to the pod from now on, if there is one.
        nominated_node: Option<Text>,
        /// Pods that are being removed for it, most important first.
        victims: Vec<Arc<PodInfo>>,
    },
    /// A plugin or an extender broke; it is tried again after backoff.
    Error {
        /// The message that the user reads.
        message: String,
    },
    /// It is being deleted, or is assumed already: nothing was tried.
    Skipped,
}
