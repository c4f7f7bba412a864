//! Pods: what they ask for and what is known of them.

use serde::{Deserialize, Serialize};

use super::{
    Affinity, Container, ContainerStatus, Labels, ObjectKey, ObjectMeta, ResourceList,
    ResourceRequirements, Text, Timestamp, Toleration, TopologySpreadConstraint, Volume,
    null_as_default,
};

/// A pod: metadata, the placement-related specification and status.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Pod {
    /// Name, namespace, uid, labels, owners.
    pub metadata: ObjectMeta,
    /// What the pod asks for.
    pub spec: PodSpec,
    /// What is known of the pod.
    #[serde(deserialize_with = "null_as_default")]
    pub status: PodStatus,
}

impl Pod {
    /// `metadata.name`.
    pub fn name(&self) -> &Text {
        &self.metadata.name
    }

    /// `metadata.namespace`.
    pub fn namespace(&self) -> &Text {
        &self.metadata.namespace
    }

    /// `metadata.uid`.
    pub fn uid(&self) -> &Text {
        &self.metadata.uid
    }

    /// `namespace/name`.
    pub fn key(&self) -> ObjectKey {
        self.metadata.key()
    }

    /// The value of the pod's label `key`.
    pub fn label(&self, key: &str) -> Option<&str> {
        self.metadata.labels.get(key).map(|value| &**value)
    }

    /// The node the pod is bound to, if it is.
    pub fn node_name(&self) -> Option<&Text> {
        (!self.spec.node_name.is_empty()).then_some(&self.spec.node_name)
    }

    /// `spec.priority`, 0 where it is absent (upstream: `corev1helpers.PodPriority`).
    pub fn priority(&self) -> i32 {
        self.spec.priority.unwrap_or(0)
    }

    /// Whether the pod's deletion has been asked for.
    pub fn is_terminating(&self) -> bool {
        self.metadata.deletion_timestamp.is_some()
    }

    /// Whether the pod has run to its end and uses nothing any more.
    pub fn is_finished(&self) -> bool {
        matches!(self.status.phase, PodPhase::Succeeded | PodPhase::Failed)
    }

    /// The name of the scheduler that the pod asks for; the API server fills in
    /// `default-scheduler` where the manifest has none.
    pub fn scheduler_name(&self) -> &str {
        if self.spec.scheduler_name.is_empty() {
            "default-scheduler"
        } else {
            &self.spec.scheduler_name
        }
    }

    /// Init containers, then containers, in manifest order.
    pub fn all_containers(&self) -> impl Iterator<Item = &Container> {
        self.spec.init_containers.iter().chain(&self.spec.containers)
    }
}

/// Where a pod stands in its life.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum PodPhase {
    /// Accepted, not all containers started.
    #[default]
    Pending,
    /// Bound, at least one container runs.
    Running,
    /// All containers ended well.
    Succeeded,
    /// All containers ended, one in failure.
    Failed,
    /// Nothing is heard from its node.
    #[serde(other)]
    Unknown,
}

/// Whether a pod may push others off a node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum PreemptionPolicy {
    /// Pods of lower priority may be preempted for it.
    #[default]
    PreemptLowerPriority,
    /// It waits for room.
    Never,
    /// A word that the API does not define; like [`Self::PreemptLowerPriority`].
    #[serde(other)]
    Unknown,
}

/// A reason, named from outside, to leave a pod alone for now (KEP-3521).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct PodSchedulingGate {
    /// The gate's name.
    pub name: Text,
}

/// A claim for devices that a pod names (KEP-4381).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PodResourceClaim {
    /// The name by which containers refer to it.
    pub name: Text,
    /// An existing claim in the pod's namespace.
    pub resource_claim_name: Option<Text>,
    /// A template from which a claim of the pod's own is made.
    pub resource_claim_template_name: Option<Text>,
}

/// Which claim was made for a pod from a template.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PodResourceClaimStatus {
    /// The entry of `spec.resourceClaims`.
    pub name: Text,
    /// The claim that was made; none where none is needed.
    pub resource_claim_name: Option<Text>,
}

/// The placement-related part of `spec`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PodSpec {
    /// The node the pod is bound to; empty while it waits.
    #[serde(deserialize_with = "null_as_default")]
    pub node_name: Text,
    /// The scheduler asked for; empty means `default-scheduler`.
    #[serde(deserialize_with = "null_as_default")]
    pub scheduler_name: Text,
    /// Higher goes first; absent is 0.
    pub priority: Option<i32>,
    /// The class that `priority` comes from.
    #[serde(deserialize_with = "null_as_default")]
    pub priority_class_name: Text,
    /// Absent is `PreemptLowerPriority`.
    pub preemption_policy: Option<PreemptionPolicy>,
    /// While any is left the pod is not tried.
    #[serde(deserialize_with = "null_as_default")]
    pub scheduling_gates: Vec<PodSchedulingGate>,
    /// Labels that the node must have.
    pub node_selector: Labels,
    /// Node and pod affinity.
    pub affinity: Option<Affinity>,
    /// Taints that the pod accepts.
    #[serde(deserialize_with = "null_as_default")]
    pub tolerations: Vec<Toleration>,
    /// How pods of a kind are to be spread.
    #[serde(deserialize_with = "null_as_default")]
    pub topology_spread_constraints: Vec<TopologySpreadConstraint>,
    /// At least one.
    #[serde(deserialize_with = "null_as_default")]
    pub containers: Vec<Container>,
    /// Run before the others, or beside them where their restart policy is `Always`.
    #[serde(deserialize_with = "null_as_default")]
    pub init_containers: Vec<Container>,
    /// What the pod costs beyond its containers (KEP-688).
    pub overhead: ResourceList,
    /// What the pod as a whole asks for (KEP-2837).
    pub resources: Option<ResourceRequirements>,
    /// Volumes that its containers mount.
    #[serde(deserialize_with = "null_as_default")]
    pub volumes: Vec<Volume>,
    /// Whether container ports are ports of the node.
    #[serde(deserialize_with = "null_as_default")]
    pub host_network: bool,
    /// Claims for devices.
    #[serde(deserialize_with = "null_as_default")]
    pub resource_claims: Vec<PodResourceClaim>,
    /// Seconds between the request to stop and the kill; absent is 30.
    pub termination_grace_period_seconds: Option<i64>,
    /// `false` gives the pod a user namespace of its own (KEP-127).
    pub host_users: Option<bool>,
}

/// One entry of `status.conditions`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PodCondition {
    /// `PodScheduled`, `Ready`, `DisruptionTarget`, …
    pub r#type: Text,
    /// `True`, `False` or `Unknown`.
    pub status: Text,
    /// One word of why.
    #[serde(deserialize_with = "null_as_default")]
    pub reason: Text,
    /// A sentence of why.
    #[serde(deserialize_with = "null_as_default")]
    pub message: Text,
}

/// The placement-related part of `status`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PodStatus {
    /// Where the pod stands in its life.
    #[serde(deserialize_with = "null_as_default")]
    pub phase: PodPhase,
    /// The node where room is being made for the pod, or is promised to it.
    #[serde(deserialize_with = "null_as_default")]
    pub nominated_node_name: Text,
    /// Why things are as they are.
    #[serde(deserialize_with = "null_as_default")]
    pub conditions: Vec<PodCondition>,
    /// When a node accepted the pod.
    pub start_time: Option<Timestamp>,
    /// What the containers have and use.
    #[serde(deserialize_with = "null_as_default")]
    pub container_statuses: Vec<ContainerStatus>,
    /// The same for init containers.
    #[serde(deserialize_with = "null_as_default")]
    pub init_container_statuses: Vec<ContainerStatus>,
    /// What the node has set aside for the pod as a whole (KEP-5419).
    pub allocated_resources: ResourceList,
    /// What the pod as a whole has now.
    pub resources: Option<ResourceRequirements>,
    /// Claims made from templates.
    #[serde(deserialize_with = "null_as_default")]
    pub resource_claim_statuses: Vec<PodResourceClaimStatus>,
    /// The claim made for extended resources that devices back (KEP-5004).
    pub extended_resource_claim_status: Option<serde_json::Value>,
}

impl PodStatus {
    /// The condition of type `kind`.
    pub fn condition(&self, kind: &str) -> Option<&PodCondition> {
        self.conditions.iter().find(|condition| &*condition.r#type == kind)
    }
}
