//! What the operating system says of this process.

use std::{
    fs,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use prometheus::{Counter, Gauge, Registry};
use rustix::{
    param::clock_ticks_per_second,
    process::{Resource, getrlimit},
};

/// The metrics `process_*`, under the names of the Go client. Where there is no `/proc`, they stay at
/// zero, but for the start time.
#[derive(Debug)]
pub(super) struct OwnProcess {
    started: Gauge,
    cpu: Counter,
    open_fds: Gauge,
    max_fds: Gauge,
    resident: Gauge,
    size: Gauge,
    size_max: Gauge,
    received: Counter,
    sent: Counter,
}

impl OwnProcess {
    /// When the process began, in seconds since 1970.
    pub(super) fn started(&self) -> f64 {
        self.started.get()
    }

    pub(super) fn new(registry: &Registry) -> Self {
        const VALID: &str = "names are constants, each used once";
        let gauge = |name: &str, help: &str| {
            let gauge = Gauge::new(name, help).expect(VALID);
            registry.register(Box::new(gauge.clone())).expect(VALID);
            gauge
        };
        let counter = |name: &str, help: &str| {
            let counter = Counter::new(name, help).expect(VALID);
            registry.register(Box::new(counter.clone())).expect(VALID);
            counter
        };
        let started = gauge(
            "process_start_time_seconds",
            "Start time of the process since unix epoch in seconds.",
        );
        let since_boot = stat().and_then(|it| it.get(19)?.parse::<f64>().ok());
        let start =
            since_boot.zip(boot_time()).map(|(ticks, boot)| boot + ticks / ticks_per_second());
        let now = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .as_ref()
            .map_or(0.0, Duration::as_secs_f64);
        started.set(start.unwrap_or(now));
        Self {
            started,
            cpu: counter(
                "process_cpu_seconds_total",
                "Total user and system CPU time spent in seconds.",
            ),
            open_fds: gauge("process_open_fds", "Number of open file descriptors."),
            max_fds: gauge("process_max_fds", "Maximum number of open file descriptors."),
            resident: gauge("process_resident_memory_bytes", "Resident memory size in bytes."),
            size: gauge("process_virtual_memory_bytes", "Virtual memory size in bytes."),
            size_max: gauge(
                "process_virtual_memory_max_bytes",
                "Maximum amount of virtual memory available in bytes.",
            ),
            received: counter(
                "process_network_receive_bytes_total",
                "Number of bytes received by the process over the network.",
            ),
            sent: counter(
                "process_network_transmit_bytes_total",
                "Number of bytes sent by the process over the network.",
            ),
        }
    }

    /// Asks anew.
    pub(super) fn refresh(&self) {
        if let Some(stat) = stat() {
            let number =
                |at: usize| stat.get(at).and_then(|it| it.parse::<f64>().ok()).unwrap_or(0.0);
            raise(&self.cpu, (number(11) + number(12)) / ticks_per_second());
            self.size.set(number(20));
        }
        self.resident.set(resident().unwrap_or(0.0));
        self.open_fds.set(fs::read_dir("/proc/self/fd").map_or(0, Iterator::count) as f64);
        let limit = |of: Resource| getrlimit(of).current.unwrap_or(u64::MAX) as f64;
        self.max_fds.set(limit(Resource::Nofile));
        self.size_max.set(limit(Resource::As));
        if let Some((received, sent)) = network() {
            raise(&self.received, received);
            raise(&self.sent, sent);
        }
    }
}

/// Raises a counter to `value`.
fn raise(counter: &Counter, value: f64) {
    counter.inc_by((value - counter.get()).max(0.0));
}

fn ticks_per_second() -> f64 {
    clock_ticks_per_second() as f64
}

/// The fields of `/proc/self/stat` from the third on, behind the name, which may hold blanks.
fn stat() -> Option<Vec<String>> {
    let text = fs::read_to_string("/proc/self/stat").ok()?;
    let (_, fields) = text.rsplit_once(") ")?;
    Some(fields.split_whitespace().map(str::to_owned).collect())
}

fn resident() -> Option<f64> {
    let text = fs::read_to_string("/proc/self/statm").ok()?;
    let pages: f64 = text.split_whitespace().nth(1)?.parse().ok()?;
    Some(pages * rustix::param::page_size() as f64)
}

fn boot_time() -> Option<f64> {
    let text = fs::read_to_string("/proc/stat").ok()?;
    text.lines().find_map(|it| it.strip_prefix("btime "))?.trim().parse().ok()
}

/// Bytes received and sent in the process's network namespace, as the Go client counts them.
fn network() -> Option<(f64, f64)> {
    let text = fs::read_to_string("/proc/self/net/netstat").ok()?;
    let mut lines = text.lines().filter(|it| it.starts_with("IpExt:"));
    let (names, values) = (lines.next()?, lines.next()?);
    let find = |name: &str| {
        let at = names.split_whitespace().position(|it| it == name)?;
        values.split_whitespace().nth(at)?.parse::<f64>().ok()
    };
    Some((find("InOctets")?, find("OutOctets")?))
}
