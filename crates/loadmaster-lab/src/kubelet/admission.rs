//! A kubelet's own check before it starts a pod: two schedulers, or a hand that binds, may have
//! promised the same room twice.
//!
//! Source: `pkg/kubelet/lifecycle/predicate.go` 1.36.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::api::Api;
use crate::controllers::Key;
use crate::defaults::{Amounts, add, amounts, pod_requests};
use crate::resources::Collection;
use crate::store::{Object, text};

/// Billionths in one.
const ONE: i128 = 1_000_000_000;
/// Billionths in a thousandth.
const MILLI: i128 = 1_000_000;

/// Why a pod was turned away.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Rejection {
    /// `OutOfcpu`, `OutOfpods`, …
    pub(super) reason: String,
    /// Upstream's words.
    pub(super) message: String,
}

/// What the pods that were started need, by node.
///
/// Pods that are gone stay counted until room seems to be missing: then the store is asked.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    nodes: BTreeMap<String, BTreeMap<Key, Amounts>>,
}

impl Ledger {
    /// Takes room on a node for a pod.
    ///
    /// # Errors
    /// [`Rejection`] when there is none.
    pub(super) fn admit(
        &mut self,
        api: &Api,
        pod: &Object,
        node: &Object,
    ) -> Result<(), Rejection> {
        let key = Key::of(pod);
        let requests = pod_requests(pod);
        let name = text(node, "name");
        let entries = self.nodes.entry(name.to_owned()).or_default();
        entries.remove(&key);
        if shortage(entries, &requests, node).is_some() {
            *entries = started_on(api, name);
            entries.remove(&key);
            if let Some(rejection) = shortage(entries, &requests, node) {
                return Err(rejection);
            }
        }
        entries.insert(key, requests);
        Ok(())
    }
}

/// The needs of the pods that run on a node now.
fn started_on(api: &Api, node: &str) -> BTreeMap<Key, Amounts> {
    let (pods, _) = api.store().list(Collection::PODS, None);
    let running = |it: &&Object| {
        it["spec"]["nodeName"] == node && matches!(it["status"]["phase"].as_str(), Some("Running"))
    };
    pods.iter().filter(running).map(|it| (Key::of(it), pod_requests(it))).collect()
}

/// The first resource of which there is too little.
fn shortage(
    entries: &BTreeMap<Key, Amounts>,
    requests: &Amounts,
    node: &Value,
) -> Option<Rejection> {
    let allocatable = amounts(&node["status"]["allocatable"]);
    let mut used = Amounts::new();
    for other in entries.values() {
        add(&mut used, other);
    }
    let pods = i128::try_from(entries.len()).unwrap_or(i128::MAX);
    let pods_max = allocatable.get("pods").copied().unwrap_or_default() / ONE;
    if pods >= pods_max {
        return Some(rejection("pods", 1, pods, pods_max));
    }
    let built_in = ["cpu", "memory", "ephemeral-storage"];
    let names = built_in.into_iter().chain(
        // Resources that the node does not have are somebody else's to judge.
        requests
            .keys()
            .map(String::as_str)
            .filter(|it| !built_in.contains(it) && *it != "pods" && allocatable.contains_key(*it)),
    );
    for name in names {
        let requested = requests.get(name).copied().unwrap_or_default();
        let used = used.get(name).copied().unwrap_or_default();
        let capacity = allocatable.get(name).copied().unwrap_or_default();
        if requested > 0 && requested.saturating_add(used) > capacity {
            let unit = if name == "cpu" { MILLI } else { ONE };
            return Some(rejection(name, requested / unit, used / unit, capacity / unit));
        }
    }
    None
}

fn rejection(name: &str, requested: i128, used: i128, capacity: i128) -> Rejection {
    Rejection {
        reason: format!("OutOf{name}"),
        message: format!(
            "Node didn't have enough resource: {name}, requested: {requested}, used: {used}, \
             capacity: {capacity}"
        ),
    }
}
