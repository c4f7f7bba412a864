//! Plugins that misbehave, hold and take their time, and a scheduler that has them.

use std::time::Duration;

use loadmaster_core::{cycle::ExtenderSpec, scheduler::SchedulerOptions};
use loadmaster_framework::{
    Action, Candidates, Cycle, CycleState, EventResource, FieldError, Filter, Gates, Handle, Hooks,
    NodeInfo, Outcome, PatchKind, Permission, Permit, Plugin, PreBind, PreBindInput, PreBindStep,
    PreFilter, PreFlight, QueuedPodInfo, Registry, Score, Status,
    api::{Node, ObjectKey, Pod},
};
use loadmaster_sim::Sim;
use serde_json::json;

/// Panics, for pods that carry the label `panic`, at the point that it names.
pub(crate) struct Panics;

#[derive(Default, serde::Serialize, serde::Deserialize)]
pub(crate) struct NoArgs {}

fn maybe(cx: Cycle<'_>, point: &str) {
    assert!(cx.pod.label("panic") != Some(point), "as it was told to");
}

impl Plugin for Panics {
    const NAME: &'static str = "Panics";
    type Args = NoArgs;

    fn build(_: NoArgs, _: &Gates) -> Result<Hooks, FieldError> {
        Ok(Hooks::of(Self).pre_filter().filter().score().permit().into())
    }
}

impl PreFilter for Panics {
    fn pre_filter(&self, cx: Cycle<'_>, _: &mut CycleState) -> Outcome<Candidates> {
        maybe(cx, "PreFilter");
        Ok(Candidates::All)
    }
}

impl Filter for Panics {
    fn filter(&self, cx: Cycle<'_>, _: &CycleState, _: &NodeInfo) -> Outcome {
        maybe(cx, "Filter");
        Ok(())
    }
}

impl Score for Panics {
    fn score(&self, cx: Cycle<'_>, _: &CycleState, _: &NodeInfo) -> Outcome<i64> {
        maybe(cx, "Score");
        // Outside of what a score may be, where it is told to.
        Ok(cx.pod.label("score").and_then(|it| it.parse().ok()).unwrap_or(0))
    }
}

impl Permit for Panics {
    fn permit(
        &self,
        cx: Cycle<'_>,
        _: &mut CycleState,
        _: &str,
        _: &mut dyn Handle,
    ) -> Outcome<Permission> {
        maybe(cx, "Permit");
        Ok(Permission::Allow)
    }
}

/// Holds pods that carry the label `hold` for ten seconds; a pod that carries `release` lets every
/// pod go that is held.
pub(crate) struct Holds;

impl Plugin for Holds {
    const NAME: &'static str = "Holds";
    type Args = NoArgs;

    fn build(_: NoArgs, _: &Gates) -> Result<Hooks, FieldError> {
        Ok(Hooks::of(Self).permit().into())
    }
}

impl Permit for Holds {
    fn permit(
        &self,
        cx: Cycle<'_>,
        _: &mut CycleState,
        _: &str,
        handle: &mut dyn Handle,
    ) -> Outcome<Permission> {
        if cx.pod.label("release").is_some() {
            for waiting in handle.waiting_pods() {
                handle.allow_waiting_pod(waiting.pod.uid(), Self::NAME);
            }
        }
        Ok(match cx.pod.label("hold") {
            Some(_) => Permission::Wait(Duration::from_secs(10)),
            None => Permission::Allow,
        })
    }
}

/// Holds like [`Holds`], and is never let go.
pub(crate) struct HoldsToo;

impl Plugin for HoldsToo {
    const NAME: &'static str = "HoldsToo";
    type Args = NoArgs;

    fn build(_: NoArgs, _: &Gates) -> Result<Hooks, FieldError> {
        Ok(Hooks::of(Self).permit().into())
    }
}

impl Permit for HoldsToo {
    fn permit(
        &self,
        cx: Cycle<'_>,
        _: &mut CycleState,
        _: &str,
        _: &mut dyn Handle,
    ) -> Outcome<Permission> {
        Ok(match cx.pod.label("hold") {
            Some("both") => Permission::Wait(Duration::from_secs(20)),
            _ => Permission::Allow,
        })
    }
}

/// Before a pod with the label `claim` is bound: writes, then waits for a claim to be bound.
pub(crate) struct Steps;

impl Plugin for Steps {
    const NAME: &'static str = "Steps";
    type Args = NoArgs;

    fn build(_: NoArgs, _: &Gates) -> Result<Hooks, FieldError> {
        Ok(Hooks::of(Self).pre_bind().into())
    }
}

impl PreBind for Steps {
    fn pre_flight(&self, cx: Cycle<'_>, _: &CycleState, _: &str) -> Outcome<PreFlight> {
        let needed = cx.pod.label("claim").is_some();
        Ok(if needed { PreFlight::Needed } else { PreFlight::Skip })
    }

    fn step(&self, cx: Cycle<'_>, _: &mut CycleState, _: &str, input: PreBindInput) -> PreBindStep {
        let key = ObjectKey::new("default", cx.pod.label("claim").unwrap_or_default());
        let wait = || PreBindStep::WaitFor {
            keys: vec![(EventResource::PersistentVolumeClaim, key.clone())],
            deadline: cx.now + Duration::from_secs(30),
        };
        match input {
            PreBindInput::Start => PreBindStep::Do(vec![Action::Patch {
                api_version: "v1".into(),
                resource: "persistentvolumeclaims".into(),
                key,
                subresource: "".into(),
                kind: PatchKind::Merge,
                patch: json!({}),
            }]),
            PreBindInput::Done(results) => match results.into_iter().find_map(Result::err) {
                Some(error) => PreBindStep::Fail(Status::error(error)),
                None => wait(),
            },
            PreBindInput::Changed(_) => PreBindStep::Ready,
            PreBindInput::Deadline => PreBindStep::Fail(Status::unschedulable("claim not bound")),
        }
    }
}

/// The default set that this build has, and the plugins above.
pub(crate) fn sim() -> Sim {
    sim_with_extenders(Vec::new())
}

/// The same with extenders.
pub(crate) fn sim_with_extenders(extenders: Vec<ExtenderSpec>) -> Sim {
    let mut registry: Registry = loadmaster_plugins::registry();
    registry.register::<Panics>().unwrap();
    registry.register::<Holds>().unwrap();
    registry.register::<HoldsToo>().unwrap();
    registry.register::<Steps>().unwrap();
    let gates = Gates::default();
    let catalog = loadmaster_config::RegistryCatalog::new(&registry, &gates);
    let config = "
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- plugins:
    multiPoint:
      enabled: [{name: Panics}, {name: Holds}, {name: HoldsToo}, {name: Steps}]
      disabled: [{name: VolumeRestrictions}, {name: NodeVolumeLimits}, {name: VolumeBinding}, {name: VolumeZone}]
";
    let loaded = loadmaster_config::load(config, "test", &catalog).unwrap();
    let options = SchedulerOptions::from_config(&loaded, &registry, &gates).unwrap();
    Sim::new(SchedulerOptions { extenders, ..options }, 0).unwrap()
}

/// A node with this many cores.
pub(crate) fn node(name: &str, cores: u32) -> Node {
    let allocatable = json!({"cpu": cores.to_string(), "memory": "8Gi", "pods": "110"});
    serde_json::from_value(
        json!({"metadata": {"name": name}, "status": {"allocatable": allocatable}}),
    )
    .unwrap()
}

/// A pod that asks for this many cores, with these labels.
pub(crate) fn pod(name: &str, cores: u32, labels: &[(&str, &str)]) -> Pod {
    let labels: std::collections::BTreeMap<_, _> = labels.iter().copied().collect();
    serde_json::from_value(json!({
        "metadata": {
            "name": name, "namespace": "default", "uid": format!("uid-{name}"), "labels": labels,
        },
        "spec": {"containers": [
            {"name": "c", "resources": {"requests": {"cpu": cores.to_string()}}},
        ]},
    }))
    .unwrap()
}

/// The same with a priority.
pub(crate) fn pod_of_priority(name: &str, cores: u32, priority: i32) -> Pod {
    let mut pod = pod(name, cores, &[]);
    pod.spec.priority = Some(priority);
    pod
}

/// Where a pod is, if it is anywhere.
pub(crate) fn node_of(sim: &Sim, name: &str) -> Option<String> {
    let pod = sim.cluster().pod(&ObjectKey::new("default", name))?;
    pod.node_name().map(ToString::to_string)
}

/// Where a pod waits, and how often it has been tried there.
pub(crate) fn queued<'s>(sim: &'s Sim, name: &str) -> Option<(&'static str, &'s QueuedPodInfo)> {
    let (part, info) = sim.scheduler().queue().get(&ObjectKey::new("default", name))?;
    Some((part.as_str(), info))
}
