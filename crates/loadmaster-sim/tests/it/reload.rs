//! Another configuration takes over between two cycles: who keeps the plugins that it was begun
//! with, and what becomes of everybody else.

use std::{cell::RefCell, time::Duration};

use loadmaster_core::{
    cycle::ExtenderSpec,
    scheduler::{OptionsError, SchedulerOptions, Work},
};
use loadmaster_framework::{
    ClusterEventWithHint, Cycle, CycleState, Enqueue, EnqueueExtensions, FieldError, Filter, Gates,
    Handle, Hooks, NodeInfo, Outcome, Permission, Permit, Plugin, PostBind, PreEnqueue, QueueSort,
    QueuedPodInfo, Reserve, Status,
};
use loadmaster_sim::Sim;

use crate::plugins::{node, node_of, pod, queued};

thread_local! {
    /// What [`Diary`] was asked, by whichever instance.
    static ENTRIES: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
}

fn entries() -> Vec<String> {
    ENTRIES.with_borrow_mut(std::mem::take)
}

/// Writes down what it is asked under the name that its arguments give it, and keeps count.
struct Diary(Args);

#[derive(Clone, Default, serde::Serialize, serde::Deserialize)]
#[serde(default)]
struct Args {
    name: String,
    /// Whether pods are held back.
    gate: bool,
    /// Whether every node is refused.
    refuse: bool,
}

#[derive(Clone, Debug, Default)]
struct Reserved(u32);

impl Diary {
    fn write(&self, what: &str, cx: Cycle<'_>) {
        let line = format!("{}: {what} {}", self.0.name, cx.pod.name());
        ENTRIES.with_borrow_mut(|it| it.push(line));
    }
}

impl Plugin for Diary {
    const NAME: &'static str = "Diary";
    type Args = Args;

    fn build(args: Args, _: &Gates) -> Result<Hooks, FieldError> {
        let hooks = Hooks::of(Self(args)).pre_enqueue().filter().reserve().permit().post_bind();
        Ok(hooks.enqueue_extensions().into())
    }
}

/// Nothing that happens in the cluster helps a pod that it refused.
impl EnqueueExtensions for Diary {
    fn events_to_register(&self) -> Vec<ClusterEventWithHint> {
        Vec::new()
    }
}

impl PreEnqueue for Diary {
    fn pre_enqueue(&self, _: Enqueue<'_>) -> Outcome {
        if self.0.gate { Err(Status::unresolvable("the gate is shut")) } else { Ok(()) }
    }
}

impl Filter for Diary {
    fn filter(&self, _: Cycle<'_>, _: &CycleState, _: &NodeInfo) -> Outcome {
        if self.0.refuse { Err(Status::unschedulable("not here")) } else { Ok(()) }
    }
}

impl Reserve for Diary {
    fn reserve(
        &self,
        cx: Cycle<'_>,
        _: &mut CycleState,
        _: &str,
        handle: &mut dyn Handle,
    ) -> Outcome {
        let Reserved(count) = handle.slot().get_or_default();
        *count += 1;
        self.write(&format!("reserve {count}"), cx);
        Ok(())
    }

    fn unreserve(&self, cx: Cycle<'_>, _: &mut CycleState, _: &str, handle: &mut dyn Handle) {
        let Reserved(count) = handle.slot().get_or_default();
        *count -= 1;
        self.write(&format!("unreserve {count}"), cx);
    }
}

impl Permit for Diary {
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
        let hold = cx.pod.label("hold").is_some();
        Ok(if hold { Permission::Wait(Duration::from_secs(30)) } else { Permission::Allow })
    }
}

impl PostBind for Diary {
    fn post_bind(&self, cx: Cycle<'_>, _: &CycleState, _: &str, _: &mut dyn Handle) {
        self.write("post-bind", cx);
    }
}

/// Orders the queue by name, last one first.
struct Backwards;

#[derive(Default, serde::Serialize, serde::Deserialize)]
struct NoArgs {}

impl Plugin for Backwards {
    const NAME: &'static str = "Backwards";
    type Args = NoArgs;

    fn build(_: NoArgs, _: &Gates) -> Result<Hooks, FieldError> {
        Ok(Hooks::of(Self).queue_sort().into())
    }
}

impl QueueSort for Backwards {
    fn less(&self, a: &QueuedPodInfo, b: &QueuedPodInfo) -> bool {
        a.pod.name() > b.pod.name()
    }
}

/// What a file with these lines comes to.
fn options(lines: &str) -> SchedulerOptions {
    let mut registry = loadmaster_plugins::registry();
    registry.register::<Diary>().unwrap();
    registry.register::<Backwards>().unwrap();
    let gates = Gates::default();
    let catalog = loadmaster_config::RegistryCatalog::new(&registry, &gates);
    let head = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n";
    let loaded = loadmaster_config::load(&format!("{head}{lines}"), "test", &catalog).unwrap();
    SchedulerOptions::from_config(&loaded, &registry, &gates).unwrap()
}

/// A profile of this name with `Diary`, whose arguments these are.
fn profile(scheduler: &str, diary: &str) -> String {
    format!(
        "- schedulerName: {scheduler}
  plugins:
    multiPoint:
      enabled: [{{name: PrioritySort}}, {{name: NodeResourcesFit}}, {{name: DefaultBinder}}, {{name: Diary}}]
      disabled: [{{name: '*'}}]
  pluginConfig:
  - name: Diary
    args: {diary}
"
    )
}

/// The default scheduler with `Diary` alone.
fn diary(args: &str) -> SchedulerOptions {
    options(&format!("profiles:\n{}", profile("default-scheduler", args)))
}

/// One node, and a scheduler of these options.
fn sim(options: SchedulerOptions) -> Sim {
    entries();
    let mut sim = Sim::new(options, 0).unwrap();
    sim.write(node("n1", 4));
    sim
}

#[test]
fn a_pod_that_waits_at_permit_is_given_back_by_the_plugins_that_it_was_begun_with() {
    let mut sim = sim(diary("{name: old}"));
    sim.write(pod("held", 1, &[("hold", "")]));
    sim.run();
    let replaced = sim.replace_profiles(diary("{name: new}")).unwrap();
    assert_eq!(replaced.superseded, 1);
    assert_eq!(sim.scheduler().binding_counts(), (1, 1), "it waits on");
    assert_eq!(entries(), ["old: reserve 1 held"]);
    sim.advance(Duration::from_secs(31));
    assert_eq!(entries(), ["old: unreserve 0 held"]);
    assert_eq!(sim.scheduler().superseded_count(), 0);
    // From here on it is the new plugins' business.
    sim.run();
    assert_eq!(entries(), ["new: reserve 1 held"]);
}

#[test]
fn a_pod_that_is_let_go_after_a_reload_is_bound_by_the_plugins_that_it_was_begun_with() {
    let mut sim = sim(diary("{name: old}"));
    sim.write(pod("held", 1, &[("hold", "")]));
    sim.run();
    sim.replace_profiles(diary("{name: new}")).unwrap();
    sim.write(pod("key", 1, &[("release", "")]));
    sim.run();
    assert_eq!(node_of(&sim, "held").as_deref(), Some("n1"));
    let mut written = entries();
    written.sort();
    let expected =
        ["new: post-bind key", "new: reserve 1 key", "old: post-bind held", "old: reserve 1 held"];
    assert_eq!(written, expected);
}

#[test]
fn a_pod_in_flight_whose_profile_goes_is_dealt_with_to_the_end_and_then_left() {
    let mut sim = sim(diary("{name: old}"));
    sim.write(pod("held", 1, &[("hold", "")]));
    sim.run();
    sim.replace_profiles(options(&format!("profiles:\n{}", profile("other", "{name: new}"))))
        .unwrap();
    sim.advance(Duration::from_secs(31));
    sim.run();
    assert_eq!(entries(), ["old: reserve 1 held", "old: unreserve 0 held"]);
    assert!(queued(&sim, "held").is_none() && sim.scheduler().queue().in_flight_len() == (0, 0));
    assert_eq!(sim.scheduler().cache().assumed_pod_count(), 0);
}

#[test]
fn a_plugin_with_the_same_arguments_goes_on_with_what_it_kept_and_another_begins_anew() {
    let mut sim = sim(diary("{name: a}"));
    sim.write(pod("p1", 1, &[]));
    sim.run();
    sim.replace_profiles(options(&format!(
        "percentageOfNodesToScore: 10\nprofiles:\n{}",
        profile("default-scheduler", "{name: a}")
    )))
    .unwrap();
    sim.write(pod("p2", 1, &[]));
    sim.run();
    sim.replace_profiles(diary("{name: b}")).unwrap();
    sim.write(pod("p3", 1, &[]));
    sim.run();
    let reserved: Vec<_> = entries().into_iter().filter(|it| it.contains("reserve")).collect();
    assert_eq!(reserved, ["a: reserve 1 p1", "a: reserve 2 p2", "b: reserve 1 p3"]);
}

#[test]
fn unschedulable_pods_are_tried_again_once_their_backoff_is_over() {
    let mut sim = sim(diary("{refuse: true}"));
    sim.write(pod("p", 1, &[]));
    sim.run();
    sim.advance(Duration::from_mins(1));
    assert_eq!(queued(&sim, "p").unwrap().0, "unschedulable");
    sim.replace_profiles(diary("{}")).unwrap();
    assert_eq!(queued(&sim, "p").unwrap().0, "active");
    sim.run();
    assert_eq!(node_of(&sim, "p").as_deref(), Some("n1"));
}

#[test]
fn a_pod_found_unschedulable_by_plugins_that_were_replaced_meanwhile_is_tried_again() {
    let mut sim = sim(diary("{}"));
    sim.write(pod("held", 1, &[("hold", "")]));
    sim.run();
    sim.replace_profiles(diary("{name: new}")).unwrap();
    // The refusal is by a name that nothing wakes any more.
    sim.advance(Duration::from_secs(31));
    assert_eq!(queued(&sim, "held").unwrap().0, "backoff");
}

#[test]
fn gates_are_asked_anew() {
    let mut sim = sim(diary("{gate: true}"));
    sim.write(pod("p", 1, &[]));
    sim.settle();
    assert!(queued(&sim, "p").unwrap().1.is_gated());
    sim.replace_profiles(diary("{name: open}")).unwrap();
    assert_eq!(queued(&sim, "p").unwrap().0, "active");
    sim.replace_profiles(diary("{gate: true}")).unwrap();
    assert!(queued(&sim, "p").unwrap().1.is_gated(), "an active pod can be held back too");
    assert_eq!(sim.scheduler().queue().pending_counts().gated, 1);
}

#[test]
fn pods_of_a_new_profile_are_found_and_those_of_one_that_went_are_left_alone() {
    let mut sim = sim(diary("{}"));
    let mut other = pod("other", 1, &[]);
    other.spec.scheduler_name = "second".into();
    sim.write(other);
    sim.write(pod("mine", 8, &[]));
    sim.run();
    assert!(queued(&sim, "other").is_none() && queued(&sim, "mine").is_some());
    let second = options(&format!("profiles:\n{}", profile("second", "{}")));
    let replaced = sim.replace_profiles(second).unwrap();
    assert_eq!((&*replaced.added[0], &*replaced.removed[0]), ("second", "default-scheduler"));
    assert_eq!((replaced.adopted, replaced.dropped), (1, 1));
    assert!(queued(&sim, "mine").is_none());
    sim.run();
    assert_eq!(node_of(&sim, "other").as_deref(), Some("n1"));
    sim.check_pods().unwrap();
}

#[test]
fn the_queue_is_put_in_the_order_of_the_new_queue_sort_plugin() {
    let mut sim = sim(diary("{}"));
    for name in ["a", "c", "b"] {
        sim.write(pod(name, 1, &[]));
    }
    sim.settle();
    let backwards = profile("default-scheduler", "{}").replace("PrioritySort", "Backwards");
    sim.replace_profiles(options(&format!("profiles:\n{backwards}"))).unwrap();
    let tried = sim.run().into_iter().map(|it| it.pod.name().to_string());
    assert_eq!(tried.collect::<Vec<_>>(), ["c", "b", "a"]);
}

#[test]
fn backoffs_are_those_of_the_new_settings() {
    let mut sim = sim(diary("{refuse: true}"));
    sim.write(pod("p", 1, &[]));
    sim.run();
    let patient = profile("default-scheduler", "{refuse: true}");
    let patient = format!("podInitialBackoffSeconds: 8\nprofiles:\n{patient}");
    sim.replace_profiles(options(&patient)).unwrap();
    let (part, info) = queued(&sim, "p").unwrap();
    assert_eq!((part, info.backoff_expiration), ("backoff", Some(Duration::from_secs(8))));
}

#[test]
fn a_pod_is_bound_by_the_extender_that_it_was_begun_with() {
    let binder = |name: &str| SchedulerOptions {
        extenders: vec![ExtenderSpec { name: name.to_owned(), binds: true, ..Default::default() }],
        ..diary("{}")
    };
    let mut sim = sim(binder("http://old"));
    sim.write(pod("held", 1, &[("hold", "")]));
    sim.run();
    sim.replace_profiles(binder("http://new")).unwrap();
    sim.write(pod("key", 1, &[("release", "")]));
    sim.deliver();
    sim.schedule_one();
    let mut bound_by = Vec::new();
    while let Some((_, work)) = sim.poll_action() {
        if let Work::ExtenderBind { extender, pod, .. } = work {
            bound_by.push(format!("{} {extender}", pod.name()));
        }
    }
    assert_eq!(bound_by, ["held http://old", "key http://new"]);
}

#[test]
fn profiles_that_are_refused_change_nothing() {
    let mut sim = sim(diary("{gate: true}"));
    sim.write(pod("p", 1, &[]));
    sim.settle();
    let twice = |it: SchedulerOptions| {
        let profiles = diary("{}").profiles.into_iter().chain(it.profiles).collect();
        SchedulerOptions { profiles, ..it }
    };
    let error = sim.replace_profiles(twice(diary("{}"))).unwrap_err();
    assert_eq!(error, OptionsError::DuplicateProfile("default-scheduler".to_owned()));
    assert!(queued(&sim, "p").unwrap().1.is_gated());
}
