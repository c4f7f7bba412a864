//! What a plugin author sees of Loadmaster.
//!
//! [`api`] holds the facts of a pod, a node, a volume that a decision needs. The other modules hold
//! the extension points of the upstream scheduling framework, in upstream order and with upstream
//! meaning, and what passes through them: [`Status`], [`CycleState`], [`NodeInfo`], cluster events
//! and queueing hints, and the [`Registry`] that finds a plugin by name.
//!
//! Nothing here does I/O, knows a clock, or links a Kubernetes client.
//!
//! # A plugin
//!
//! ```
//! use loadmaster_framework::{
//!     Cycle, CycleState, FieldError, Filter, Gates, Hooks, NodeInfo, NodeScore, Outcome, Plugin,
//!     Registry, Score, Status,
//! };
//!
//! /// Keeps pods off nodes under maintenance and prefers the disk that the profile asks for.
//! struct DiskTier {
//!     args: Args,
//! }
//!
//! #[derive(Default, serde::Serialize, serde::Deserialize)]
//! #[serde(default, rename_all = "camelCase", deny_unknown_fields)]
//! struct Args {
//!     prefer: String,
//! }
//!
//! impl Plugin for DiskTier {
//!     const NAME: &'static str = "DiskTier";
//!     type Args = Args;
//!
//!     fn build(args: Args, _: &Gates) -> Result<Hooks, FieldError> {
//!         Ok(Hooks::of(Self { args }).filter().score().into())
//!     }
//! }
//!
//! impl Filter for DiskTier {
//!     fn filter(&self, _: Cycle<'_>, _: &CycleState, node: &NodeInfo) -> Outcome {
//!         match node.label("maintenance") {
//!             Some("true") => Err(Status::unschedulable("node is under maintenance")),
//!             _ => Ok(()),
//!         }
//!     }
//! }
//!
//! impl Score for DiskTier {
//!     fn score(&self, _: Cycle<'_>, _: &CycleState, node: &NodeInfo) -> Outcome<i64> {
//!         let matches = node.label("disk") == Some(&*self.args.prefer);
//!         Ok(if matches { NodeScore::MAX } else { NodeScore::MIN })
//!     }
//! }
//!
//! let mut registry = Registry::default();
//! registry.register::<DiskTier>()?;
//! let hooks = registry.build("DiskTier", &serde_json::json!({"prefer": "nvme"}), &Gates::default())?;
//! assert!(hooks.filter.is_some() && hooks.score.is_some() && hooks.permit.is_none());
//!
//! // A misspelt argument is an error that names the nearest right word.
//! let typo = registry.build("DiskTier", &serde_json::json!({"prefers": "nvme"}), &Gates::default());
//! assert!(typo.unwrap_err().to_string().contains("prefer"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod api;
pub mod duration;
pub mod field;

mod access;
mod action;
mod event;
mod feed;
mod gates;
mod handle;
mod hooks;
mod kind;
mod listers;
mod node_info;
mod object;
mod pod_info;
mod points;
mod ports;
mod queued;
mod registry;
mod score;
mod snapshot;
mod state;
mod status;

pub use access::Access;
pub use action::{Action, ActionError, ActionResult, PatchKind};
pub use event::{
    ActionType, ClusterEvent, ClusterEventWithHint, EnqueueExtensions, EventResource, Hint,
    QueueingHint,
};
pub use feed::{Feed, FeedFact, FeedSource, OnStale, Polling};
pub use field::FieldError;
pub use gates::Gates;
pub use handle::{Candidate, DryRun, Handle, WaitingPod};
pub use hooks::{Hooks, HooksOf, Point};
pub use kind::Kind;
pub use listers::{Lister, Listers};
pub use node_info::NodeInfo;
pub use object::{DeviceClassObject, Object, RawObject, ResourceClaimObject, ResourceSliceObject};
pub use pod_info::{AffinityTerm, PodInfo, WeightedAffinityTerm};
pub use points::{
    Bind, Binding, Candidates, Cycle, Enqueue, Filter, Interest, Nominating, Permission, Permit,
    Plugin, PostBind, PostFilter, PostFilterResult, PreBind, PreBindInput, PreBindStep, PreEnqueue,
    PreFilter, PreFlight, PreScore, QueueSort, Reserve, Score,
};
pub use ports::{HostPort, HostPortInfo};
pub use queued::QueuedPodInfo;
pub use registry::{BuildError, Registry, nearest};
pub use score::NodeScore;
pub use snapshot::{NodeToStatus, Snapshot};
pub use state::{CycleState, Slot, StateData};
pub use status::{Code, Outcome, PluginError, Reason, Status};
