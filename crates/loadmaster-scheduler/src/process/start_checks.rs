//! What is looked at before anything is scheduled: permissions, what the server serves, who holds
//! the lease, who else claims the same pods. Permissions are looked at again before another
//! configuration is taken up.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
};

use anyhow::bail;
use jiff::Timestamp;
use loadmaster_k8s::{
    checks::{self, Lacking, LeaseState, SUPPORTED_MINORS, Subject, Team},
    client::Cluster,
    kind::Kind,
    needs::Need,
    rest::Rest,
};

/// How long the server may take for one answer.
const LIMIT: std::time::Duration = std::time::Duration::from_secs(10);

/// What is to be looked at.
#[derive(Clone, Debug)]
pub(crate) struct StartChecks {
    /// What must be allowed.
    pub(crate) needs: Vec<Need>,
    /// The kinds that are read, with the plugins that do.
    pub(crate) readers: BTreeMap<Kind, BTreeSet<&'static str>>,
    /// The profiles' names.
    pub(crate) scheduler_names: Vec<String>,
    /// Namespace and name of the lease to contend for, if any.
    pub(crate) lease: Option<(String, String)>,
    /// The configuration's file, for the command that grants what is missing.
    pub(crate) config: Option<String>,
}

impl StartChecks {
    /// Looks at everything, and says what is odd.
    ///
    /// # Errors
    /// Permissions that are missing: the verb, the resource, and who needs it.
    pub(crate) async fn run(&self, cluster: &Cluster, host: &str) -> anyhow::Result<()> {
        let rest = cluster.rest.with_limit(LIMIT);
        let lacking = self.versions(&rest, &cluster.version).await;
        self.permissions(&rest, &lacking).await?;
        let now = Timestamp::now();
        let held = self.lease(&rest, now).await;
        self.rivals(&rest, host, held, now).await;
        Ok(())
    }

    async fn permissions(&self, rest: &Rest, lacking: &[Lacking]) -> anyhow::Result<()> {
        let missing = self.missing(rest, lacking).await;
        let (optional, vital): (Vec<_>, Vec<_>) = missing.into_iter().partition(|it| it.optional);
        for need in optional {
            tracing::warn!("not permitted, and done without: {need}");
        }
        if !vital.is_empty() {
            bail!(
                "the API server does not permit what this scheduler needs:\n{}\nGrant it by: {}, \
                 or take the plugins out of the profile",
                listed(&vital),
                self.remedy()
            );
        }
        Ok(())
    }

    /// Looks at what a configuration needs that is to take over from one that runs.
    ///
    /// # Errors
    /// Permissions that are missing: the verb, the resource, who needs it, and the rules to add.
    pub(crate) async fn permit_change(&self, rest: &Rest) -> anyhow::Result<()> {
        let rest = rest.with_limit(LIMIT);
        // Whoever watches such kinds says so.
        let lacking = checks::lacking(&rest, &self.readers).await.unwrap_or_default();
        let mut vital = self.missing(&rest, &lacking).await;
        vital.retain(|it| !it.optional);
        if !vital.is_empty() {
            bail!(
                "the API server does not permit what it needs:\n{}\nGrant it by: {}, or by these \
                 rules, after which it is taken up:{}",
                listed(&vital),
                self.remedy(),
                rules(&vital)
            );
        }
        Ok(())
    }

    /// What is not permitted, as far as that can be found out.
    async fn missing(&self, rest: &Rest, lacking: &[Lacking]) -> Vec<Need> {
        let needs = self.needs.iter().filter(|need| !lacking.iter().any(|it| it.excuses(need)));
        let needs: Vec<_> = needs.cloned().collect();
        checks::missing(rest, &needs, &Subject::Oneself).await.unwrap_or_else(|error| {
            tracing::warn!(%error, "cannot find out what this scheduler may do");
            Vec::new()
        })
    }

    fn remedy(&self) -> String {
        let file = self.config.as_deref().unwrap_or("FILE");
        format!(
            "scheduler manifests --config {file} --permissions | kubectl apply -f - (with the --name \
             and --namespace that it is deployed by)"
        )
    }

    /// Says what is odd about the server; which of the kinds that are read it does not serve.
    async fn versions(&self, rest: &Rest, version: &str) -> Vec<Lacking> {
        let supported = checks::minor(version).is_some_and(|it| SUPPORTED_MINORS.contains(&it));
        if !supported {
            tracing::warn!(
                version,
                "this server is none of those that this scheduler is made for, Kubernetes 1.{} to \
                 1.{}; decisions are those of 1.36",
                SUPPORTED_MINORS.start(),
                SUPPORTED_MINORS.end()
            );
        }
        let lacking = checks::lacking(rest, &self.readers).await.unwrap_or_else(|error| {
            tracing::warn!(%error, "cannot find out what this server serves");
            Vec::new()
        });
        for it in &lacking {
            tracing::warn!(version, "this server does not serve {it}: to them there are none");
        }
        lacking
    }

    /// The lease to contend for, as it stands; says who holds it.
    async fn lease(&self, rest: &Rest, now: Timestamp) -> Option<LeaseState> {
        let (namespace, name) = self.lease.as_ref()?;
        let state = checks::lease(rest, namespace, name).await.ok()??;
        if state.is_live(now) {
            let since = state.acquire_time.map(|it| format!("{it:.0}")).unwrap_or_default();
            let holder = &state.holder_identity;
            tracing::info!(
                lease = %format_args!("{namespace}/{name}"), %holder, since,
                "somebody else leads; this copy waits for the lease"
            );
        }
        Some(state)
    }

    async fn rivals(&self, rest: &Rest, host: &str, held: Option<LeaseState>, now: Timestamp) {
        let mut hosts = vec![host.to_owned()];
        hosts.extend(held.map(|it| it.holder_host().to_owned()));
        let team = Team { hosts, lease: self.lease.clone() };
        match checks::rivals(rest, &self.scheduler_names, &team, now).await {
            Ok(rivals) => {
                for rival in rivals {
                    tracing::warn!(
                        "{rival}: unless that is an earlier copy of this one, two schedulers place \
                         the same pods; stop one, or give the profile another schedulerName"
                    );
                }
            }
            Err(error) => {
                tracing::info!(%error, "cannot find out whether another scheduler claims these pods");
            }
        }
    }
}

/// A need a line.
fn listed(needs: &[Need]) -> String {
    needs.iter().map(|it| format!("  {it}")).collect::<Vec<_>>().join("\n")
}

/// Rules that grant it, below the role that they belong to.
fn rules(needs: &[Need]) -> String {
    let mut text = String::new();
    let mut last = None;
    for need in needs {
        let namespace = &*need.scope.namespace;
        if last.replace(namespace) != Some(namespace) {
            let _ = match namespace {
                "" => write!(text, "\n  in its ClusterRole:"),
                _ => write!(text, "\n  in its Role of namespace {namespace}:"),
            };
        }
        let _ = write!(text, "\n  - {}", need.rule());
    }
    text
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use loadmaster_k8s::needs::Scope;

    use super::*;

    #[test]
    fn rules_stand_below_the_role_that_they_belong_to() {
        let need = |namespace: &str, group: &str, resource: &str, name: &str| Need {
            scope: Scope {
                namespace: namespace.to_owned(),
                group: group.to_owned(),
                resource: resource.to_owned(),
                subresource: String::new(),
                name: name.to_owned(),
            },
            verbs: BTreeSet::from(["get".to_owned(), "list".to_owned()]),
            needed_by: BTreeSet::new(),
            optional: false,
        };
        let needs = [
            need("", "", "namespaces", ""),
            need("", "storage.k8s.io", "csinodes", ""),
            need("kube-system", "coordination.k8s.io", "leases", "mine"),
        ];
        let expected = r#"
  in its ClusterRole:
  - {"apiGroups":[""],"resources":["namespaces"],"verbs":["get","list"]}
  - {"apiGroups":["storage.k8s.io"],"resources":["csinodes"],"verbs":["get","list"]}
  in its Role of namespace kube-system:
  - {"apiGroups":["coordination.k8s.io"],"resourceNames":["mine"],"resources":["leases"],"verbs":["get","list"]}"#;
        assert_eq!(rules(&needs), expected);
    }
}
