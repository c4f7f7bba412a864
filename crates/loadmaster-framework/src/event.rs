//! Changes of the cluster, and which of them may help a pod that was rejected.

use std::{fmt, ops::BitOr};

use super::{Listers, Object, PluginError, PodInfo};

/// What kind of object changed. Names are upstream's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum EventResource {
    /// Any pod.
    Pod,
    /// A pod that is bound; a plugin registers [`EventResource::Pod`].
    AssignedPod,
    /// A pod that waits; a plugin registers [`EventResource::Pod`].
    UnschedulablePod,
    /// A node.
    Node,
    /// A volume.
    PersistentVolume,
    /// A claim.
    PersistentVolumeClaim,
    /// A node's storage drivers.
    CsiNode,
    /// A storage driver.
    CsiDriver,
    /// A volume attached to a node.
    VolumeAttachment,
    /// Room for volumes.
    CsiStorageCapacity,
    /// A storage class.
    StorageClass,
    /// A claim of devices.
    ResourceClaim,
    /// Devices of a node.
    ResourceSlice,
    /// A class of devices.
    DeviceClass,
    /// A fact of a feed; not in upstream.
    Feed,
    /// Everything.
    WildCard,
}

impl EventResource {
    /// Upstream's name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pod => "Pod",
            Self::AssignedPod => "AssignedPod",
            Self::UnschedulablePod => "UnschedulablePod",
            Self::Node => "Node",
            Self::PersistentVolume => "PersistentVolume",
            Self::PersistentVolumeClaim => "PersistentVolumeClaim",
            Self::CsiNode => "storage.k8s.io/CSINode",
            Self::CsiDriver => "storage.k8s.io/CSIDriver",
            Self::VolumeAttachment => "storage.k8s.io/VolumeAttachment",
            Self::CsiStorageCapacity => "storage.k8s.io/CSIStorageCapacity",
            Self::StorageClass => "storage.k8s.io/StorageClass",
            Self::ResourceClaim => "resource.k8s.io/ResourceClaim",
            Self::ResourceSlice => "resource.k8s.io/ResourceSlice",
            Self::DeviceClass => "resource.k8s.io/DeviceClass",
            Self::Feed => "Feed",
            Self::WildCard => "*",
        }
    }

    fn covers(self, incoming: Self) -> bool {
        self == Self::WildCard
            || self == incoming
            || self == Self::Pod && matches!(incoming, Self::AssignedPod | Self::UnschedulablePod)
    }
}

/// A set of things that can happen to an object. Names are upstream's.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ActionType(u32);

impl ActionType {
    /// Nothing.
    pub const NONE: Self = Self(0);
    /// It appeared.
    pub const ADD: Self = Self(1);
    /// It vanished.
    pub const DELETE: Self = Self(1 << 1);
    /// A node's allocatable resources changed.
    pub const UPDATE_NODE_ALLOCATABLE: Self = Self(1 << 2);
    /// A node's labels changed.
    pub const UPDATE_NODE_LABEL: Self = Self(1 << 3);
    /// A node's taints changed, or whether it is unschedulable.
    pub const UPDATE_NODE_TAINT: Self = Self(1 << 4);
    /// A node's conditions changed.
    pub const UPDATE_NODE_CONDITION: Self = Self(1 << 5);
    /// A node's annotations changed.
    pub const UPDATE_NODE_ANNOTATION: Self = Self(1 << 6);
    /// A node's declared features changed.
    pub const UPDATE_NODE_DECLARED_FEATURE: Self = Self(1 << 7);
    /// A pod's labels changed.
    pub const UPDATE_POD_LABEL: Self = Self(1 << 8);
    /// A pod's requests were lowered.
    pub const UPDATE_POD_SCALE_DOWN: Self = Self(1 << 9);
    /// A pod got more tolerations.
    pub const UPDATE_POD_TOLERATION: Self = Self(1 << 10);
    /// A pod's last scheduling gate was removed.
    pub const UPDATE_POD_SCHEDULING_GATES_ELIMINATED: Self = Self(1 << 11);
    /// A claim was made for a pod from a template.
    pub const UPDATE_POD_GENERATED_RESOURCE_CLAIM: Self = Self(1 << 12);
    /// Every kind of update.
    pub const UPDATE: Self = Self(((1 << 13) - 1) & !0b11);
    /// Everything.
    pub const ALL: Self = Self((1 << 13) - 1);

    const NAMES: [(Self, &'static str); 13] = [
        (Self::ADD, "Add"),
        (Self::DELETE, "Delete"),
        (Self::UPDATE_NODE_ALLOCATABLE, "UpdateNodeAllocatable"),
        (Self::UPDATE_NODE_LABEL, "UpdateNodeLabel"),
        (Self::UPDATE_NODE_TAINT, "UpdateNodeTaint"),
        (Self::UPDATE_NODE_CONDITION, "UpdateNodeCondition"),
        (Self::UPDATE_NODE_ANNOTATION, "UpdateNodeAnnotation"),
        (Self::UPDATE_NODE_DECLARED_FEATURE, "UpdateNodeDeclaredFeature"),
        (Self::UPDATE_POD_LABEL, "UpdatePodLabel"),
        (Self::UPDATE_POD_SCALE_DOWN, "UpdatePodScaleDown"),
        (Self::UPDATE_POD_TOLERATION, "UpdatePodToleration"),
        (Self::UPDATE_POD_SCHEDULING_GATES_ELIMINATED, "UpdatePodSchedulingGatesEliminated"),
        (Self::UPDATE_POD_GENERATED_RESOURCE_CLAIM, "UpdatePodGeneratedResourceClaim"),
    ];

    /// Whether every action of `other` is among these.
    pub fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Whether any action is in both.
    pub fn intersects(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// Whether there is no action in it.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Upstream's names of the actions; all updates together are `Update`.
    pub fn names(self) -> Vec<&'static str> {
        let whole = self.contains(Self::UPDATE);
        let mut names: Vec<_> = Self::NAMES
            .iter()
            .filter(|(it, _)| self.contains(*it) && !(whole && Self::UPDATE.contains(*it)))
            .map(|(_, name)| *name)
            .collect();
        if whole {
            names.push("Update");
        }
        names
    }

    /// The action of this upstream name.
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "Update" => Some(Self::UPDATE),
            "All" => Some(Self::ALL),
            _ => Self::NAMES.iter().find(|(_, it)| *it == name).map(|(it, _)| *it),
        }
    }
}

impl BitOr for ActionType {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl fmt::Debug for ActionType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.names().join("|"))
    }
}

/// A kind of change: to which kind of object, and which one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClusterEvent {
    /// The kind of object.
    pub resource: EventResource,
    /// What happened to it, or what may.
    pub action: ActionType,
    /// Upstream's name of an event that no object causes (`UnschedulableTimeout`, …).
    pub custom_label: Option<&'static str>,
}

impl ClusterEvent {
    /// `action` on `resource`.
    pub const fn new(resource: EventResource, action: ActionType) -> Self {
        Self { resource, action, custom_label: None }
    }

    /// Any change at all.
    pub const WILD_CARD: Self = Self::new(EventResource::WildCard, ActionType::ALL);

    /// Whether this registration covers `incoming` (upstream: `MatchClusterEvents`).
    pub fn covers(&self, incoming: &Self) -> bool {
        (self.resource == EventResource::WildCard && self.action == ActionType::ALL)
            || (self.resource.covers(incoming.resource)
                && !incoming.action.is_empty()
                && self.action.contains(incoming.action))
    }

    /// Upstream's name for logs and metrics: `NodeAdd`, `AssignedPodDelete`, ….
    pub fn label(&self) -> String {
        match self.custom_label {
            Some(label) => label.to_owned(),
            None => format!("{}{}", self.resource.as_str(), self.action.names().join("")),
        }
    }
}

/// A registration: a kind of change that may help pods that the plugin rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClusterEventWithHint {
    /// The kind of change.
    pub event: ClusterEvent,
    /// Whether [`EnqueueExtensions::queueing_hint`] is asked about each one; else each one queues
    /// the pod.
    pub has_hint: bool,
}

impl ClusterEventWithHint {
    /// A change that queues the pod always.
    pub const fn always(resource: EventResource, action: ActionType) -> Self {
        Self { event: ClusterEvent::new(resource, action), has_hint: false }
    }

    /// A change that queues the pod where the hint says so.
    pub const fn hinted(resource: EventResource, action: ActionType) -> Self {
        Self { event: ClusterEvent::new(resource, action), has_hint: true }
    }
}

/// Whether a change makes another try worth it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueingHint {
    /// It cannot help.
    Skip,
    /// It may help.
    Queue,
}

/// One change, as a hint is asked about it.
#[derive(Clone, Copy, Debug)]
pub struct Hint<'a> {
    /// The registration that covers the change.
    pub registered: ClusterEvent,
    /// What happened: a single action.
    pub event: ClusterEvent,
    /// The pod that the plugin rejected.
    pub pod: &'a PodInfo,
    /// The object before; `None` where it appeared.
    pub old: Option<&'a Object>,
    /// The object after; `None` where it vanished.
    pub new: Option<&'a Object>,
    /// What is known of the rest of the cluster.
    pub listers: &'a Listers,
}

/// Says which changes may help a pod that the plugin rejected (upstream: `EnqueueExtensions`,
/// KEP-4247).
pub trait EnqueueExtensions: Send + Sync {
    /// The kinds of change, in upstream's order.
    fn events_to_register(&self) -> Vec<ClusterEventWithHint>;

    /// Looks at one change. Not asked about registrations without a hint.
    ///
    /// # Errors
    /// Any error counts as [`QueueingHint::Queue`].
    fn queueing_hint(&self, _hint: Hint<'_>) -> Result<QueueingHint, PluginError> {
        Ok(QueueingHint::Queue)
    }
}
