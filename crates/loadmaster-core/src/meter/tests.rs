use std::sync::{
    Mutex,
    atomic::{AtomicU64, Ordering::Relaxed},
};
use std::{sync::Arc, time::Duration};

use loadmaster_framework::{
    Action, Bind, Binding, Cycle, CycleState, FieldError, Filter, Gates, Handle, Hooks, NodeInfo,
    NodeToStatus, Object, Outcome, Plugin, PostFilter, PostFilterResult, QueueSort, QueuedPodInfo,
    Registry, Score, Status,
    api::{Node, ObjectMeta, Pod, PodSpec, Text},
};

use super::*;
use crate::{
    cycle::Sequential,
    profile::{PluginRef, Profile, ProfileSpec},
    scheduler::{Attempt, AttemptOutcome, ClusterChange, Scheduler, SchedulerOptions},
};
use loadmaster_framework::Point;

/// A clock that stands still but for what plugins take, and a list of what it was told.
#[derive(Debug, Default)]
struct FakeMeter {
    log: Mutex<Vec<String>>,
}

thread_local! {
    static CLOCK: AtomicU64 = const { AtomicU64::new(0) };
}

fn pass(time: Duration) {
    CLOCK.with(|it| it.fetch_add(nanos(time), Relaxed));
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap()
}

fn clock() -> Duration {
    Duration::from_nanos(CLOCK.with(|it| it.load(Relaxed)))
}

impl Meter for FakeMeter {
    fn now(&self) -> Duration {
        clock()
    }

    fn enter(&self, _: PluginCall<'_>) -> Duration {
        clock()
    }

    fn leave(&self) -> Duration {
        clock()
    }

    fn observe(&self, observation: Observation<'_>) {
        self.log.lock().unwrap().push(format!("{observation:?}"));
    }
}

impl FakeMeter {
    fn of_kind(&self, kind: &str) -> Vec<String> {
        let log = self.log.lock().unwrap();
        log.iter().filter(|it| it.starts_with(kind)).cloned().collect()
    }
}

/// Does everything that a profile needs; takes its time in Filter, Score or PostFilter as the pod's
/// label of that name says, in milliseconds, and fits where the label `fits` is not `no`.
struct Dawdler;

#[derive(Default, serde::Serialize, serde::Deserialize)]
struct NoArgs {}

fn dawdle(cx: Cycle<'_>, point: &str) {
    let millis = cx.pod.label(point).and_then(|it| it.parse().ok()).unwrap_or_default();
    pass(Duration::from_millis(millis));
}

impl Plugin for Dawdler {
    const NAME: &'static str = "Dawdler";
    type Args = NoArgs;

    fn build(_: NoArgs, _: &Gates) -> Result<Hooks, FieldError> {
        Ok(Hooks::of(Self).queue_sort().filter().post_filter().score().bind().into())
    }
}

impl QueueSort for Dawdler {
    fn less(&self, a: &QueuedPodInfo, b: &QueuedPodInfo) -> bool {
        a.pod.name() < b.pod.name()
    }
}

impl Filter for Dawdler {
    fn filter(&self, cx: Cycle<'_>, _: &CycleState, _: &NodeInfo) -> Outcome {
        dawdle(cx, "filter");
        match cx.pod.label("fits") {
            Some("no") => Err(Status::unschedulable("no")),
            Some("panic") => panic!("as told"),
            _ => Ok(()),
        }
    }
}

impl PostFilter for Dawdler {
    fn post_filter(
        &self,
        cx: Cycle<'_>,
        state: &mut CycleState,
        _: &NodeToStatus,
        handle: &mut dyn Handle,
    ) -> PostFilterResult {
        dawdle(cx, "post_filter");
        for node in cx.snapshot.nodes() {
            let _ = handle.run_filters(cx, state, node);
        }
        PostFilterResult::nothing(Status::unschedulable("no"))
    }
}

impl Score for Dawdler {
    fn score(&self, cx: Cycle<'_>, _: &CycleState, _: &NodeInfo) -> Outcome<i64> {
        dawdle(cx, "score");
        Ok(1)
    }
}

impl Bind for Dawdler {
    fn bind(&self, cx: Cycle<'_>, _: &CycleState, node: &str) -> Outcome<Binding> {
        let (key, uid) = (cx.pod.key(), cx.pod.uid().clone());
        Ok(Binding::Do(Action::Bind { pod: key, uid, node: Text::from(node) }))
    }
}

/// A scheduler with three nodes whose one plugin may take a second.
fn scheduler() -> (Scheduler, Arc<FakeMeter>) {
    let mut registry = Registry::default();
    registry.register::<Dawdler>().unwrap();
    let points = [Point::QueueSort, Point::Filter, Point::PostFilter, Point::Score, Point::Bind];
    let plugins = points.map(|it| (it, vec![PluginRef::new("Dawdler")])).into();
    let spec = ProfileSpec {
        scheduler_name: "default-scheduler".to_owned(),
        plugins,
        ..Default::default()
    };
    let profile = Profile::build(&spec, &registry, &Gates::default()).unwrap();
    let meter = Arc::new(FakeMeter::default());
    let mut scheduler = Scheduler::new(SchedulerOptions {
        profiles: vec![profile],
        meter: Some(Arc::clone(&meter) as Arc<dyn Meter>),
        plugin_time_budget: Some(Duration::from_secs(1)),
        ..SchedulerOptions::default()
    })
    .unwrap();
    for name in ["n1", "n2", "n3"] {
        let metadata = ObjectMeta { name: name.into(), ..ObjectMeta::default() };
        let node = Node { metadata, ..Node::default() };
        scheduler.handle_event(clock(), ClusterChange::Applied(Object::Node(Arc::new(node))));
    }
    (scheduler, meter)
}

fn try_pod(scheduler: &mut Scheduler, name: &str, labels: &[(&str, &str)]) -> AttemptOutcome {
    let metadata = ObjectMeta {
        name: name.into(),
        namespace: "default".into(),
        uid: name.into(),
        labels: labels.iter().map(|(key, value)| (Text::from(*key), Text::from(*value))).collect(),
        ..ObjectMeta::default()
    };
    let pod = Pod { metadata, spec: PodSpec::default(), ..Pod::default() };
    scheduler.handle_event(clock(), ClusterChange::Applied(Object::Pod(Arc::new(pod))));
    let Attempt { outcome, .. } = scheduler.schedule_one(clock(), &mut Sequential).unwrap();
    outcome
}

#[test]
fn a_plugin_that_uses_up_its_budget_over_several_nodes_fails_the_pod_by_its_name() {
    let (mut scheduler, meter) = scheduler();
    let outcome = try_pod(&mut scheduler, "slow", &[("filter", "600")]);
    let AttemptOutcome::Error { message } = outcome else { panic!("{outcome:?}") };
    assert_eq!(
        message,
        "running \"Dawdler\" filter plugin: plugin Dawdler has taken 1.2s of this cycle, more than \
         its time budget of 1.0s, last at Filter for node n2"
    );
    // The third node was not asked about any more.
    assert_eq!(clock(), Duration::from_millis(1200));
    assert_eq!(meter.of_kind("OverBudget").len(), 1);
    let outcome = try_pod(&mut scheduler, "quick", &[("filter", "300")]);
    assert!(matches!(outcome, AttemptOutcome::Assumed { .. }), "{outcome:?}");
}

#[test]
fn what_a_what_if_takes_is_put_down_to_the_plugin_that_took_it() {
    let (mut scheduler, meter) = scheduler();
    // 3 × 250 ms of Filter in the cycle, and the second what-if is one too many.
    let labels = [("filter", "250"), ("fits", "no"), ("post_filter", "10")];
    let outcome = try_pod(&mut scheduler, "slow", &labels);
    let AttemptOutcome::Error { message } = outcome else { panic!("{outcome:?}") };
    assert!(message.contains("plugin Dawdler has taken 1.3s of this cycle"), "{message}");
    assert!(message.ends_with("last at Filter"), "{message}");
    assert_eq!(meter.of_kind("OverBudget").len(), 1);
}

#[test]
fn a_panic_is_counted_by_plugin_and_point() {
    let (mut scheduler, meter) = scheduler();
    let outcome = try_pod(&mut scheduler, "p", &[("fits", "panic")]);
    assert!(matches!(outcome, AttemptOutcome::Error { .. }), "{outcome:?}");
    assert_eq!(meter.of_kind("Panic"), [r#"Panic { plugin: "Dawdler", point: Filter }"#]);
}

#[test]
fn each_point_and_the_try_itself_are_timed() {
    let (mut scheduler, meter) = scheduler();
    try_pod(&mut scheduler, "p", &[("filter", "10"), ("score", "2")]);
    let (id, _) = scheduler.poll_action().unwrap();
    pass(Duration::from_millis(7));
    let done = Ok(serde_json::Value::Null);
    scheduler.handle_result(clock(), id, crate::scheduler::WorkResult::Done(done));
    let point = |point, millis| {
        let time = Duration::from_millis(millis);
        format!(
            r#"Point {{ profile: "default-scheduler", point: {point}, code: Success, took: {time:?} }}"#
        )
    };
    let points = meter.of_kind("Point");
    for expected in [point("Filter", 30), point("Score", 6), point("Bind", 7), point("PostBind", 0)]
    {
        assert!(points.contains(&expected), "{expected} is not in {points:#?}");
    }
    assert_eq!(
        meter.of_kind("Attempt"),
        [r#"Attempt { profile: "default-scheduler", result: Scheduled, took: 43ms }"#]
    );
    assert_eq!(meter.of_kind("Algorithm"), ["Algorithm { took: 36ms }"]);
    let evaluated = meter.of_kind("Evaluated").join("\n");
    assert!(evaluated.contains("point: Filter, times: 3"), "{evaluated}");
    assert!(evaluated.contains("point: Score, times: 3"), "{evaluated}");
}

#[test]
fn a_rejected_pod_counts_for_the_plugin_until_it_is_gone() {
    let (mut scheduler, _) = scheduler();
    try_pod(&mut scheduler, "p", &[("fits", "no")]);
    let reasons = |it: &Scheduler| it.queue().unschedulable_reasons().map(|it| it.2).sum::<usize>();
    let all: Vec<_> = scheduler.queue().unschedulable_reasons().collect();
    assert_eq!(all, [("default-scheduler", "Dawdler", 1)]);
    let metadata = ObjectMeta {
        name: "p".into(),
        namespace: "default".into(),
        uid: "p".into(),
        ..ObjectMeta::default()
    };
    let pod = Arc::new(Pod { metadata, ..Pod::default() });
    scheduler.handle_event(clock(), ClusterChange::Deleted(Object::Pod(pod)));
    assert_eq!(reasons(&scheduler), 0);
}

#[test]
fn about_one_cycle_in_ten_is_sampled() {
    let (mut scheduler, meter) = scheduler();
    for i in 0..1000 {
        try_pod(&mut scheduler, &format!("p{i}"), &[]);
    }
    let sampled = meter.of_kind("Plugin { plugin: \"Dawdler\", point: Filter").len() / 3;
    assert!((70..130).contains(&sampled), "{sampled}");
}
