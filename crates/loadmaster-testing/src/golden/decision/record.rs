//! Writes a trial down the way the cases are written.

use std::sync::Arc;

use loadmaster_framework::{Nominating, Outcome, PodInfo, PostFilterResult};

use super::case::{
    Candidate, Decision, Name, NodeScores, NodeVerdict, NominatedNodeTried, PostFilter, PreFilter,
    Verdict,
};
use crate::trial::{NodePoints, PreemptionTried, Trial};

pub(super) fn verdict<T>(outcome: &Outcome<T>) -> Verdict {
    match outcome {
        Ok(_) => Verdict { code: "Success".to_owned(), ..Verdict::default() },
        Err(status) => Verdict {
            code: status.code().to_string(),
            plugin: status.plugin().to_owned(),
            reasons: status.reasons().iter().map(ToString::to_string).collect(),
        },
    }
}

pub(super) fn name(pod: &Arc<PodInfo>) -> Name {
    Name { namespace: pod.namespace().to_string(), name: pod.name().to_string() }
}

pub(super) fn decision(trial: &Trial) -> Decision {
    let rejected = &trial.diagnosis.unschedulable_plugins;
    let fits = trial.verdicts.iter().filter(|it| it.outcome.is_ok());
    Decision {
        pre_enqueue: Some(verdict(&trial.pre_enqueue)),
        pre_filter: trial.pre_filter.as_ref().map(|it| {
            let Verdict { code, plugin, reasons } = verdict(&it.outcome);
            let names = it.outcome.as_ref().ok().and_then(Option::as_ref);
            let node_names = names.into_iter().flatten().map(ToString::to_string).collect();
            PreFilter { code, plugin, reasons, node_names }
        }),
        nominated_node_tried: trial
            .nominated_tried
            .as_ref()
            .map(|it| NominatedNodeTried { node: it.node.to_string(), feasible: it.feasible }),
        feasible: fits.map(|it| it.node.to_string()).collect(),
        filter: trial.verdicts.iter().map(node_verdict).collect(),
        scores: trial.points.iter().map(node_scores).collect(),
        best: best(&trial.points),
        fit_error: trial.fit_error.clone(),
        error: trial.error.clone(),
        unschedulable_plugins: rejected.iter().map(|it| (*it).to_owned()).collect(),
        post_filter: trial.post_filter.as_ref().map(|it| post_filter(it, trial)),
        ..Decision::default()
    }
}

fn node_verdict(node: &crate::trial::NodeVerdict) -> NodeVerdict {
    let Verdict { code, plugin, reasons } = verdict(&node.outcome);
    NodeVerdict {
        node: node.node.to_string(),
        code,
        plugin,
        reasons,
        excluded_by_pre_filter: node.excluded_by_pre_filter,
    }
}

fn node_scores(points: &NodePoints) -> NodeScores {
    NodeScores {
        node: points.node.to_string(),
        plugins: points.plugins.iter().map(|(name, it)| ((*name).to_owned(), *it)).collect(),
        total: points.total,
    }
}

fn best(points: &[NodePoints]) -> Vec<String> {
    let most = points.iter().map(|it| it.total).max();
    let best = points.iter().filter(|it| Some(it.total) == most);
    best.map(|it| it.node.to_string()).collect()
}

fn post_filter(result: &PostFilterResult, trial: &Trial) -> PostFilter {
    let Verdict { code, plugin, reasons } = verdict(&result.status);
    let nominated_node = match &result.nominating {
        Nominating::Node(node) => node.to_string(),
        Nominating::Keep | Nominating::Clear => String::new(),
    };
    let candidates: Vec<_> = trial.preemption.iter().map(candidate).collect();
    let chosen = candidates.iter().find(|it| it.node == nominated_node);
    PostFilter {
        code,
        plugin,
        reasons,
        victims: result.victims.iter().map(name).collect(),
        num_pdb_violations: chosen.map_or(0, |it| it.num_pdb_violations),
        nominated_node,
        candidates,
    }
}

fn candidate(tried: &PreemptionTried) -> Candidate {
    let Verdict { code, plugin, reasons } = verdict(&tried.outcome);
    let found = tried.outcome.as_ref().ok();
    Candidate {
        node: tried.node.to_string(),
        code,
        plugin,
        reasons,
        victims: found.map(|it| it.victims.iter().map(name).collect()).unwrap_or_default(),
        num_pdb_violations: found.map_or(0, |it| it.num_pdb_violations),
    }
}
