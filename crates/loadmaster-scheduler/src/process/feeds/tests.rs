//! Sources that answer, fail, are slow and go away, under a clock that tests wind.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::{Arc, Mutex},
};

use loadmaster_config::RegistryCatalog;
use loadmaster_core::{
    cycle::Sequential,
    profile::Profile,
    scheduler::{
        AttemptOutcome, ClusterChange, NewFact, Scheduler, SchedulerOptions, Work, WorkResult,
    },
};
use loadmaster_framework::{
    Action, Gates, OnStale, Polling,
    api::{Node, Pod},
};
use serde_json::{Value, json};
use tokio::time::Instant;

use super::{source::Said, *};

/// What a source does when it is asked.
enum Step {
    Says(Value),
    Fails,
    /// It never answers.
    Hangs,
}

/// A source that does one thing after the other, and then fails.
fn scripted(steps: Vec<Step>) -> Source {
    let steps = Arc::new(Mutex::new(VecDeque::from(steps)));
    Source::Scripted(Arc::new(move || {
        let step = steps.lock().unwrap().pop_front().unwrap_or(Step::Fails);
        Box::pin(async move {
            match step {
                Step::Says(facts) => Ok(serde_json::from_value(facts).unwrap()),
                Step::Fails => Err("broken".to_owned()) as Said,
                Step::Hangs => std::future::pending().await,
            }
        })
    }))
}

fn feed(on_stale: OnStale) -> Feed {
    Feed {
        name: "load".into(),
        source: FeedSource::Registered { polling: polling() },
        max_age: Duration::from_mins(1),
        on_stale,
    }
}

/// Asked every 15 s, with a patience of 10 s.
fn polling() -> Polling {
    Polling::default()
}

/// A poller at work, and what it tells.
struct Desk {
    told: mpsc::Receiver<Told>,
    clock: Clock,
    task: JoinHandle<()>,
}

impl Desk {
    fn new(steps: Vec<Step>) -> Self {
        let (tell, told) = mpsc::channel(100);
        let clock = Clock::start();
        let poller = Poller::new(feed(OnStale::Neutral), polling(), scripted(steps), clock, tell);
        Self { told, clock, task: tokio::spawn(poller.run()) }
    }

    /// The next facts, each as `SECOND KEY=VALUE`.
    async fn next(&mut self) -> String {
        match self.told.recv().await.unwrap() {
            Told::Change(ClusterChange::Facts { facts, .. }) => {
                let show = |NewFact { key, value, at }: NewFact| {
                    let value = value.map_or_else(|| "gone".to_owned(), |it| it.to_string());
                    format!("{} {key}={value}", at.as_secs())
                };
                facts.into_iter().map(show).collect::<Vec<_>>().join(", ")
            }
            other => panic!("{other:?}"),
        }
    }
}

impl Drop for Desk {
    fn drop(&mut self) {
        self.task.abort();
    }
}

#[tokio::test(start_paused = true)]
async fn facts_are_told_with_the_time_of_the_question_and_taken_back_when_they_are_said_no_more() {
    let steps = vec![Step::Says(json!({"n1": 1, "n2": 2})), Step::Says(json!({"n2": 2}))];
    let mut desk = Desk::new(steps);
    let mut told = Vec::new();
    for _ in 0..2 {
        told.push(desk.next().await);
    }
    assert_eq!(told, ["0 n1=1, 0 n2=2", "15 n2=2, 15 n1=gone"]);
}

#[tokio::test(start_paused = true)]
async fn after_failures_in_a_row_a_source_is_asked_less_often_and_then_as_before() {
    let ok = || Step::Says(json!({"n1": 1}));
    let steps = vec![ok(), Step::Hangs, Step::Fails, ok(), ok()];
    let mut desk = Desk::new(steps);
    let mut told = Vec::new();
    for _ in 0..3 {
        told.push(desk.next().await);
    }
    // Asked at 15 in vain, 30 s later again, 60 s after that with success.
    assert_eq!(told, ["0 n1=1", "105 n1=1", "120 n1=1"]);
    assert_eq!(desk.clock.now().as_secs(), 120);
}

#[tokio::test]
async fn a_registered_source_that_panics_or_blocks_its_thread_fails_alone() {
    let poll: Poll = Arc::new(|| Box::pin(async { panic!("as it was told to") }));
    let mut source = Source::registered(poll);
    let error = source.ask(Duration::ZERO).await.err().unwrap();
    assert_eq!(error, "the source panicked");
    let (go, wait) = std::sync::mpsc::channel::<()>();
    let wait = Arc::new(Mutex::new(wait));
    let poll: Poll = Arc::new(move || {
        let wait = Arc::clone(&wait);
        Box::pin(async move {
            let _ = wait.lock().unwrap().recv();
            Ok(BTreeMap::from([("n1".to_owned(), json!(1))]))
        })
    });
    let mut source = Source::registered(poll);
    let limit = Duration::from_millis(1);
    let late = tokio::time::timeout(limit, source.ask(Duration::from_secs(1))).await;
    assert!(late.is_err(), "it blocks");
    go.send(()).unwrap();
    // The late answer counts for the time at which it was asked for.
    let (asked, _) = source.ask(Duration::from_secs(9)).await.ok().unwrap();
    assert_eq!(asked, Duration::from_secs(1));
}

fn profiles(plugins: &str) -> SchedulerOptions {
    let text = format!(
        "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n\
         profiles:\n{plugins}"
    );
    let (registry, gates) = (loadmaster_plugins::registry(), Gates::default());
    let catalog = RegistryCatalog::new(&registry, &gates);
    let loaded = loadmaster_config::load(&text, "test", &catalog).unwrap();
    SchedulerOptions::from_config(&loaded, &registry, &gates).unwrap()
}

/// A profile with `CustomMetric` and what is always needed.
fn metric_profile(scheduler: &str, args: &str) -> String {
    format!(
        "- schedulerName: {scheduler}
  plugins:
    multiPoint:
      enabled: [{{name: PrioritySort}}, {{name: DefaultBinder}}, {{name: CustomMetric}}]
      disabled: [{{name: '*'}}]
  pluginConfig:
  - name: CustomMetric
    args: {{url: 'http://metrics.example/load', {args}}}
"
    )
}

#[test]
fn a_feed_that_two_plugins_declare_alike_is_fetched_once_and_one_that_they_do_not_is_an_error() {
    let same = profiles(&(metric_profile("a", "maxAge: 5m") + &metric_profile("b", "maxAge: 1m")));
    let feeds = declared(&same.profiles, &FeedSources::default()).unwrap();
    assert_eq!(feeds.len(), 1);
    assert_eq!(feeds[0].max_age, Duration::from_mins(1), "it is stale when it is for anybody");
    let other = profiles(&(metric_profile("a", "") + &metric_profile("b", "interval: 1s")));
    let error = declared(&other.profiles, &FeedSources::default()).unwrap_err().to_string();
    assert!(error.contains("with different sources"), "{error}");
}

#[test]
fn a_source_that_cannot_be_asked_is_an_error_at_the_start() {
    let profile = metric_profile("a", "").replace("http://", "ftp://");
    let error = declared(&profiles(&profile).profiles, &FeedSources::default()).unwrap_err();
    assert!(error.to_string().contains("is no source of a feed"), "{error}");
}

/// A scheduler whose profiles answer to staleness in each way, a source, and the time.
struct Platform {
    scheduler: Scheduler,
    told: mpsc::Receiver<Told>,
    clock: Clock,
    task: JoinHandle<()>,
    pods: u32,
}

impl Platform {
    /// `n2` is the better node as long as the source says so.
    fn new(steps: Vec<Step>) -> Self {
        let all = ["Neutral", "KeepLast", "Refuse"];
        let each = all.map(|it| metric_profile(&it.to_lowercase(), &format!("onStale: {it}")));
        let options = profiles(&each.concat());
        let feed = options.profiles.iter().flat_map(Profile::feeds).next().unwrap().clone();
        let mut scheduler = Scheduler::new(options).unwrap();
        for name in ["n1", "n2"] {
            let node = json!({"metadata": {"name": name}});
            let node: Node = serde_json::from_value(node).unwrap();
            scheduler.handle_event(Duration::ZERO, ClusterChange::Applied(node.into()));
        }
        let (tell, told) = mpsc::channel(100);
        let clock = Clock::start();
        let poller = Poller::new(feed, polling(), scripted(steps), clock, tell);
        Self { scheduler, told, clock, task: tokio::spawn(poller.run()), pods: 0 }
    }

    /// Waits until so many seconds have passed, taking in what is told.
    async fn at(&mut self, second: u64) {
        let until = self.clock.at(Duration::from_secs(second));
        loop {
            tokio::select! {
                biased;
                Some(told) = self.told.recv() => {
                    let Told::Change(change) = told else { panic!("{told:?}") };
                    self.scheduler.handle_event(self.clock.now(), change);
                }
                () = tokio::time::sleep_until(until) => break,
            }
        }
        assert!(Instant::now() >= until);
        self.scheduler.handle_timeout(self.clock.now());
    }

    fn add_pod(&mut self, profile: &str) -> String {
        self.pods += 1;
        let name = format!("p{}", self.pods);
        let pod: Pod = serde_json::from_value(json!({
            "metadata": {"name": name, "namespace": "default", "uid": name},
            "spec": {"schedulerName": profile},
        }))
        .unwrap();
        self.scheduler.handle_event(self.clock.now(), ClusterChange::Applied(pod.into()));
        name
    }

    /// Tries every pod whose turn it is: `NAME NODE`, or `NAME MESSAGE`.
    fn run(&mut self) -> Vec<String> {
        let mut tried = Vec::new();
        while let Some(it) = self.scheduler.schedule_one(self.clock.now(), &mut Sequential) {
            let outcome = match it.outcome {
                AttemptOutcome::Assumed { node, .. } => node.to_string(),
                AttemptOutcome::Unschedulable { message, .. } => message,
                other => panic!("{other:?}"),
            };
            tried.push(format!("{} {outcome}", it.pod.name()));
            while let Some((id, work)) = self.scheduler.poll_action() {
                if matches!(work, Work::Do(Action::Bind { .. }) | Work::PatchPodStatus { .. }) {
                    let done = WorkResult::Done(Ok(Value::Null));
                    self.scheduler.handle_result(self.clock.now(), id, done);
                }
            }
        }
        tried
    }

    /// Where a new pod of the profile goes.
    fn place(&mut self, profile: &str) -> String {
        let name = self.add_pod(profile);
        let tried = self.run();
        let prefix = format!("{name} ");
        tried.iter().find_map(|it| it.strip_prefix(&prefix)).unwrap().to_owned()
    }
}

impl Drop for Platform {
    fn drop(&mut self) {
        self.task.abort();
    }
}

#[tokio::test(start_paused = true)]
async fn when_the_source_goes_away_each_plugin_does_what_it_has_declared_and_the_rest_goes_on() {
    let says = |n1: i64, n2: i64| Step::Says(json!({"n1": n1, "n2": n2}));
    // Asked at 0, 15 (slow), 45 (broken) and 105.
    let mut platform = Platform::new(vec![says(9, 1), Step::Hangs, Step::Fails, says(1, 9)]);
    platform.at(1).await;
    for profile in ["neutral", "keeplast", "refuse"] {
        assert_eq!(platform.place(profile), "n2", "{profile}, while facts are fresh");
    }
    // The source is silent, and what it said still counts.
    platform.at(59).await;
    for profile in ["neutral", "keeplast", "refuse"] {
        assert_eq!(platform.place(profile), "n2", "{profile}, while facts are fresh enough");
    }
    platform.at(61).await;
    assert_eq!(platform.place("keeplast"), "n2", "the last word holds");
    let anywhere: Vec<_> = (0..20).map(|_| platform.place("neutral")).collect();
    assert!(anywhere.contains(&"n1".to_owned()) && anywhere.contains(&"n2".to_owned()));
    let refused = platform.place("refuse");
    assert!(refused.contains("facts of feed CustomMetric:http://metrics.example/load are stale"));
    // Facts come back, and wake who waits for them.
    platform.at(104).await;
    assert!(platform.run().is_empty());
    platform.at(106).await;
    let woken = platform.run();
    assert_eq!(woken.len(), 1);
    assert!(woken[0].ends_with(" n1"), "{woken:?}");
}
