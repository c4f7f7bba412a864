//! One container's life: pulled, started, watched, started again.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::Value;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::backoff::Backoff;
use super::board::{Ended, Role, State};
use super::launch::{self, Launched, Refusal};
use super::pod::Pod;
use super::probes::{Kind, Probe, Report};
use super::pulling;
use super::user::pod_in_words;
use crate::controllers::Severity;

/// By when a container must have ended; `None` while it is to run.
pub(super) type Deadline = watch::Receiver<Option<Instant>>;

/// How long before a container that cannot be made is tried again.
const RETRY: Duration = Duration::from_secs(2);

/// Runs the pod's container at `index` of the board until it has ended for good; answers the exit
/// code of its last run.
pub(super) async fn run(pod: Arc<Pod>, index: usize, mut deadline: Deadline) -> i32 {
    let mut backoff = Backoff::new(pod.backoff());
    loop {
        let Some(image) = pulling::pull(&pod, index, &mut deadline).await else { return 0 };
        let launched = launch::launch(&pod, index, &image).await;
        if let Err(Refusal::Config { reason, message }) = launched {
            pod.record(Severity::Warning, "Failed", &format!("Error: {message}"));
            pod.update(index, |line| {
                line.state = State::Waiting { reason, message: message.clone() }
            });
            if pause(RETRY, &mut deadline).await {
                return 0;
            }
            continue;
        }
        backoff.started(Instant::now());
        let ended = match launched {
            Ok(launched) => live(&pod, index, launched, &mut deadline).await,
            Err(refusal) => never_started(&pod, &refusal),
        };
        let code = ended.code;
        let finished = Instant::now();
        pod.update(index, |line| {
            line.state = State::Terminated(ended.clone());
            (line.ready, line.started) = (line.role == Role::Init && code == 0, false);
            line.pid = None;
        });
        if deadline.borrow().is_some() || !is_started_again(&pod.object(), index, &pod, code) {
            return code;
        }
        if let Some(delay) = backoff.delay(finished) {
            let who = pod_in_words(&pod.object());
            let name = pod.container_name(index);
            pod.record(
                Severity::Warning,
                "BackOff",
                &format!("Back-off restarting failed container {name} in pod {who}"),
            );
            let seconds = delay.as_secs();
            let message = format!(
                "back-off {} restarting failed container={name} pod={who}",
                go_seconds(seconds)
            );
            pod.update(index, |line| {
                line.last = Some(ended.clone());
                line.state = State::Waiting { reason: "CrashLoopBackOff", message };
            });
            let left = delay.saturating_sub(finished.elapsed());
            if pause(left, &mut deadline).await {
                return code;
            }
        }
        pod.update(index, |line| {
            line.last = Some(ended.clone());
            line.restarts += 1;
        });
    }
}

/// The end of a container whose process could not be started.
fn never_started(pod: &Pod, refusal: &Refusal) -> Ended {
    let message = refusal.to_string();
    pod.record(Severity::Warning, "Failed", &format!("Error: {message}"));
    let (container_id, finished) = (String::new(), Timestamp::now());
    Ended { code: 128, reason: "StartError", message, started: None, finished, container_id }
}

/// Seconds as Go prints a duration.
fn go_seconds(seconds: u64) -> String {
    match (seconds / 60, seconds % 60) {
        (0, seconds) => format!("{seconds}s"),
        (minutes, seconds) => format!("{minutes}m{seconds}s"),
    }
}

/// Whether a container that ended with this code is started again.
fn is_started_again(object: &Value, index: usize, pod: &Pod, code: i32) -> bool {
    let policy = object["spec"]["restartPolicy"].as_str().unwrap_or("Always");
    match pod.role(index) {
        Role::Sidecar => true,
        Role::Init => code != 0 && policy != "Never",
        Role::Main => policy == "Always" || (policy == "OnFailure" && code != 0),
    }
}

/// Waits; says whether the container is to end instead.
pub(super) async fn pause(time: Duration, deadline: &mut Deadline) -> bool {
    tokio::select! {
        () = tokio::time::sleep(time) => false,
        _ = deadline.wait_for(Option::is_some) => true,
    }
}

/// Watches a running container until it has ended.
async fn live(pod: &Arc<Pod>, index: usize, launched: Launched, deadline: &mut Deadline) -> Ended {
    let Launched { mut process, log, container_id, started } = launched;
    let spec = pod.spec(index);
    let (reports, mut reported) = mpsc::channel(4);
    // The probes end with this function.
    let mut probes = JoinSet::new();
    let startup = Probe::of(Kind::Startup, &spec, pod.ip());
    let waits = startup.is_some();
    match startup {
        Some(probe) => watch_with(&mut probes, probe, &reports),
        None => watch_running(&mut probes, &spec, pod.ip(), &reports),
    }
    let readiness = Probe::of(Kind::Readiness, &spec, pod.ip()).is_some();
    pod.update(index, |line| {
        line.started = !waits;
        line.ready = !waits && !readiness && line.role != Role::Init;
    });
    let mut object = pod.watch();
    let why = loop {
        tokio::select! {
            code = process.ended() => {
                let (reason, message) = (if code == 0 { "Completed" } else { "Error" }, String::new());
                let message = if code != 0 && spec["terminationMessagePolicy"] == "FallbackToLogsOnError" {
                    log.tail()
                } else {
                    message
                };
                return Ended {
                    code, reason, message, started: Some(started), finished: Timestamp::now(), container_id,
                };
            }
            _ = deadline.wait_for(Option::is_some) => {
                break format!("Stopping container {}", pod.container_name(index));
            }
            Some(report) = reported.recv() => {
                let startup_done = report.kind == Kind::Startup && report.healthy == Some(true);
                if let Some(why) = heed(pod, index, &report) {
                    break why;
                }
                if startup_done {
                    watch_running(&mut probes, &spec, pod.ip(), &reports);
                    pod.update(index, |line| {
                        line.started = true;
                        line.ready = !readiness && line.role != Role::Init;
                    });
                }
            }
            Ok(()) = object.changed() => {
                let changed = pod.spec(index)["image"] != spec["image"];
                if changed {
                    let name = pod.container_name(index);
                    break format!("Container {name} definition changed, will be restarted");
                }
            }
        }
    };
    drop(probes);
    pod.record(Severity::Normal, "Killing", &why);
    let code = pod.stop(index, &mut process, deadline).await;
    let reason = if code == 0 { "Completed" } else { "Error" };
    let (message, finished) = (String::new(), Timestamp::now());
    Ended { code, reason, message, started: Some(started), finished, container_id }
}

fn watch_running(probes: &mut JoinSet<()>, spec: &Value, ip: &str, reports: &mpsc::Sender<Report>) {
    for kind in [Kind::Liveness, Kind::Readiness] {
        if let Some(probe) = Probe::of(kind, spec, ip) {
            watch_with(probes, probe, reports);
        }
    }
}

fn watch_with(probes: &mut JoinSet<()>, mut probe: Probe, reports: &mpsc::Sender<Report>) {
    let reports = reports.clone();
    probes.spawn(async move {
        loop {
            let report = probe.next().await;
            let done = report.kind == Kind::Startup && report.healthy.is_some();
            if reports.send(report).await.is_err() || done {
                return;
            }
        }
    });
}

/// Follows a probe's report; answers why the container must be killed, if it must.
fn heed(pod: &Pod, index: usize, report: &Report) -> Option<String> {
    let name = pod.container_name(index);
    if let Some(failure) = &report.failure {
        let message = format!("{} probe failed: {failure}", report.kind.name());
        pod.record(Severity::Warning, "Unhealthy", &message);
    }
    match (report.kind, report.healthy) {
        (Kind::Readiness, Some(healthy)) => {
            pod.update(index, |line| line.ready = healthy);
            None
        }
        (Kind::Liveness, Some(false)) => {
            Some(format!("Container {name} failed liveness probe, will be restarted"))
        }
        (Kind::Startup, Some(false)) => {
            Some(format!("Container {name} failed startup probe, will be restarted"))
        }
        _ => None,
    }
}
