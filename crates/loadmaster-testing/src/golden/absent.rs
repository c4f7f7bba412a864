//! Stand-ins for plugins of the default set that are not there yet, so that the others can be
//! compared: each takes part where upstream's does, and says nothing.

use std::sync::Arc;

use loadmaster_framework::{
    BuildError, Candidates, Cycle, CycleState, Enqueue, FieldError, Filter, Gates, Handle, Hooks,
    Interest, NodeInfo, NodeToStatus, Outcome, Plugin, PostFilter, PostFilterResult, PreBind,
    PreBindInput, PreBindStep, PreEnqueue, PreFilter, PreFlight, PreScore, Registry, Reserve,
    Score, Status,
};
use serde_json::Value;

/// The plugins that may be missing.
const NAMES: [&str; 6] = [
    "VolumeRestrictions",
    "NodeVolumeLimits",
    "VolumeBinding",
    "VolumeZone",
    "InterPodAffinity",
    "DefaultPreemption",
];

/// The first missing plugin that the case in `line` needs.
pub(super) fn needed_by(line: &str) -> serde_json::Result<Option<&'static str>> {
    let mut case: Value = serde_json::from_str(line)?;
    // The list of all plugins says nothing of which are needed.
    if let Some(expected) = case.get_mut("expected").and_then(Value::as_object_mut) {
        expected.remove("plugins");
    }
    let text = case.to_string();
    let missing = names(&loadmaster_plugins::registry());
    Ok(missing.into_iter().find(|it| {
        // Disks of clouds are compared by it even where nothing is refused.
        text.contains(it) || *it == "VolumeRestrictions" && text.contains("gcePersistentDisk")
    }))
}

/// Which of them are missing in `registry`.
fn names(registry: &Registry) -> Vec<&'static str> {
    NAMES.into_iter().filter(|it| !registry.contains(it)).collect()
}

/// Adds a stand-in for each that is missing.
pub(super) fn fill(registry: &mut Registry) -> Result<(), BuildError> {
    let adders = [
        Registry::register::<Absent<0>>,
        Registry::register::<Absent<1>>,
        Registry::register::<Absent<2>>,
        Registry::register::<Absent<3>>,
        Registry::register::<Absent<4>>,
        Registry::register::<Absent<5>>,
    ];
    let missing = names(registry);
    for (name, add) in NAMES.iter().zip(adders) {
        if missing.contains(name) {
            add(registry)?;
        }
    }
    Ok(())
}

struct Absent<const I: usize>;

impl<const I: usize> Plugin for Absent<I> {
    const NAME: &'static str = NAMES[I];
    type Args = Value;

    fn build(_: Value, _: &Gates) -> Result<Hooks, FieldError> {
        let hooks = Hooks::of(Self);
        Ok(match Self::NAME {
            "DefaultPreemption" => hooks.pre_enqueue().post_filter(),
            "InterPodAffinity" => hooks.pre_filter().filter().pre_score().score(),
            "VolumeBinding" => hooks.pre_filter().filter().pre_score().score().reserve().pre_bind(),
            _ => hooks.pre_filter().filter(),
        }
        .into())
    }
}

impl<const I: usize> PreEnqueue for Absent<I> {
    fn pre_enqueue(&self, _: Enqueue<'_>) -> Outcome {
        Ok(())
    }
}

impl<const I: usize> PreFilter for Absent<I> {
    fn pre_filter(&self, _: Cycle<'_>, _: &mut CycleState) -> Outcome<Candidates> {
        Ok(Candidates::Skip)
    }
}

impl<const I: usize> Filter for Absent<I> {
    fn filter(&self, _: Cycle<'_>, _: &CycleState, _: &NodeInfo) -> Outcome {
        Ok(())
    }
}

impl<const I: usize> PostFilter for Absent<I> {
    fn post_filter(
        &self,
        _: Cycle<'_>,
        _: &mut CycleState,
        _: &NodeToStatus,
        _: &mut dyn Handle,
    ) -> PostFilterResult {
        PostFilterResult::nothing(Status::unschedulable("absent"))
    }
}

impl<const I: usize> PreScore for Absent<I> {
    fn pre_score(
        &self,
        _: Cycle<'_>,
        _: &mut CycleState,
        _: &[Arc<NodeInfo>],
    ) -> Outcome<Interest> {
        Ok(Interest::Skip)
    }
}

impl<const I: usize> Score for Absent<I> {
    fn score(&self, _: Cycle<'_>, _: &CycleState, _: &NodeInfo) -> Outcome<i64> {
        Ok(0)
    }
}

impl<const I: usize> Reserve for Absent<I> {
    fn reserve(&self, _: Cycle<'_>, _: &mut CycleState, _: &str, _: &mut dyn Handle) -> Outcome {
        Ok(())
    }

    fn unreserve(&self, _: Cycle<'_>, _: &mut CycleState, _: &str, _: &mut dyn Handle) {}
}

impl<const I: usize> PreBind for Absent<I> {
    fn pre_flight(&self, _: Cycle<'_>, _: &CycleState, _: &str) -> Outcome<PreFlight> {
        Ok(PreFlight::Skip)
    }

    fn step(&self, _: Cycle<'_>, _: &mut CycleState, _: &str, _: PreBindInput) -> PreBindStep {
        PreBindStep::Ready
    }
}
