//! Another scheduler that claims the same pods.
//!
//! Two schedulers of one name place the same pods without knowing of each other, and overfill
//! nodes. Who schedules is told by the events that schedulers write about pods they bind, which
//! name the scheduler and its host, and for `default-scheduler` by its well-known lease.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use serde::Deserialize;

use super::lease;
use crate::rest::{CallError, Rest, encoded};

/// What tells one's own from others.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Team {
    /// The machines or pods of this scheduler and its copies.
    pub hosts: Vec<String>,
    /// Whether the lease of `default-scheduler` is the one that this scheduler contends for.
    pub holds_default_lease: bool,
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
    pub evidence: &'static str,
}

impl std::fmt::Display for Rival {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { scheduler_name, instance, seen, evidence } = self;
        write!(f, "{instance} schedules pods of {scheduler_name:?} too, by {evidence} at {seen:.0}")
    }
}

/// Who was at work so long ago has ended, most likely.
const RECENT: SignedDuration = SignedDuration::from_mins(10);
/// How many events are looked at; any one of a rival's will do.
const SAMPLE: usize = 500;

/// Others that claim pods of `names`, as seen at `now`. A sample of the events is looked at, so a
/// rival with little to do may be missed.
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
        if name == "default-scheduler" && !team.holds_default_lease {
            rivals.extend(holder_of_default_lease(rest, team, now).await);
        }
        rivals.extend(reporters(rest, name, team, now).await?);
    }
    Ok(rivals)
}

/// The holder of kube-scheduler's lease. One that may not be read tells nothing.
async fn holder_of_default_lease(rest: &Rest, team: &Team, now: Timestamp) -> Option<Rival> {
    let lease = lease(rest, "kube-system", "kube-scheduler").await.ok()??;
    if !lease.is_live(now) || team.hosts.iter().any(|it| it == lease.holder_host()) {
        return None;
    }
    Some(Rival {
        scheduler_name: "default-scheduler".to_owned(),
        seen: lease.renew_time?,
        instance: lease.holder_identity,
        evidence: "the lease kube-system/kube-scheduler, renewed",
    })
}

/// Who wrote of late that it bound pods of this name.
async fn reporters(
    rest: &Rest,
    name: &str,
    team: &Team,
    now: Timestamp,
) -> Result<Vec<Rival>, CallError> {
    #[derive(Deserialize)]
    struct List {
        items: Vec<Event>,
    }
    #[derive(Default, Deserialize)]
    #[serde(rename_all = "camelCase", default)]
    struct Event {
        reporting_instance: String,
        #[serde(rename = "eventTime")]
        at: Option<Timestamp>,
        last_timestamp: Option<Timestamp>,
    }
    let selector = encoded(&format!("reason=Scheduled,reportingComponent={name}"));
    let path = format!("/api/v1/events?limit={SAMPLE}&fieldSelector={selector}");
    let List { items } = rest.get(&path).await?;
    let mut last: BTreeMap<String, Timestamp> = BTreeMap::new();
    for event in items {
        let at = event.at.or(event.last_timestamp);
        let Some(at) = at.filter(|it| now.duration_since(*it) < RECENT) else { continue };
        if event.reporting_instance.is_empty() || is_ours(&event.reporting_instance, name, team) {
            continue;
        }
        let seen = last.entry(event.reporting_instance).or_insert(at);
        *seen = (*seen).max(at);
    }
    Ok(last
        .into_iter()
        .map(|(instance, seen)| Rival {
            scheduler_name: name.to_owned(),
            instance,
            seen,
            evidence: "an event about a pod that it bound",
        })
        .collect())
}

/// Instances are `NAME-HOST`, as upstream; pods may carry events that say `HOST` alone.
fn is_ours(instance: &str, name: &str, team: &Team) -> bool {
    let host = instance.strip_prefix(name).and_then(|it| it.strip_prefix('-')).unwrap_or(instance);
    team.hosts.iter().any(|it| it == instance || it == host)
}
