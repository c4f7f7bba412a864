//! Containers: their names, images, ports and resources, and nothing of how they run.

use serde::{Deserialize, Serialize};

use super::{ResourceList, Text, null_as_default};

/// What is asked for and what is never exceeded.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ResourceRequirements {
    /// What must be set aside.
    pub requests: ResourceList,
    /// What may be used at most.
    pub limits: ResourceList,
}

/// The transport of a port.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub enum Protocol {
    /// Also what an absent or empty field means.
    #[default]
    #[serde(rename = "TCP", alias = "")]
    Tcp,
    /// User datagrams.
    #[serde(rename = "UDP")]
    Udp,
    /// Stream control transmission.
    #[serde(rename = "SCTP")]
    Sctp,
    /// A word that the API does not define: one more transport.
    #[serde(other)]
    Unknown,
}

/// A port of a container.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ContainerPort {
    /// The port inside the pod.
    #[serde(deserialize_with = "null_as_default")]
    pub container_port: i32,
    /// The port taken on the node; 0 takes none.
    #[serde(deserialize_with = "null_as_default")]
    pub host_port: i32,
    /// The address of the node on which it is taken; empty is all of them.
    #[serde(rename = "hostIP", deserialize_with = "null_as_default")]
    pub host_ip: Text,
    /// The transport.
    #[serde(deserialize_with = "null_as_default")]
    pub protocol: Protocol,
}

/// Whether a container is started again; only `Always` on an init container matters here (it
/// makes the container a sidecar, KEP-753).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ContainerRestartPolicy {
    /// Runs beside the pod's other containers.
    Always,
    /// Anything else.
    #[serde(other)]
    Other,
}

/// What is done when a container exits in a certain way (KEP-5307).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ContainerRestartRule {
    /// `Restart` or `RestartAllContainers`.
    pub action: Text,
}

/// A container of a pod.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Container {
    /// Unique in the pod.
    pub name: Text,
    /// The image's name as written in the manifest.
    #[serde(deserialize_with = "null_as_default")]
    pub image: Text,
    /// Ports, of which those with a host port matter.
    #[serde(deserialize_with = "null_as_default")]
    pub ports: Vec<ContainerPort>,
    /// Requests and limits.
    #[serde(deserialize_with = "null_as_default")]
    pub resources: ResourceRequirements,
    /// `Always` on an init container makes it a sidecar.
    pub restart_policy: Option<ContainerRestartPolicy>,
    /// What is done when it exits.
    #[serde(deserialize_with = "null_as_default")]
    pub restart_policy_rules: Vec<ContainerRestartRule>,
}

impl Container {
    /// Whether this init container keeps running beside the pod's containers.
    pub fn is_sidecar(&self) -> bool {
        self.restart_policy == Some(ContainerRestartPolicy::Always)
    }
}

/// What a running container has.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ContainerStatus {
    /// The container's name.
    pub name: Text,
    /// What the node has set aside for it (KEP-1287).
    pub allocated_resources: ResourceList,
    /// What is enforced now.
    pub resources: Option<ResourceRequirements>,
}
