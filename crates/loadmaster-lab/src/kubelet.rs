//! Hollow nodes: everything that a cluster sees of a kubelet, without any container.
//!
//! Every node of the lab is hollow, also one that a learner creates by hand: it reports Ready, keeps
//! its lease fresh, makes the pods bound to it Running and Ready at once, and ends them when they
//! are deleted; but for those that a [`Runtime`](crate::runtime::Runtime) runs for real. Two things can be asked of it:
//! - the annotation [`STOPPED`] on a node silences its kubelet: the node controller finds out after
//!   fifty seconds, as with a machine that lost its power;
//! - a pod's `lifecycle.preStop.sleep` holds its end back by that many seconds, within its grace
//!   period, as it would on a real node.

mod admission;
mod node;
mod pod;
mod status;

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use crate::api::{Api, DeleteOptions};
use crate::controllers::{Controller, Key};
use crate::resources::Collection;
use crate::status::Status;
use crate::store::{Object, is_being_deleted, text};

pub(crate) use node::architecture;
pub use node::{NodeTemplate, node};
pub use pod::HollowPods;
pub(crate) use pod::host_ip;

/// The annotation that silences a node's kubelet when its value is `stopped`.
pub const STOPPED: &str = "lab.loadmaster/kubelet";

/// How often a kubelet renews its lease.
const RENEW_EVERY: SignedDuration = SignedDuration::from_secs(10);

/// Keeps every node of the cluster Ready and its lease fresh.
#[derive(Clone, Debug, Default)]
pub struct HollowNodes {
    template: NodeTemplate,
    addresses: node::AddressBook,
}

impl HollowNodes {
    /// Kubelets that give nodes without a capacity that of `template`.
    pub fn new(template: NodeTemplate) -> Self {
        Self { template, addresses: node::AddressBook::default() }
    }
}

impl Controller for HollowNodes {
    fn watches(&self) -> Vec<Collection> {
        vec![Collection::NODES]
    }

    fn keys(&self, _: &Api, _: Collection, object: &Value) -> Vec<Key> {
        vec![Key::of(object)]
    }

    fn reconcile(
        &mut self,
        api: &Api,
        key: &Key,
        now: Timestamp,
    ) -> Result<Option<Timestamp>, Status> {
        let Some(node) = api.store().get(Collection::NODES, "", &key.name) else {
            return Ok(None);
        };
        if is_stopped(&node) {
            return Ok(None);
        }
        let addresses = self.addresses.next_for(&node);
        let edited = api.store().edit(Collection::NODES, "", &key.name, |node| {
            self.template.complete(node, addresses.as_ref());
            status::report_ready(node, now);
        });
        if edited.is_err() {
            return Ok(None);
        }
        let next = node::renew_lease(api, &node, now, RENEW_EVERY)?;
        Ok(Some(next))
    }
}

fn is_stopped(node: &Value) -> bool {
    node["metadata"]["annotations"][STOPPED] == "stopped"
}

/// The node that a pod is bound to, if its kubelet is alive.
fn live_node(api: &Api, pod: &Value) -> Option<Object> {
    let name = pod["spec"]["nodeName"].as_str()?;
    api.store().get(Collection::NODES, "", name).filter(|it| !is_stopped(it))
}

/// Ends a pod for good.
pub(crate) fn finish(api: &Api, pod: &Object) -> Result<(), Status> {
    let options = DeleteOptions::now(text(pod, "uid"));
    let (namespace, name) = (text(pod, "namespace"), text(pod, "name"));
    match api.delete(Collection::PODS.resource(), namespace, name, &options) {
        Err(status) if status.code != 404 && status.code != 409 => Err(status),
        _ => Ok(()),
    }
}

/// When a pod that is being deleted has come to its end, if it is.
fn end_of(pod: &Value) -> Option<Timestamp> {
    if !is_being_deleted(pod) {
        return None;
    }
    let deadline: Timestamp = text(pod, "deletionTimestamp").parse().ok()?;
    let metadata = &pod["metadata"];
    let grace = metadata["deletionGracePeriodSeconds"].as_i64().unwrap_or_default();
    let started = deadline - SignedDuration::from_secs(grace);
    Some((started + SignedDuration::from_secs(pod::stop_seconds(pod))).min(deadline))
}

#[cfg(test)]
mod tests;
