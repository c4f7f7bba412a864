//! What a kubelet registers and keeps about its node.

use std::collections::BTreeSet;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use crate::api::Api;
use crate::resources::Collection;
use crate::status::Status;
use crate::store::{Object, text};
use crate::values::list;

/// Where node leases live.
const LEASES: &str = "kube-node-lease";

/// What a node of the lab offers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeTemplate {
    /// Processors, as a quantity.
    pub cpu: String,
    /// Memory, as a quantity.
    pub memory: String,
    /// How many pods.
    pub pods: u32,
}

impl Default for NodeTemplate {
    /// Four processors, 8 GiB and 110 pods.
    fn default() -> Self {
        Self { cpu: "4".to_owned(), memory: "8Gi".to_owned(), pods: 110 }
    }
}

/// The address and the pods' network of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Addresses {
    ip: String,
    pod_cidr: String,
}

/// A new node object with this name, its usual labels and an optional zone.
pub fn node(name: &str, zone: Option<&str>, template: &NodeTemplate) -> Value {
    let mut node = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}});
    template.complete(&mut node, None);
    if let Some(zone) = zone {
        node["metadata"]["labels"]["topology.kubernetes.io/zone"] = json!(zone);
    }
    node
}

impl NodeTemplate {
    /// Fills in what a kubelet reports about its machine and what is not there yet.
    pub(super) fn complete(&self, node: &mut Value, addresses: Option<&Addresses>) {
        let name = text(node, "name").to_owned();
        for (label, value) in [
            ("kubernetes.io/hostname", name.as_str()),
            ("kubernetes.io/os", "linux"),
            ("kubernetes.io/arch", architecture()),
        ] {
            fill(&mut node["metadata"]["labels"], label, json!(value));
        }
        if node["status"]["capacity"].as_object().is_none_or(serde_json::Map::is_empty) {
            node["status"]["capacity"] = json!({"cpu": self.cpu, "memory": self.memory,
                "pods": self.pods.to_string(), "ephemeral-storage": "100Gi"});
        }
        let capacity = node["status"]["capacity"].as_object().cloned().unwrap_or_default();
        for (resource, amount) in capacity {
            fill(&mut node["status"]["allocatable"], &resource, amount);
        }
        for (member, value) in [
            ("kubeletVersion", concat!("v1.36.2-lab.", env!("CARGO_PKG_VERSION"))),
            ("osImage", "Loadmaster lab"),
            ("kernelVersion", "0.0.0-hollow"),
            ("containerRuntimeVersion", "hollow://1.0"),
            ("operatingSystem", "linux"),
            ("architecture", architecture()),
        ] {
            let info = &mut node["status"]["nodeInfo"];
            if info[member].as_str().is_none_or(str::is_empty) {
                info[member] = json!(value);
            }
        }
        let Some(addresses) = addresses else { return };
        fill(&mut node["spec"], "podCIDR", json!(addresses.pod_cidr));
        let cidr = node["spec"]["podCIDR"].clone();
        fill(&mut node["spec"], "podCIDRs", json!([cidr]));
        if list(node, "/status/addresses").is_empty() {
            node["status"]["addresses"] = json!([
                {"type": "InternalIP", "address": addresses.ip},
                {"type": "Hostname", "address": name}]);
        }
    }
}

/// The architecture by the name that container images use.
pub(crate) fn architecture() -> &'static str {
    match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    }
}

fn fill(object: &mut Value, member: &str, value: Value) {
    if object[member].is_null() {
        object[member] = value;
    }
}

/// Gives out addresses and networks: 192.168.x.y and 10.z.w.0/24, in the order in which nodes come.
#[derive(Clone, Debug, Default)]
pub(super) struct AddressBook {
    given: u32,
    /// The networks of the nodes seen so far.
    used: BTreeSet<String>,
}

impl AddressBook {
    /// A free address and network for a node that has none.
    pub(super) fn next_for(&mut self, node: &Value) -> Option<Addresses> {
        if let Some(cidr) = node["spec"]["podCIDR"].as_str() {
            self.used.insert(cidr.to_owned());
            return None;
        }
        // With more nodes than networks they repeat, harmlessly.
        let mut addresses = Addresses::numbered(self.given % NETWORKS);
        for _ in 0..NETWORKS {
            self.given += 1;
            if self.used.insert(addresses.pod_cidr.clone()) {
                break;
            }
            addresses = Addresses::numbered(self.given % NETWORKS);
        }
        Some(addresses)
    }
}

/// How many pod networks there are.
const NETWORKS: u32 = 128 * 256;

impl Addresses {
    fn numbered(index: u32) -> Self {
        let pod_cidr = format!("10.{}.{}.0/24", 128 + index / 256, index % 256);
        let number = index + 2;
        Self { ip: format!("192.168.{}.{}", (number / 256) % 256, number % 256), pod_cidr }
    }
}

/// Renews the node's lease if it is time; returns when to do so next.
pub(super) fn renew_lease(
    api: &Api,
    node: &Object,
    now: Timestamp,
    every: SignedDuration,
) -> Result<Timestamp, Status> {
    let name = text(node, "name");
    let time = format!("{now:.6}");
    let Some(lease) = api.store().get(Collection::LEASES, LEASES, name) else {
        let lease = json!({"metadata": {"name": name, "ownerReferences": [{"apiVersion": "v1",
                "kind": "Node", "name": name, "uid": text(node, "uid")}]},
            "spec": {"holderIdentity": name, "leaseDurationSeconds": 40, "renewTime": time}});
        api.create(Collection::LEASES.resource(), LEASES, lease, false)?;
        return Ok(now + every);
    };
    let renewed = lease["spec"]["renewTime"].as_str().and_then(|it| it.parse::<Timestamp>().ok());
    if let Some(next) = renewed.map(|it| it + every).filter(|next| *next > now) {
        return Ok(next);
    }
    let edited = api.store().edit(Collection::LEASES, LEASES, name, |lease| {
        lease["spec"]["renewTime"] = json!(time);
    });
    if let Err(error) = edited {
        tracing::debug!(%error, "a lease went while it was renewed");
    }
    Ok(now + every)
}
