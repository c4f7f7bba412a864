#![doc = include_str!("volume_binding.md")]

mod candidates;
mod claims;
mod hints;
mod pre_bind;
mod provisioning;
mod reach;
mod reserve;

#[cfg(test)]
mod tests;

use std::{sync::Arc, time::Duration};

use loadmaster_framework::{
    Access, Candidates, Cycle, CycleState, FieldError, Filter, Gates, Hooks, Interest, Kind,
    NodeInfo, Outcome, Plugin, PreFilter, PreScore, Score,
};

use self::claims::PodClaims;
use super::args::VolumeBindingArgs;

/// See the [module](self).
#[derive(Debug)]
pub struct VolumeBinding {
    bind_timeout: Duration,
}

impl Plugin for VolumeBinding {
    const NAME: &'static str = "VolumeBinding";
    const DOC: &'static str = include_str!("volume_binding.md");
    type Args = VolumeBindingArgs;

    fn validate(args: &Self::Args, path: &str) -> Vec<FieldError> {
        args.validate(path)
    }

    fn build(args: Self::Args, _: &Gates) -> Result<Hooks, FieldError> {
        let seconds = u64::try_from(args.bind_timeout_seconds).unwrap_or(0);
        let plugin = Self { bind_timeout: Duration::from_secs(seconds) };
        let read = [
            Kind::PersistentVolume,
            Kind::PersistentVolumeClaim,
            Kind::StorageClass,
            Kind::CsiNode,
            Kind::CsiDriver,
            Kind::CsiStorageCapacity,
        ];
        Ok(Hooks::of(plugin)
            .pre_filter()
            .filter()
            .pre_score()
            .score()
            .reserve()
            .pre_bind()
            .enqueue_extensions()
            .reads(&read)
            .needs(Access::new("", "persistentvolumes", &["patch"]))
            .needs(Access::new("", "persistentvolumeclaims", &["patch"]))
            .into())
    }
}

/// What the pod's claims ask of nodes.
#[derive(Clone, Debug)]
struct Asked(Arc<PodClaims>);

impl Asked {
    /// As PreFilter found it, or found now.
    fn of(cx: Cycle<'_>, state: &CycleState) -> Outcome<Arc<PodClaims>> {
        match state.try_get::<Self>() {
            Some(Self(claims)) => Ok(Arc::clone(claims)),
            None => Ok(Arc::new(PodClaims::of(cx.pod, cx.snapshot.listers())?)),
        }
    }
}

impl PreFilter for VolumeBinding {
    fn pre_filter(&self, cx: Cycle<'_>, state: &mut CycleState) -> Outcome<Candidates> {
        let claims = PodClaims::of(cx.pod, cx.snapshot.listers())?;
        let nothing = claims.is_empty();
        state.put(Asked(Arc::new(claims)));
        Ok(if nothing { Candidates::Skip } else { Candidates::All })
    }
}

impl Filter for VolumeBinding {
    fn filter(&self, cx: Cycle<'_>, state: &CycleState, node: &NodeInfo) -> Outcome {
        let csi_node = cx.snapshot.listers().csi_nodes.get("", node.name());
        let claims = Asked::of(cx, state)?;
        claims.find(node.node(), csi_node.map(|it| &**it)).map(|_| ())
    }
}

impl PreScore for VolumeBinding {
    /// Nodes are not ranked by storage: the gate `StorageCapacityScoring` is off in 1.36.
    fn pre_score(
        &self,
        _: Cycle<'_>,
        _: &mut CycleState,
        _: &[Arc<NodeInfo>],
    ) -> Outcome<Interest> {
        Ok(Interest::Skip)
    }
}

impl Score for VolumeBinding {
    fn score(&self, _: Cycle<'_>, _: &CycleState, _: &NodeInfo) -> Outcome<i64> {
        Ok(0)
    }
}

/// The claim's node, for which its volume is to be made.
const SELECTED_NODE: &str = "volume.kubernetes.io/selected-node";
/// Set on a claim once both sides are bound.
const BIND_COMPLETED: &str = "pv.kubernetes.io/bind-completed";
/// Set on a volume that was bound by a controller and not by a person.
const BOUND_BY_CONTROLLER: &str = "pv.kubernetes.io/bound-by-controller";
