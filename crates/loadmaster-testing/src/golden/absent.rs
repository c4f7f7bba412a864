//! A stand-in for the plugin of the default set that is not there yet, so that the others can be
//! compared: it takes part where upstream's does, and says nothing.

use std::sync::Arc;

use loadmaster_framework::{
    BuildError, Candidates, Cycle, CycleState, FieldError, Filter, Gates, Handle, Hooks, Interest,
    NodeInfo, Outcome, Plugin, PreBind, PreBindInput, PreBindStep, PreFilter, PreFlight, PreScore,
    Registry, Reserve, Score,
};
use serde_json::Value;

/// The missing plugin, if it is missing and the case in `line` needs it.
pub(super) fn needed_by(line: &str) -> serde_json::Result<Option<&'static str>> {
    let name = Absent::NAME;
    if loadmaster_plugins::registry().contains(name) {
        return Ok(None);
    }
    let mut case: Value = serde_json::from_str(line)?;
    // The list of all plugins says nothing of which are needed.
    if let Some(expected) = case.get_mut("expected").and_then(Value::as_object_mut) {
        expected.remove("plugins");
    }
    let text = case.to_string();
    // Volumes are chosen by it even where nothing is refused.
    Ok((text.contains(name) || text.contains("PersistentVolume")).then_some(name))
}

/// Adds the stand-in if the plugin is missing.
pub(super) fn fill(registry: &mut Registry) -> Result<(), BuildError> {
    if registry.contains(Absent::NAME) { Ok(()) } else { registry.register::<Absent>() }
}

struct Absent;

impl Plugin for Absent {
    const NAME: &'static str = "VolumeBinding";
    type Args = Value;

    fn build(_: Value, _: &Gates) -> Result<Hooks, FieldError> {
        Ok(Hooks::of(Self).pre_filter().filter().pre_score().score().reserve().pre_bind().into())
    }
}

impl PreFilter for Absent {
    fn pre_filter(&self, _: Cycle<'_>, _: &mut CycleState) -> Outcome<Candidates> {
        Ok(Candidates::Skip)
    }
}

impl Filter for Absent {
    fn filter(&self, _: Cycle<'_>, _: &CycleState, _: &NodeInfo) -> Outcome {
        Ok(())
    }
}

impl PreScore for Absent {
    fn pre_score(
        &self,
        _: Cycle<'_>,
        _: &mut CycleState,
        _: &[Arc<NodeInfo>],
    ) -> Outcome<Interest> {
        Ok(Interest::Skip)
    }
}

impl Score for Absent {
    fn score(&self, _: Cycle<'_>, _: &CycleState, _: &NodeInfo) -> Outcome<i64> {
        Ok(0)
    }
}

impl Reserve for Absent {
    fn reserve(&self, _: Cycle<'_>, _: &mut CycleState, _: &str, _: &mut dyn Handle) -> Outcome {
        Ok(())
    }

    fn unreserve(&self, _: Cycle<'_>, _: &mut CycleState, _: &str, _: &mut dyn Handle) {}
}

impl PreBind for Absent {
    fn pre_flight(&self, _: Cycle<'_>, _: &CycleState, _: &str) -> Outcome<PreFlight> {
        Ok(PreFlight::Skip)
    }

    fn step(&self, _: Cycle<'_>, _: &mut CycleState, _: &str, _: PreBindInput) -> PreBindStep {
        PreBindStep::Ready
    }
}
