//! What was found, as data and as JSON.

use std::collections::BTreeMap;

use jiff::Timestamp;
use loadmaster_k8s::{
    checks::{Lacking, LeaseState},
    needs::Need,
};
use serde_json::{Value, json};

/// Pods whose `schedulerName` nobody answers to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Unclaimed {
    pub(super) scheduler_name: String,
    /// `namespace/name`, oldest first.
    pub(super) pods: Vec<String>,
    /// A name that somebody answers to and that is nearly the same.
    pub(super) nearest: Option<String>,
}

impl Unclaimed {
    /// What to do.
    pub(super) fn remedy(&self) -> String {
        let name = &self.scheduler_name;
        match &self.nearest {
            Some(nearest) => {
                format!("did you mean {nearest:?}? set spec.schedulerName in the pods' template")
            }
            None if name == "default-scheduler" => {
                "start the cluster's default scheduler: its lease kube-system/kube-scheduler is \
                 held by nobody"
                    .to_owned()
            }
            None => format!(
                "start a scheduler with a profile of that name (`schedulerName: {name}`), or take \
                 spec.schedulerName out of the pods' template"
            ),
        }
    }
}

/// A pod that waits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Waiting {
    pub(super) namespace: String,
    pub(super) name: String,
    pub(super) scheduler_name: String,
    /// For how long, in seconds.
    pub(super) age: u64,
    /// The gates that are left.
    pub(super) gates: Vec<String>,
    /// The node where room is made for it, or is promised.
    pub(super) nominated: Option<String>,
    /// One word of why.
    pub(super) reason: String,
    /// A sentence of why.
    pub(super) message: String,
    /// Whether it has waited for longer than it should.
    pub(super) overdue: bool,
}

/// A lease, and whether somebody must hold it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Lease {
    pub(super) namespace: String,
    pub(super) name: String,
    /// `None` where there is none.
    pub(super) state: Option<LeaseState>,
    pub(super) live: bool,
    /// Whether it is the configuration's own.
    pub(super) own: bool,
}

/// Everything that was found.
#[derive(Clone, Debug, Default)]
pub(super) struct Findings {
    pub(super) server: String,
    pub(super) server_version: String,
    pub(super) unclaimed: Vec<Unclaimed>,
    pub(super) gated: Vec<Waiting>,
    pub(super) pending: Vec<Waiting>,
    pub(super) leases: Vec<Lease>,
    /// Permissions that are missing.
    pub(super) missing: Vec<Need>,
    /// Kinds that the server does not serve.
    pub(super) lacking: Vec<Lacking>,
    /// What could not be found out, and why.
    pub(super) unknown: Vec<String>,
}

impl Findings {
    /// Whether nothing calls for anybody.
    pub(super) fn is_fine(&self) -> bool {
        self.unclaimed.is_empty()
            && !self.gated.iter().chain(&self.pending).any(|it| it.overdue)
            && !self.leases.iter().any(|it| it.own && !it.live)
            && !self.missing.iter().any(|it| !it.optional)
            && self.lacking.is_empty()
            && self.unknown.is_empty()
    }

    /// Pods with a node promised to them.
    pub(super) fn nominated(&self) -> BTreeMap<&str, Vec<String>> {
        let mut nominated: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        for pod in &self.pending {
            if let Some(node) = &pod.nominated {
                let key = format!("{}/{}", pod.namespace, pod.name);
                nominated.entry(node).or_default().push(key);
            }
        }
        nominated
    }

    pub(super) fn json(&self) -> Value {
        json!({
            "version": 1,
            "ok": self.is_fine(),
            "server": self.server,
            "serverVersion": self.server_version,
            "unclaimed": self.unclaimed.iter().map(|it| json!({
                "schedulerName": it.scheduler_name,
                "count": it.pods.len(),
                "pods": it.pods,
                "nearest": it.nearest,
                "remedy": it.remedy(),
            })).collect::<Vec<_>>(),
            "gated": self.gated.iter().map(waiting_json).collect::<Vec<_>>(),
            "pending": self.pending.iter().map(waiting_json).collect::<Vec<_>>(),
            "nominated": self.nominated(),
            "leases": self.leases.iter().map(lease_json).collect::<Vec<_>>(),
            "missingPermissions": self.missing.iter().map(|it| json!({
                "verbs": it.verbs,
                "resource": it.scope.to_string(),
                "neededBy": it.needed_by,
                "optional": it.optional,
            })).collect::<Vec<_>>(),
            "notServed": self.lacking.iter().map(|it| json!({
                "apiVersion": it.kind.api_version(),
                "resource": it.kind.plural(),
                "readBy": it.readers,
            })).collect::<Vec<_>>(),
            "unknown": self.unknown,
        })
    }
}

fn waiting_json(pod: &Waiting) -> Value {
    json!({
        "namespace": pod.namespace,
        "name": pod.name,
        "schedulerName": pod.scheduler_name,
        "ageSeconds": pod.age,
        "schedulingGates": pod.gates,
        "nominatedNodeName": pod.nominated,
        "reason": pod.reason,
        "message": pod.message,
        "overdue": pod.overdue,
    })
}

fn lease_json(lease: &Lease) -> Value {
    let state = lease.state.clone().unwrap_or_default();
    let time = |it: Option<Timestamp>| it.map(|it| it.to_string());
    json!({
        "namespace": lease.namespace,
        "name": lease.name,
        "exists": lease.state.is_some(),
        "live": lease.live,
        "holderIdentity": state.holder_identity,
        "acquireTime": time(state.acquire_time),
        "renewTime": time(state.renew_time),
    })
}
