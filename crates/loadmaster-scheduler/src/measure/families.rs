//! Every metric: upstream's with upstream's names, helps, labels and buckets, and ours.
//!
//! Source: `pkg/scheduler/metrics/metrics.go`, component-base `metrics/prometheus`, v1.36.

use loadmaster_k8s::leader::ELECTION_NAME;
use prometheus::{
    Histogram, HistogramOpts, HistogramVec, IntCounter, IntCounterVec, IntGaugeVec, Opts, Registry,
    core::Collector,
};

use super::{own_process::OwnProcess, slis::Slis};

/// Every metric, in one registry.
#[derive(Debug)]
pub(crate) struct Families {
    pub(super) registry: Registry,
    pub(super) own: OwnProcess,
    pub(crate) slis: Slis,
    pub(crate) schedule_attempts: IntCounterVec,
    pub(crate) attempt_duration: HistogramVec,
    pub(crate) algorithm_duration: Histogram,
    pub(crate) event_handling_duration: HistogramVec,
    pub(crate) preemption_victims: Histogram,
    pub(crate) preemption_attempts: IntCounter,
    pub(crate) pending_pods: IntGaugeVec,
    pub(crate) inflight_events: IntGaugeVec,
    pub(crate) goroutines: IntGaugeVec,
    pub(crate) sli_duration: HistogramVec,
    pub(crate) scheduling_attempts: Histogram,
    pub(crate) scheduled_after_flush: IntCounter,
    pub(crate) extension_point_duration: HistogramVec,
    pub(crate) plugin_duration: HistogramVec,
    pub(crate) hint_duration: HistogramVec,
    pub(crate) incoming_pods: IntCounterVec,
    pub(crate) permit_wait_duration: HistogramVec,
    pub(crate) cache_size: IntGaugeVec,
    pub(crate) unschedulable_pods: IntGaugeVec,
    pub(crate) plugin_evaluation: IntCounterVec,
    pub(crate) preemption_duration: HistogramVec,
    pub(crate) preemption_executions: IntCounterVec,
    pub(crate) leader: IntGaugeVec,
    pub(crate) leader_slow_paths: IntCounterVec,
    pub(crate) client_requests: IntCounterVec,
    pub(crate) client_duration: HistogramVec,
    pub(crate) plugin_panics: IntCounterVec,
    pub(crate) slow_plugins: IntCounterVec,
    pub(crate) repeated_preemptions: IntCounterVec,
    pub(crate) config_reloads: IntCounterVec,
    pub(crate) config_reload_successful: IntGaugeVec,
}

impl Families {
    pub(super) fn new() -> Self {
        let registry = Registry::new();
        let new = Maker(&registry);
        let own = OwnProcess::new(&registry);
        let second = exponential(0.001, 2.0, 15);
        let point = exponential(0.0001, 2.0, 12);
        let plugin = exponential(0.00001, 1.5, 20);
        let long = exponential(0.01, 2.0, 20);
        let families = Self {
            schedule_attempts: new
                .counters("scheduler_schedule_attempts_total", &["result", "profile"]),
            attempt_duration: new.histograms(
                "scheduler_scheduling_attempt_duration_seconds",
                &second,
                &["result", "profile"],
            ),
            algorithm_duration: new
                .histogram("scheduler_scheduling_algorithm_duration_seconds", &second),
            event_handling_duration: new.histograms(
                "scheduler_event_handling_duration_seconds",
                &point,
                &["event"],
            ),
            preemption_victims: new
                .histogram("scheduler_preemption_victims", &exponential(1.0, 2.0, 7)),
            preemption_attempts: new.counter("scheduler_preemption_attempts_total"),
            pending_pods: new.gauges("scheduler_pending_pods", &["queue"]),
            inflight_events: new.gauges("scheduler_inflight_events", &["event"]),
            goroutines: new.gauges("scheduler_goroutines", &["operation"]),
            sli_duration: new.histograms(
                "scheduler_pod_scheduling_sli_duration_seconds",
                &long,
                &["attempts"],
            ),
            scheduling_attempts: new
                .histogram("scheduler_pod_scheduling_attempts", &exponential(1.0, 2.0, 5)),
            scheduled_after_flush: new.counter("scheduler_pod_scheduled_after_flush_total"),
            extension_point_duration: new.histograms(
                "scheduler_framework_extension_point_duration_seconds",
                &point,
                &["extension_point", "status", "profile"],
            ),
            plugin_duration: new.histograms(
                "scheduler_plugin_execution_duration_seconds",
                &plugin,
                &["plugin", "extension_point", "status"],
            ),
            hint_duration: new.histograms(
                "scheduler_queueing_hint_execution_duration_seconds",
                &plugin,
                &["plugin", "event", "hint"],
            ),
            incoming_pods: new.counters("scheduler_queue_incoming_pods_total", &["queue", "event"]),
            permit_wait_duration: new.histograms(
                "scheduler_permit_wait_duration_seconds",
                &second,
                &["result"],
            ),
            cache_size: new.gauges("scheduler_cache_size", &["type"]),
            unschedulable_pods: new.gauges("scheduler_unschedulable_pods", &["plugin", "profile"]),
            plugin_evaluation: new.counters(
                "scheduler_plugin_evaluation_total",
                &["plugin", "extension_point", "profile"],
            ),
            preemption_duration: new.histograms(
                "scheduler_preemption_goroutines_duration_seconds",
                &long,
                &["result"],
            ),
            preemption_executions: new
                .counters("scheduler_preemption_goroutines_execution_total", &["result"]),
            leader: new.gauges("leader_election_master_status", &["name"]),
            leader_slow_paths: new.counters("leader_election_slowpath_total", &["name"]),
            client_requests: new
                .counters("rest_client_requests_total", &["code", "method", "host"]),
            client_duration: new.histograms(
                "rest_client_request_duration_seconds",
                &CALLS,
                &["verb", "host"],
            ),
            plugin_panics: new
                .counters("loadmaster_plugin_panics_total", &["plugin", "extension_point"]),
            slow_plugins: new
                .counters("loadmaster_plugin_over_budget_total", &["plugin", "extension_point"]),
            repeated_preemptions: new
                .counters("loadmaster_repeated_preemptions_total", &["profile"]),
            config_reloads: new.counters("loadmaster_config_reloads_total", &["result"]),
            config_reload_successful: new
                .gauges("loadmaster_config_last_reload_successful", &["digest"]),
            slis: Slis::new(own.started()),
            own,
            registry: registry.clone(),
        };
        new.build_info();
        families
    }

    /// How a leader election stands.
    pub(crate) fn set_leader(&self, leads: bool, slow_paths: u64) {
        self.leader.with_label_values(&[ELECTION_NAME]).set(i64::from(leads));
        let counter = self.leader_slow_paths.with_label_values(&[ELECTION_NAME]);
        counter.inc_by(slow_paths.saturating_sub(counter.get()));
    }
}

/// Bounds for calls to the API server, in seconds.
const CALLS: [f64; 12] = [0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 30.0, 60.0];

/// `linux/amd64`, by Go's names.
fn platform() -> String {
    let arch = match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    };
    format!("{}/{arch}", std::env::consts::OS)
}

/// `count` bounds, each `factor` times the one before.
fn exponential(start: f64, factor: f64, count: usize) -> Vec<f64> {
    std::iter::successors(Some(start), |it| Some(it * factor)).take(count).collect()
}

/// Makes metrics and registers them.
struct Maker<'a>(&'a Registry);

const VALID: &str = "names and labels are constants, each used once";

/// The help text of a metric, from `helps.txt`: a line each, the name and its text.
pub(super) fn help(name: &str) -> &'static str {
    let mut lines = include_str!("helps.txt").lines();
    let found = lines.find_map(|it| it.strip_prefix(name)?.strip_prefix(' '));
    found.expect("every metric has a line in helps.txt")
}

impl Maker<'_> {
    fn register<C: Collector + Clone + 'static>(&self, metric: C) -> C {
        self.0.register(Box::new(metric.clone())).expect(VALID);
        metric
    }

    fn build_info(&self) {
        let labels = [
            ("major", ""),
            ("minor", ""),
            ("git_version", concat!("v", env!("CARGO_PKG_VERSION"))),
            ("git_commit", ""),
            ("git_tree_state", ""),
            ("build_date", ""),
            ("go_version", ""),
            ("compiler", "rustc"),
            ("platform", &platform()),
        ];
        let (names, values): (Vec<_>, Vec<_>) = labels.into_iter().unzip();
        self.gauges("kubernetes_build_info", &names).with_label_values(&values).set(1);
    }

    fn counter(&self, name: &str) -> IntCounter {
        self.register(IntCounter::new(name, help(name)).expect(VALID))
    }

    fn counters(&self, name: &str, labels: &[&str]) -> IntCounterVec {
        self.register(IntCounterVec::new(Opts::new(name, help(name)), labels).expect(VALID))
    }

    fn gauges(&self, name: &str, labels: &[&str]) -> IntGaugeVec {
        self.register(IntGaugeVec::new(Opts::new(name, help(name)), labels).expect(VALID))
    }

    fn histogram(&self, name: &str, buckets: &[f64]) -> Histogram {
        let opts = HistogramOpts::new(name, help(name)).buckets(buckets.to_vec());
        self.register(Histogram::with_opts(opts).expect(VALID))
    }

    fn histograms(&self, name: &str, buckets: &[f64], labels: &[&str]) -> HistogramVec {
        let opts = HistogramOpts::new(name, help(name)).buckets(buckets.to_vec());
        self.register(HistogramVec::new(opts, labels).expect(VALID))
    }
}
