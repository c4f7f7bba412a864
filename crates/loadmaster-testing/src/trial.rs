//! One try of one pod by one profile, with everything that was said on the way.

use std::{sync::Arc, time::Duration};

use loadmaster_core::{
    cycle::{Choice, NO_NODES_AVAILABLE, NoChoice, Search, Sequential},
    profile::{NodePluginScores, PreFilterVerdict, Profile},
    report::Diagnosis,
};
use loadmaster_framework::{
    Cycle, CycleState, Enqueue, NodeInfo, Outcome, PodInfo, PostFilterResult, Snapshot,
    api::{Pod, Text},
};
use rand_chacha::{ChaCha8Rng, rand_core::SeedableRng};

pub use crate::desk::PreemptionTried;
use crate::{cluster::Cluster, desk::Desk};

/// What the node that is promised to a pod came to when it was looked at first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NominatedTried {
    /// The node.
    pub node: Text,
    /// Whether the pod fits there: it is taken then without a look at the others.
    pub feasible: bool,
}

/// The points that the score plugins gave one node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodePoints {
    /// The node.
    pub node: Text,
    /// Normalised and weighted points by plugin, in the profile's order; a plugin that was skipped
    /// is missing.
    pub plugins: Vec<(&'static str, i64)>,
    /// Their sum.
    pub total: i64,
}

/// One node's place in a search.
#[derive(Clone, Debug)]
pub struct NodeVerdict {
    /// The node.
    pub node: Text,
    /// Whether the pod fits there, or why not.
    pub outcome: Outcome,
    /// The filters were not asked since PreFilter had narrowed the search to other nodes.
    pub excluded_by_pre_filter: bool,
}

/// Everything that was said in one try of one pod, over all nodes.
#[derive(Clone, Debug)]
pub struct Trial {
    /// Whether the pod may be tried at all; where not, nothing else was done.
    pub pre_enqueue: Outcome,
    /// What PreFilter said; `None` where there are no nodes or the pod was held back.
    pub pre_filter: Option<PreFilterVerdict>,
    /// What the node promised to the pod came to, where there is such a node.
    pub nominated_tried: Option<NominatedTried>,
    /// Each node's verdict, in the order in which the nodes came; empty where PreFilter ended the search.
    pub verdicts: Vec<NodeVerdict>,
    /// Points of the feasible nodes, in that order, also where there is only one.
    pub points: Vec<NodePoints>,
    /// The node that was taken.
    pub node: Option<Text>,
    /// What PostFilter came to, where no node fits and the profile has it.
    pub post_filter: Option<PostFilterResult>,
    /// What became of the nodes on which preemption was tried, by name.
    pub preemption: Vec<PreemptionTried>,
    /// Why there is no node, as far as plugins and nodes are concerned, or why others lost.
    pub diagnosis: Diagnosis,
    /// What the user reads where no node fits.
    pub fit_error: Option<String>,
    /// What ended the try where a plugin broke or there are no nodes.
    pub error: Option<String>,
}

/// Tries `pod` with `profile` over all nodes of `cluster`, up to the choice of a node, and to
/// PostFilter where there is none. Nothing is changed.
pub fn run(profile: &Profile, cluster: &Cluster, pod: &PodInfo) -> Trial {
    let mut trial = Trial {
        pre_enqueue: profile
            .run_pre_enqueue(Enqueue { pod, now: Duration::ZERO, preempting: false }, None),
        pre_filter: None,
        nominated_tried: None,
        verdicts: Vec::new(),
        points: Vec::new(),
        node: None,
        post_filter: None,
        preemption: Vec::new(),
        diagnosis: Diagnosis::default(),
        fit_error: None,
        error: None,
    };
    if trial.pre_enqueue.is_ok() {
        let snapshot = cluster.snapshot();
        Run { profile, cluster, snapshot: &snapshot }.search(pod, &mut trial);
    }
    trial
}

struct Run<'a> {
    profile: &'a Profile,
    cluster: &'a Cluster,
    snapshot: &'a Snapshot,
}

impl Run<'_> {
    fn cycle<'c>(&'c self, pod: &'c PodInfo) -> Cycle<'c> {
        let (snapshot, profile) = (self.snapshot, &**self.profile.scheduler_name());
        Cycle { pod, snapshot, profile, now: Duration::ZERO }
    }

    fn choose(&self, pod: &PodInfo, state: &mut CycleState) -> Result<Choice, NoChoice> {
        let search = Search {
            profile: self.profile,
            nominated: self.cluster,
            extenders: &[],
            percentage_of_nodes_to_score: 100,
            next_start_node_index: &mut 0,
        };
        search.run(self.cycle(pod), state, &mut Sequential, &mut ChaCha8Rng::seed_from_u64(0))
    }

    fn search(&self, pod: &PodInfo, trial: &mut Trial) {
        let mut state = CycleState::default();
        let mut choice = self.choose(pod, &mut state);
        let promised = pod.status.nominated_node_name.clone();
        if self.snapshot.node(&promised).is_some() {
            let feasible = matches!(
                &choice,
                Ok(it) if *it.node.name() == promised && it.evaluated_nodes == 1
            );
            trial.node = feasible.then(|| promised.clone());
            trial.nominated_tried = Some(NominatedTried { node: promised, feasible });
            if feasible {
                // Once more without the promise, to see what the others would have come to.
                let mut pod = Pod::clone(pod.pod());
                pod.status.nominated_node_name = Text::default();
                state = CycleState::default();
                choice = self.choose(&PodInfo::new(Arc::new(pod)), &mut state);
            }
        }
        if !matches!(choice, Err(NoChoice::NoNodes)) {
            let mut own_state = CycleState::default();
            trial.pre_filter = Some(self.profile.run_pre_filter(self.cycle(pod), &mut own_state));
        }
        match choice {
            Ok(choice) => {
                trial.node.get_or_insert_with(|| choice.node.name().clone());
                trial.diagnosis = *choice.diagnosis.clone();
                self.note_verdicts(trial);
                self.note_points(pod, &mut state, &choice, trial);
            }
            Err(NoChoice::NoNodes) => trial.error = Some(NO_NODES_AVAILABLE.to_owned()),
            Err(NoChoice::Broken(status)) => trial.error = Some(status.message()),
            Err(NoChoice::Unfit(mut fit_error)) => {
                trial.diagnosis = fit_error.diagnosis.clone();
                self.note_verdicts(trial);
                if self.profile.has_post_filter() {
                    let mut desk = Desk::new(self.profile, self.cluster);
                    let why = &fit_error.diagnosis.node_to_status;
                    let (cx, profile) = (self.cycle(pod), self.profile);
                    let result = profile.run_post_filter(cx, &mut state, why, &mut desk);
                    if let Err(status) = &result.status {
                        fit_error.diagnosis.post_filter_message = status.message();
                    }
                    trial.post_filter = Some(result);
                    trial.preemption = desk.into_tried();
                }
                trial.fit_error = Some(fit_error.to_string());
            }
        }
    }

    fn note_verdicts(&self, trial: &mut Trial) {
        let Some(Ok(narrowed)) = trial.pre_filter.as_ref().map(|it| it.outcome.as_ref()) else {
            return;
        };
        let statuses = &trial.diagnosis.node_to_status;
        let verdict = |name: &Text| {
            let excluded = narrowed.as_ref().is_some_and(|it| !it.contains(name));
            let at = self.snapshot.position(name);
            // What is said of all the absent is about nodes that PreFilter had left out.
            let own = || statuses.explicit().find(|(it, _)| Some(*it) == at).map(|(_, it)| it);
            let status = if excluded { statuses.absent() } else { own() };
            NodeVerdict {
                node: name.clone(),
                outcome: status.cloned().map_or(Ok(()), Err),
                excluded_by_pre_filter: excluded,
            }
        };
        trial.verdicts = self.cluster.node_names().iter().map(verdict).collect();
    }

    fn note_points(
        &self,
        pod: &PodInfo,
        state: &mut CycleState,
        choice: &Choice,
        trial: &mut Trial,
    ) {
        let scored = match &choice.scores {
            Some(scored) => Ok(scored.clone()),
            None => self.score_alone(pod, state, &choice.node),
        };
        match scored {
            Ok((nodes, scores)) => {
                trial.points = nodes
                    .iter()
                    .enumerate()
                    .map(|(at, node)| NodePoints {
                        node: node.name().clone(),
                        plugins: scores.of_node(at).collect(),
                        total: scores.totals()[at],
                    })
                    .collect();
                let order = self.cluster.node_names();
                trial.points.sort_by_key(|it| order.iter().position(|name| *name == it.node));
            }
            Err(status) => trial.error = Some(status.message()),
        }
    }

    /// A node that alone is feasible is not scored by a scheduler; here it is.
    fn score_alone(
        &self,
        pod: &PodInfo,
        state: &mut CycleState,
        node: &Arc<NodeInfo>,
    ) -> Outcome<(Vec<Arc<NodeInfo>>, NodePluginScores)> {
        let nodes = vec![Arc::clone(node)];
        if !self.profile.has_score() {
            return Ok((nodes, NodePluginScores::even(1)));
        }
        let skip = self.profile.run_pre_score(self.cycle(pod), state, &nodes)?;
        let scores = self.profile.run_score(self.cycle(pod), state, &nodes, skip)?;
        Ok((nodes, scores))
    }
}
