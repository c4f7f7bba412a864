#![doc = include_str!("node_affinity.md")]

use std::{collections::BTreeSet, sync::Arc};

use loadmaster_framework::{
    ActionType, Candidates, ClusterEventWithHint, Cycle, CycleState, EnqueueExtensions,
    EventResource, FieldError, Filter, Gates, Hint, Hooks, Interest, NodeInfo, NodeScore, Outcome,
    Plugin, PluginError, PreFilter, PreScore, QueueingHint, Score, Status,
    api::{
        CompiledNodeSelector, CompiledPreferredTerms, Node, NodeAffinity as PodNodeAffinity,
        NodeSelectorTerm, Pod, RequiredNodeAffinity, Text,
    },
};

use super::{args::NodeAffinityArgs, hint::changed_node};

mod added;

#[cfg(test)]
#[expect(clippy::needless_pass_by_value, reason = "literals of JSON read best passed by value")]
mod tests;

/// See the [module](self).
#[derive(Debug)]
pub struct NodeAffinity {
    added_required: Option<CompiledNodeSelector>,
    added_preferred: Option<CompiledPreferredTerms>,
}

impl Plugin for NodeAffinity {
    const NAME: &'static str = "NodeAffinity";
    const DOC: &'static str = include_str!("node_affinity.md");
    type Args = NodeAffinityArgs;

    fn validate(args: &NodeAffinityArgs, path: &str) -> Vec<FieldError> {
        args.validate(path)
    }

    fn build(args: NodeAffinityArgs, _: &Gates) -> Result<Hooks, FieldError> {
        let (added_required, added_preferred) = added::compile(&args)?;
        let plugin = Self { added_required, added_preferred };
        Ok(Hooks::of(plugin).pre_filter().filter().pre_score().score().enqueue_extensions().into())
    }
}

/// The pod's `nodeSelector` and required affinity, compiled.
#[derive(Clone, Debug)]
struct Required(RequiredNodeAffinity);

impl PreFilter for NodeAffinity {
    fn pre_filter(&self, cx: Cycle<'_>, state: &mut CycleState) -> Outcome<Candidates> {
        let required = node_affinity(cx.pod).and_then(|it| it.required.as_ref());
        if required.is_none()
            && self.added_required.is_none()
            && cx.pod.spec.node_selector.is_empty()
        {
            return Ok(Candidates::Skip);
        }
        state.put(Required(required_affinity(cx.pod)));
        match named_nodes(required.map_or(&[], |it| &it.node_selector_terms)) {
            None => Ok(Candidates::All),
            Some(names) if names.is_empty() => Err(Status::unresolvable(CONFLICT)),
            Some(names) => Ok(Candidates::Only(names)),
        }
    }
}

impl Filter for NodeAffinity {
    fn filter(&self, cx: Cycle<'_>, state: &CycleState, node: &NodeInfo) -> Outcome {
        if !self.matches_added(node.node()) {
            return Err(Status::unresolvable(NOT_ENFORCED));
        }
        let matches = match state.try_get() {
            Some(Required(it)) => it.matches(&node.node().metadata.labels, node.name()),
            None => required_affinity(cx.pod).matches(&node.node().metadata.labels, node.name()),
        };
        // A term that cannot be understood matches nothing; upstream ignores the fault here too.
        if matches == Ok(true) { Ok(()) } else { Err(Status::unresolvable(NO_MATCH)) }
    }
}

/// The pod's preferred terms, compiled.
#[derive(Clone, Debug)]
struct Preferred(CompiledPreferredTerms);

impl PreScore for NodeAffinity {
    fn pre_score(
        &self,
        cx: Cycle<'_>,
        state: &mut CycleState,
        _: &[Arc<NodeInfo>],
    ) -> Outcome<Interest> {
        let preferred = preferred_terms(cx.pod)?;
        if preferred.is_none() && self.added_preferred.is_none() {
            return Ok(Interest::Skip);
        }
        state.put(Preferred(preferred.unwrap_or_default()));
        Ok(Interest::Score)
    }
}

impl Score for NodeAffinity {
    fn score(&self, cx: Cycle<'_>, state: &CycleState, node: &NodeInfo) -> Outcome<i64> {
        let (labels, name) = (&node.node().metadata.labels, node.name());
        let own = match state.try_get() {
            Some(Preferred(terms)) => terms.score(labels, name),
            None => preferred_terms(cx.pod)?.map_or(0, |it| it.score(labels, name)),
        };
        let added = self.added_preferred.as_ref().map_or(0, |it| it.score(labels, name));
        Ok(own.saturating_add(added))
    }

    fn normalize(&self, _: Cycle<'_>, _: &CycleState, scores: &mut [NodeScore<'_>]) -> Outcome {
        NodeScore::normalize(scores, false);
        Ok(())
    }
}

impl EnqueueExtensions for NodeAffinity {
    fn events_to_register(&self) -> Vec<ClusterEventWithHint> {
        let node = ActionType::ADD | ActionType::UPDATE_NODE_LABEL;
        vec![ClusterEventWithHint::hinted(EventResource::Node, node)]
    }

    fn queueing_hint(&self, hint: Hint<'_>) -> Result<QueueingHint, PluginError> {
        let (old, new) = changed_node(&hint)?;
        if !self.matches_added(new) {
            return Ok(QueueingHint::Skip);
        }
        let required = required_affinity(hint.pod);
        let matches = |node: &Node| {
            let fault = |error: loadmaster_framework::api::SelectorError| {
                PluginError::Other(error.to_string())
            };
            required.matches(&node.metadata.labels, node.name()).map_err(fault)
        };
        let helps = matches(new)? && !old.map_or(Ok(false), |it| matches(it))?;
        Ok(if helps { QueueingHint::Queue } else { QueueingHint::Skip })
    }
}

impl NodeAffinity {
    /// Whether the affinity that the profile adds lets the node through.
    fn matches_added(&self, node: &Node) -> bool {
        let added = self.added_required.as_ref();
        added.is_none_or(|it| it.matches(&node.metadata.labels, node.name()) == Ok(true))
    }
}

fn node_affinity(pod: &Pod) -> Option<&PodNodeAffinity> {
    pod.spec.affinity.as_ref()?.node_affinity.as_ref()
}

fn required_affinity(pod: &Pod) -> RequiredNodeAffinity {
    let required = node_affinity(pod).and_then(|it| it.required.as_ref());
    RequiredNodeAffinity::new(&pod.spec.node_selector, required)
}

/// The pod's preferred terms; none where it has none.
fn preferred_terms(pod: &Pod) -> Outcome<Option<CompiledPreferredTerms>> {
    match node_affinity(pod) {
        Some(affinity) if !affinity.preferred.is_empty() => {
            CompiledPreferredTerms::new(&affinity.preferred, "").map(Some).map_err(Status::error)
        }
        _ => Ok(None),
    }
}

/// The nodes to which `terms` narrow the choice by name, if every one of them does. Terms are
/// alternatives; the requirements of one term must all hold.
fn named_nodes(terms: &[NodeSelectorTerm]) -> Option<BTreeSet<Text>> {
    let by_name = |term: &NodeSelectorTerm| {
        let fields = term.match_fields.iter();
        fields
            .filter(|it| &*it.key == "metadata.name" && &*it.operator == "In")
            .map(|it| it.values.iter().cloned().collect::<BTreeSet<Text>>())
            .reduce(|names, more| names.intersection(&more).cloned().collect())
    };
    terms.iter().map(by_name).reduce(|all, names| {
        let mut all = all?;
        all.extend(names?);
        Some(all)
    })?
}

const NO_MATCH: &str = "node(s) didn't match Pod's node affinity/selector";
const NOT_ENFORCED: &str = "node(s) didn't match scheduler-enforced node affinity";
const CONFLICT: &str = "pod affinity terms conflict";
