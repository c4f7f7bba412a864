//! What health checks found, for `/metrics/slis`.
//!
//! Source: component-base, `metrics/prometheus/slis`, v1.36.

use prometheus::{Gauge, IntCounterVec, IntGaugeVec, Opts, Registry};

use super::{encode, families::help};

/// What health checks found, in a registry of its own.
#[derive(Debug)]
pub(crate) struct Slis {
    registry: Registry,
    last: IntGaugeVec,
    total: IntCounterVec,
}

impl Slis {
    /// `started` is when the process began, in seconds since 1970.
    pub(super) fn new(started: f64) -> Self {
        const VALID: &str = "names and labels are constants, each used once";
        let registry = Registry::new();
        let (last, total) = ("kubernetes_healthcheck", "kubernetes_healthchecks_total");
        let last = IntGaugeVec::new(Opts::new(last, help(last)), &["name", "type"]).expect(VALID);
        let total = Opts::new(total, help(total));
        let total = IntCounterVec::new(total, &["name", "type", "status"]).expect(VALID);
        let since = "[ALPHA] Start time of the process since unix epoch in seconds.";
        let start = Gauge::new("process_start_time_seconds", since).expect(VALID);
        start.set(started);
        registry.register(Box::new(last.clone())).expect(VALID);
        registry.register(Box::new(total.clone())).expect(VALID);
        registry.register(Box::new(start)).expect(VALID);
        Self { registry, last, total }
    }

    /// The check `name` was asked for by the path `group`.
    pub(crate) fn observe(&self, name: &str, group: &str, is_well: bool) {
        self.last.with_label_values(&[name, group]).set(i64::from(is_well));
        let status = if is_well { "success" } else { "error" };
        self.total.with_label_values(&[name, group, status]).inc();
    }

    /// Forgets what was found.
    pub(crate) fn reset(&self) {
        self.last.reset();
        self.total.reset();
    }

    /// All of it as text.
    pub(crate) fn text(&self) -> String {
        encode::text(&self.registry.gather())
    }
}
