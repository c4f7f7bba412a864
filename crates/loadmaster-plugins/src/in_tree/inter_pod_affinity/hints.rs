//! Which changes may help a pod whose affinity, or that of its neighbours, could not be had.

use std::sync::Arc;

use loadmaster_framework::{
    ActionType, AffinityTerm, ClusterEventWithHint, EnqueueExtensions, EventResource, Hint,
    Listers, Object, PluginError, PodInfo, QueueingHint,
    api::{Node, Pod, PodAffinity},
};

use super::{
    InterPodAffinity,
    own_term::{OwnTerm, all_match},
};

impl EnqueueExtensions for InterPodAffinity {
    fn events_to_register(&self) -> Vec<ClusterEventWithHint> {
        let pod = ActionType::ADD | ActionType::UPDATE_POD_LABEL | ActionType::DELETE;
        let node = ActionType::ADD | ActionType::UPDATE_NODE_LABEL;
        vec![
            ClusterEventWithHint::hinted(EventResource::Pod, pod),
            ClusterEventWithHint::hinted(EventResource::Node, node),
        ]
    }

    fn queueing_hint(&self, hint: Hint<'_>) -> Result<QueueingHint, PluginError> {
        let helps = if hint.registered.resource == EventResource::Node {
            let node = |it: Option<&Object>| it.and_then(Object::as_node).cloned();
            node_change(node(hint.old).as_deref(), node(hint.new).as_deref(), hint.pod)?
        } else {
            let pod = |it: Option<&Object>| it.and_then(Object::as_pod).cloned();
            pod_change(pod(hint.old), pod(hint.new), hint.pod, hint.listers)?
        };
        Ok(if helps { QueueingHint::Queue } else { QueueingHint::Skip })
    }
}

/// Whether the pod is on a node, or about to be.
fn is_placed(pod: &Pod) -> bool {
    pod.node_name().is_some() || !pod.status.nominated_node_name.is_empty()
}

/// Namespaces are looked at by their labels, and each anti-affinity term alone, since each alone
/// keeps the pod away. Upstream 1.36 does neither here and leaves such pods to the sweep
/// (k/k#141953).
fn pod_change(
    old: Option<Arc<Pod>>,
    new: Option<Arc<Pod>>,
    waiting: &PodInfo,
    listers: &Listers,
) -> Result<bool, PluginError> {
    if let (Some(_), Some(new)) = (&old, &new)
        && new.uid() == waiting.uid()
    {
        // Its labels changed: another pod's anti-affinity may not be about it any more.
        return Ok(true);
    }
    if !old.iter().chain(&new).all(|it| is_placed(it)) {
        return Ok(false);
    }
    let wanted = OwnTerm::all(affinity_terms(waiting)?, listers);
    let unwanted = OwnTerm::all(anti_affinity_terms(waiting)?, listers);
    Ok(match (old, new) {
        (Some(old), Some(new)) => {
            let joins = !all_match(&wanted, &old) && all_match(&wanted, &new);
            joins || unwanted.iter().any(|it| it.matches(&old) && !it.matches(&new))
        }
        (None, Some(new)) => all_match(&wanted, &new),
        (Some(old), None) => {
            unwanted.iter().any(|it| it.matches(&old)) || repels(old, waiting, listers)?
        }
        (None, None) => false,
    })
}

/// Whether an anti-affinity term of `gone` is about the waiting pod.
fn repels(gone: Arc<Pod>, waiting: &PodInfo, listers: &Listers) -> Result<bool, PluginError> {
    let gone = PodInfo::new(gone);
    let labels = listers.namespace_labels(waiting.namespace());
    Ok(anti_affinity_terms(&gone)?.iter().any(|it| it.matches(waiting, &labels)))
}

fn node_change(
    old: Option<&Node>,
    new: Option<&Node>,
    waiting: &PodInfo,
) -> Result<bool, PluginError> {
    let Some(new) = new else { return Ok(false) };
    // A node that comes to a domain may do so to one with the wanted pods.
    let joins = |key: &str| {
        let now = new.label(key);
        now.is_some() && old.is_none_or(|it| it.label(key) != now)
    };
    if affinity_terms(waiting)?.iter().any(|it| joins(&it.topology_key)) {
        return Ok(true);
    }
    // A node without the topology of an anti-affinity term takes the pod in any case, a new one
    // may be of a domain without the unwanted pods.
    let parts =
        |key: &str| old.is_none_or(|it| it.label(key).is_some() && it.label(key) != new.label(key));
    Ok(anti_affinity_terms(waiting)?.iter().any(|it| parts(&it.topology_key)))
}

/// The required affinity terms of `pod`, or what is wrong with them.
fn affinity_terms(pod: &PodInfo) -> Result<&[AffinityTerm], PluginError> {
    let affinity = pod.spec.affinity.as_ref();
    let written = affinity.and_then(|it| it.pod_affinity.as_ref());
    understood(pod, written, pod.required_affinity_terms())
}

/// The required anti-affinity terms of `pod`, or what is wrong with them.
fn anti_affinity_terms(pod: &PodInfo) -> Result<&[AffinityTerm], PluginError> {
    let affinity = pod.spec.affinity.as_ref();
    let written = affinity.and_then(|it| it.pod_anti_affinity.as_ref());
    understood(pod, written, pod.required_anti_affinity_terms())
}

/// `terms`, if all of the `written` ones could be understood.
fn understood<'a>(
    pod: &PodInfo,
    written: Option<&PodAffinity>,
    terms: &'a [AffinityTerm],
) -> Result<&'a [AffinityTerm], PluginError> {
    let count = written.map_or(0, |it| it.required.len());
    if terms.len() == count {
        return Ok(terms);
    }
    // Upstream reads the terms anew here, and does not say of which kind the wrong one is.
    let error = pod.affinity_error().unwrap_or_default();
    Err(PluginError::Other(error.split_once("Terms: ").map_or(error, |(_, it)| it).to_owned()))
}
