//! Families 01 to 12: one pod, one cluster, one decision.

mod case;
mod record;
#[cfg(test)]
mod tests;

use std::{sync::Arc, time::Duration};

use loadmaster_core::{
    profile::Profile,
    queue::{QueueHost, QueueOptions, QueueingHintMaps, SchedulingQueue},
};
use loadmaster_framework::{
    Enqueue, Gates, Hint, Listers, Object, Outcome, PluginError, PodInfo, QueuedPodInfo,
    QueueingHint,
};
use serde::de::Error;

use super::{Difference, differences};
use crate::{cluster::Cluster, profiles, trial};
use case::{Case, Decision, Expanded, Gated, Name, Queued, Verdict};

pub(super) fn check(line: &str) -> serde_json::Result<Vec<Difference>> {
    let case: Case = serde_json::from_str(line)?;
    let profile = profile(&case)?;
    let mut actual = match (&case.pod, &case.queue) {
        (Some(pod), None) => {
            let pod = PodInfo::new(Arc::new(pod.clone()));
            record::decision(&trial::run(&profile, &cluster(&case), &pod))
        }
        (None, Some(queue)) => order(&profile, queue),
        _ => return Err(Error::custom("either `pod` or `queue` is needed")),
    };
    if case.config.is_some() && case.pod.is_some() {
        actual.plugins = Some(Expanded::of(&profile));
    }
    let mut expected = case.expected;
    expected.tidy();
    actual.tidy();
    Ok(differences(&expected, &actual))
}

fn profile(case: &Case) -> serde_json::Result<Profile> {
    let text =
        case.config.as_ref().map_or_else(|| profiles::DEFAULT.to_owned(), ToString::to_string);
    let registry = loadmaster_plugins::registry();
    let specs = profiles::specs(&text, &registry).map_err(Error::custom)?;
    match &specs[..] {
        [only] => Profile::build(only, &registry, &Gates::default()).map_err(Error::custom),
        _ => Err(Error::custom("the configuration has not exactly one profile")),
    }
}

fn cluster(case: &Case) -> Cluster {
    let mut cluster = Cluster::default();
    each_object(case, |object| cluster.add(object));
    cluster
}

/// Everything that the cluster of the case holds.
fn each_object(case: &Case, mut take: impl FnMut(Object)) {
    macro_rules! take {
        ($($field:ident)*) => {
            $(case.$field.iter().for_each(|it| take(it.clone().into()));)*
        };
    }
    take!(namespaces nodes pods nominatedpods services replicasets replicationcontrollers
        statefulsets pvs pvcs storageclasses csinodes csidrivers csistoragecapacities
        volumeattachments pdbs);
}

/// The order in which a queue gives pods out, and the pods that are held back.
fn order(profile: &Profile, pods: &[Queued]) -> Decision {
    let host = Host { profile, hints: QueueingHintMaps::default(), listers: Listers::default() };
    let mut queue = SchedulingQueue::new(QueueOptions::default());
    let mut decision = Decision::default();
    let epoch = pods.iter().map(|it| it.timestamp.as_micros()).min().unwrap_or_default();
    for Queued { pod, timestamp } in pods {
        let pod = Arc::new(PodInfo::new(Arc::new(pod.clone())));
        let now = Duration::from_micros(timestamp.as_micros().abs_diff(epoch));
        let gate = Enqueue { pod: &pod, now, preempting: false };
        if let refusal @ Err(_) = profile.run_pre_enqueue(gate, None) {
            let Name { namespace, name } = record::name(&pod);
            let Verdict { code, plugin, reasons } = record::verdict(&refusal);
            decision.gated.push(Gated { namespace, name, code, plugin, reasons });
        }
        queue.add(&host, now, pod);
    }
    decision.order =
        std::iter::from_fn(|| queue.pop(&host)).map(|it| record::name(&it.pod)).collect();
    decision
}

/// A queue's view of one profile, in a cluster where nothing happens.
struct Host<'a> {
    profile: &'a Profile,
    hints: QueueingHintMaps,
    listers: Listers,
}

impl QueueHost for Host<'_> {
    fn less(&self, a: &QueuedPodInfo, b: &QueuedPodInfo) -> bool {
        self.profile.less(a, b)
    }

    fn pre_enqueue(&self, pod: &QueuedPodInfo, now: Duration) -> Outcome {
        let cx = Enqueue { pod: &pod.pod, now, preempting: false };
        self.profile.run_pre_enqueue(cx, pod.gating_plugin)
    }

    fn hints(&self) -> &QueueingHintMaps {
        &self.hints
    }

    fn queueing_hint(&self, _: &'static str, _: Hint<'_>) -> Result<QueueingHint, PluginError> {
        Ok(QueueingHint::Queue)
    }

    fn listers(&self) -> &Listers {
        &self.listers
    }
}
