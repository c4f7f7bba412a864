//! Another scheduler that claims the same pods.
//!
//! Two schedulers of one name place the same pods without knowing of each other, and overfill
//! nodes. Who schedules is told by the events that schedulers write about pods they bind, which
//! name the scheduler and its host. One that has had nothing to do of late is told by its lease, which
//! the event names that it wrote when it came to lead; that of `default-scheduler` is well known.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};

use super::lease;
use crate::{
    reported::reported,
    rest::{CallError, Rest},
};

/// What tells one's own from others.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Team {
    /// The machines or pods of this scheduler and its copies.
    pub hosts: Vec<String>,
    /// Namespace and name of the lease that this scheduler contends for, if any.
    pub lease: Option<(String, String)>,
}

/// Another scheduler of the same name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rival {
    /// The `schedulerName`.
    pub scheduler_name: String,
    /// Who it is.
    pub instance: String,
    /// When it was last seen at work.
    pub seen: Timestamp,
    /// By what.
    pub evidence: String,
}

impl std::fmt::Display for Rival {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { scheduler_name, instance, seen, evidence } = self;
        write!(f, "{instance} schedules pods of {scheduler_name:?} too, by {evidence} at {seen:.0}")
    }
}

/// Who was at work so long ago has ended, most likely.
const RECENT: SignedDuration = SignedDuration::from_mins(10);

/// Others that claim pods of `names`, as seen at `now`. Of more than ten thousand events about bound
/// pods the rest is left unread, and events are kept for an hour by default: a rival may be missed
/// that neither binds now nor came to lead of late.
///
/// # Errors
/// [`CallError`] where events may not be listed or the server does not answer.
pub async fn rivals(
    rest: &Rest,
    names: &[String],
    team: &Team,
    now: Timestamp,
) -> Result<Vec<Rival>, CallError> {
    let mut rivals = Vec::new();
    for name in names {
        rivals.extend(leaders(rest, name, team, now).await?);
        rivals.extend(reporters(rest, name, team, now).await?);
    }
    Ok(rivals)
}

/// Who leads by a lease that is not ours, and said so under this name.
async fn leaders(
    rest: &Rest,
    name: &str,
    team: &Team,
    now: Timestamp,
) -> Result<Vec<Rival>, CallError> {
    let selector = format!("reason=LeaderElection,reportingComponent={name}");
    let mut said: BTreeMap<(String, String), Option<(Timestamp, String)>> = BTreeMap::new();
    if name == "default-scheduler" {
        said.insert(("kube-system".to_owned(), "kube-scheduler".to_owned()), None);
    }
    for event in reported(rest, "", &selector).await? {
        let Some(leader) = event.message.strip_suffix(" became leader") else { continue };
        let last = said.entry(event.about).or_default();
        *last = last.take().max(event.at.map(|at| (at, leader.to_owned())));
    }
    let mut rivals = Vec::new();
    for ((namespace, lock), last) in said {
        if team.lease.as_ref().is_some_and(|it| (&it.0, &it.1) == (&namespace, &lock)) {
            continue;
        }
        let (instance, seen) = match lease(rest, &namespace, &lock).await {
            Ok(Some(it)) if it.is_live(now) => (it.holder_identity, it.renew_time),
            Ok(_) => continue,
            // One that may not be read tells nothing; the event does, while it is young.
            Err(_) => match last.filter(|(at, _)| now.duration_since(*at) < RECENT) {
                Some((at, leader)) => (leader, Some(at)),
                None => continue,
            },
        };
        let host = instance.rsplit_once('_').map_or(&*instance, |it| it.0);
        if let Some(seen) = seen.filter(|_| !team.hosts.iter().any(|it| it == host)) {
            let evidence = format!("the lease {namespace}/{lock}");
            rivals.push(Rival { scheduler_name: name.to_owned(), instance, seen, evidence });
        }
    }
    Ok(rivals)
}

/// Who wrote of late that it bound pods of this name.
async fn reporters(
    rest: &Rest,
    name: &str,
    team: &Team,
    now: Timestamp,
) -> Result<Vec<Rival>, CallError> {
    let selector = format!("reason=Scheduled,reportingComponent={name}");
    let mut last: BTreeMap<String, Timestamp> = BTreeMap::new();
    for event in reported(rest, "", &selector).await? {
        let Some(at) = event.at.filter(|it| now.duration_since(*it) < RECENT) else { continue };
        if event.instance.is_empty() || is_ours(&event.instance, name, team) {
            continue;
        }
        let seen = last.entry(event.instance).or_insert(at);
        *seen = (*seen).max(at);
    }
    Ok(last
        .into_iter()
        .map(|(instance, seen)| Rival {
            scheduler_name: name.to_owned(),
            instance,
            seen,
            evidence: "an event about a pod that it bound".to_owned(),
        })
        .collect())
}

/// Instances are `NAME-HOST`, as upstream; pods may carry events that say `HOST` alone.
fn is_ours(instance: &str, name: &str, team: &Team) -> bool {
    let host = instance.strip_prefix(name).and_then(|it| it.strip_prefix('-')).unwrap_or(instance);
    team.hosts.iter().any(|it| it == instance || it == host)
}
