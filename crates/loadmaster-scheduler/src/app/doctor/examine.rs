//! Looking at the cluster.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use anyhow::Context;
use jiff::Timestamp;
use loadmaster_framework::{api::Pod, nearest};
use loadmaster_k8s::{
    checks::{self, Subject},
    client::Cluster,
    kind::Kind,
    needs::Need,
    rest::Rest,
    survey,
};

use super::finding::{Findings, Lease, Unclaimed, Waiting};

/// What is looked for.
#[derive(Clone, Debug)]
pub(super) struct Patient {
    /// Pods of this namespace alone.
    pub(super) namespace: Option<String>,
    /// How long a pod may wait.
    pub(super) patience: Duration,
    /// The profiles' names.
    pub(super) profiles: Vec<String>,
    /// What the scheduler must be allowed.
    pub(super) needs: Vec<Need>,
    /// The kinds that it reads, with the plugins that do.
    pub(super) readers: BTreeMap<Kind, BTreeSet<&'static str>>,
    /// Whose permissions are looked at.
    pub(super) whose: Subject,
    /// Its lease, if it takes part in an election.
    pub(super) lease: Option<(String, String)>,
}

const DEFAULT_SCHEDULER: &str = "default-scheduler";
const DEFAULT_LEASE: (&str, &str) = ("kube-system", "kube-scheduler");
/// Of so many pods without a condition the events are read.
const ASKED_ABOUT_MAX: usize = 50;

/// Looks at everything.
///
/// # Errors
/// Pods that cannot be listed; without them there is nothing to say.
pub(super) async fn examine(cluster: &Cluster, patient: &Patient) -> anyhow::Result<Findings> {
    let rest = &cluster.rest;
    let now = Timestamp::now();
    let pods = survey::waiting_pods(rest, patient.namespace.as_deref())
        .await
        .context("cannot list the pods that wait; use a kubeconfig that may list pods")?;
    let mut findings = Findings {
        server: cluster.server.clone(),
        server_version: cluster.version.clone(),
        ..Findings::default()
    };
    leases(rest, patient, now, &mut findings).await;
    let (gated, free): (Vec<_>, Vec<_>) =
        pods.iter().partition(|it| !it.spec.scheduling_gates.is_empty());
    let alive = names_alive(rest, &free, patient, &mut findings).await;
    let (claimed, unclaimed): (Vec<_>, Vec<_>) =
        free.into_iter().partition(|it| alive.contains(it.scheduler_name()));
    findings.unclaimed = group(&unclaimed, &alive, &patient.profiles);
    let waiting = |it: &&Pod| waiting(it, now, patient.patience);
    findings.pending = claimed.iter().map(waiting).collect();
    findings.gated = gated.iter().map(waiting).collect();
    for part in [&mut findings.pending, &mut findings.gated] {
        part.sort_by_key(|it| Reverse(it.age));
    }
    ask_about_silent(rest, &pods, &mut findings).await;
    permissions(rest, patient, &mut findings).await;
    Ok(findings)
}

/// The names that somebody answers to: those of whose pods one was tried, of who has written an
/// event of late, and the default scheduler's where its lease is held.
async fn names_alive(
    rest: &Rest,
    pods: &[&Pod],
    patient: &Patient,
    findings: &mut Findings,
) -> BTreeSet<String> {
    let is_tried = |it: &&&Pod| it.status.condition("PodScheduled").is_some();
    let tried = pods.iter().filter(is_tried);
    let mut alive: BTreeSet<_> = tried.map(|it| it.scheduler_name().to_owned()).collect();
    let default_lease = |it: &&Lease| (&*it.namespace, &*it.name) == DEFAULT_LEASE;
    if findings.leases.iter().find(default_lease).is_some_and(|it| it.live) {
        alive.insert(DEFAULT_SCHEDULER.to_owned());
    }
    if findings.leases.iter().any(|it| it.own && it.live) {
        alive.extend(patient.profiles.iter().cloned());
    }
    let names: BTreeSet<_> = pods.iter().map(|it| it.scheduler_name()).collect();
    for name in names {
        if alive.contains(name) {
            continue;
        }
        match survey::last_words_of(rest, name).await {
            Ok(Some(_)) => drop(alive.insert(name.to_owned())),
            Ok(None) => {}
            Err(error) => {
                findings.unknown.push(format!("whether a scheduler {name:?} is at work: {error}"));
                // A name is not called unknown for want of a permission.
                alive.insert(name.to_owned());
            }
        }
    }
    alive
}

/// Pods that nobody takes, by the name that they ask for.
fn group(pods: &[&Pod], alive: &BTreeSet<String>, profiles: &[String]) -> Vec<Unclaimed> {
    let mut by_name: BTreeMap<&str, Vec<&Pod>> = BTreeMap::new();
    for pod in pods {
        by_name.entry(pod.scheduler_name()).or_default().push(pod);
    }
    let known: BTreeSet<_> = alive.iter().chain(profiles).map(String::as_str).collect();
    by_name
        .into_iter()
        .map(|(name, mut pods)| {
            pods.sort_by_key(|it| it.metadata.creation_timestamp);
            let others = known.iter().copied().filter(|it| *it != name);
            Unclaimed {
                scheduler_name: name.to_owned(),
                pods: pods.iter().map(|it| it.key().to_string()).collect(),
                nearest: nearest(name, others).map(str::to_owned),
            }
        })
        .collect()
}

fn waiting(pod: &Pod, now: Timestamp, patience: Duration) -> Waiting {
    let since = pod.metadata.creation_timestamp.map_or(now, |it| it.0);
    let age = now.duration_since(since).unsigned_abs();
    let condition = pod.status.condition("PodScheduled");
    let nominated = Some(&pod.status.nominated_node_name).filter(|it| !it.is_empty());
    Waiting {
        namespace: pod.namespace().to_string(),
        name: pod.name().to_string(),
        scheduler_name: pod.scheduler_name().to_owned(),
        age: age.as_secs(),
        gates: pod.spec.scheduling_gates.iter().map(|it| it.name.to_string()).collect(),
        nominated: nominated.map(ToString::to_string),
        reason: condition.map(|it| it.reason.to_string()).unwrap_or_default(),
        message: condition.map(|it| it.message.to_string()).unwrap_or_default(),
        overdue: age >= patience,
    }
}

/// Asks for the events of pods that are overdue and of which no condition tells why.
async fn ask_about_silent(rest: &Rest, pods: &[Pod], findings: &mut Findings) {
    let silent = findings.pending.iter_mut().filter(|it| it.overdue && it.message.is_empty());
    for waiting in silent.take(ASKED_ABOUT_MAX) {
        let same =
            |it: &&Pod| **it.namespace() == *waiting.namespace && **it.name() == *waiting.name;
        let Some(pod) = pods.iter().find(same) else { continue };
        if let Ok(Some(said)) = survey::last_words_about(rest, pod).await {
            waiting.reason = said.reason;
            waiting.message = said.message;
        }
    }
}

/// The default scheduler's lease and the configuration's own.
async fn leases(rest: &Rest, patient: &Patient, now: Timestamp, findings: &mut Findings) {
    let default = (DEFAULT_LEASE.0.to_owned(), DEFAULT_LEASE.1.to_owned());
    let names: BTreeSet<_> = patient.lease.iter().cloned().chain([default]).collect();
    for (namespace, name) in names {
        let own = patient.lease.as_ref().is_some_and(|it| it.0 == namespace && it.1 == name);
        match checks::lease(rest, &namespace, &name).await {
            Ok(state) => {
                let live = state.as_ref().is_some_and(|it| it.is_live(now));
                findings.leases.push(Lease { namespace, name, state, live, own });
            }
            Err(error) => findings.unknown.push(format!("who holds {namespace}/{name}: {error}")),
        }
    }
}

async fn permissions(rest: &Rest, patient: &Patient, findings: &mut Findings) {
    match checks::lacking(rest, &patient.readers).await {
        Ok(lacking) => findings.lacking = lacking,
        Err(error) => findings.unknown.push(format!("what the server serves: {error}")),
    }
    let excused = |need: &&Need| findings.lacking.iter().any(|it| it.excuses(need));
    let needs: Vec<_> = patient.needs.iter().filter(|it| !excused(it)).cloned().collect();
    match checks::missing(rest, &needs, &patient.whose).await {
        Ok(missing) => findings.missing = missing,
        Err(error) => findings.unknown.push(format!("what is permitted: {error}")),
    }
}
