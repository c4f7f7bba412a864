//! The least that a scheduler must be allowed, as data: the manifests grant it, the start-up checks
//! ask for it.

use std::collections::{BTreeMap, BTreeSet};

use loadmaster_config::LeaderElection;
use loadmaster_core::profile::Profile;
use loadmaster_framework::{Access, FeedSource};
use serde_json::{Value, json};

use super::readers_of;
use crate::kind::Kind;

/// What a scheduler does beside what its plugins need.
#[derive(Clone, Copy, Debug, Default)]
pub struct Wants<'a> {
    /// The election that it takes part in, if it does.
    pub leader_election: Option<&'a LeaderElection>,
    /// Whether it serves to those whom the cluster knows, so that it asks the cluster who they are
    /// and what they may.
    pub serving: bool,
}

/// What a permission is about.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Scope {
    /// The one namespace; empty for objects of the cluster and for all namespaces.
    pub namespace: String,
    /// API group; empty for the core group.
    pub group: String,
    /// Plural name of the kind.
    pub resource: String,
    /// Part of the object, as `status`; empty for the object itself.
    pub subresource: String,
    /// The one object; empty for all.
    pub name: String,
}

impl Scope {
    /// Everything of a kind (`things` or `things/part`), everywhere.
    fn all(group: &str, resource: &str) -> Self {
        let (resource, subresource) = resource.split_once('/').unwrap_or((resource, ""));
        Self {
            namespace: String::new(),
            group: group.to_owned(),
            resource: resource.to_owned(),
            subresource: subresource.to_owned(),
            name: String::new(),
        }
    }

    fn of(group: &str, resource: &str, namespace: &str, name: &str) -> Self {
        let (namespace, name) = (namespace.to_owned(), name.to_owned());
        Self { namespace, name, ..Self::all(group, resource) }
    }

    /// `pods/binding`, as a rule and a message name it.
    pub fn path(&self) -> String {
        match &*self.subresource {
            "" => self.resource.clone(),
            part => format!("{}/{part}", self.resource),
        }
    }
}

impl std::fmt::Display for Scope {
    /// `leases.coordination.k8s.io "kube-scheduler" in namespace kube-system`.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.resource)?;
        if !self.group.is_empty() {
            write!(f, ".{}", self.group)?;
        }
        if !self.subresource.is_empty() {
            write!(f, "/{}", self.subresource)?;
        }
        if !self.name.is_empty() {
            write!(f, " {:?}", self.name)?;
        }
        if !self.namespace.is_empty() {
            write!(f, " in namespace {}", self.namespace)?;
        }
        Ok(())
    }
}

/// One permission.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Need {
    /// What it is about.
    pub scope: Scope,
    /// The API's verbs.
    pub verbs: BTreeSet<String>,
    /// Which plugins, or which part of the scheduler, it is for.
    pub needed_by: BTreeSet<String>,
    /// Whether the scheduler can do without, and only knows less.
    pub optional: bool,
}

impl Need {
    /// The rule of a role that grants it, as JSON.
    pub fn rule(&self) -> Value {
        let Scope { group, name, .. } = &self.scope;
        let resource = self.scope.path();
        let mut rule = json!({"apiGroups": [group], "resources": [resource], "verbs": self.verbs});
        if !name.is_empty() {
            rule["resourceNames"] = json!([name]);
        }
        rule
    }
}

impl std::fmt::Display for Need {
    /// `list, watch csinodes.storage.k8s.io, for NodeVolumeLimits, VolumeBinding`.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let list = |it: &BTreeSet<String>| it.iter().cloned().collect::<Vec<_>>().join(", ");
        write!(f, "{} {}, for {}", list(&self.verbs), self.scope, list(&self.needed_by))
    }
}

/// Everything that a scheduler with these profiles must be allowed, ordered by scope.
pub fn permissions<'a>(
    profiles: impl IntoIterator<Item = &'a Profile> + Clone,
    wants: Wants<'_>,
) -> Vec<Need> {
    let mut needs = Needs::default();
    needs.always();
    for (kind, readers) in readers_of(profiles.clone()) {
        let group = kind.api_version().split_once('/').map_or("", |it| it.0);
        for reader in readers {
            needs.add(Scope::all(group, kind.plural()), &["list", "watch"], reader);
        }
    }
    for profile in profiles {
        for hooks in profile.hooks() {
            for Access { group, resource, subresource, verbs } in &hooks.needs {
                let path = match &**subresource {
                    "" => resource.to_string(),
                    part => format!("{resource}/{part}"),
                };
                let verbs: Vec<_> = verbs.iter().map(|it| &**it).collect();
                needs.add(Scope::all(group, &path), &verbs, hooks.name);
            }
            for feed in &hooks.feeds {
                match &feed.source {
                    FeedSource::Watched { group, resource, .. } => {
                        needs.add(Scope::all(group, resource), &["list", "watch"], hooks.name);
                    }
                    FeedSource::Http { url, .. } => {
                        if let Some((group, resource)) = collection(url) {
                            needs.add(Scope::all(group, resource), &["list"], hooks.name);
                        }
                    }
                    _ => {}
                }
            }
        }
        if &**profile.scheduler_name() == DEFAULT_SCHEDULER {
            let lease = Scope::of("coordination.k8s.io", "leases", "kube-system", "kube-scheduler");
            needs.wish(lease, "get", RIVALS);
        }
    }
    if let Some(election) = wants.leader_election {
        needs.election(election);
    }
    if wants.serving {
        needs.serving();
    }
    needs.0.into_values().collect()
}

/// The group and the resource of a path that lists all objects of a kind.
fn collection(path: &str) -> Option<(&str, &str)> {
    let path = path.split('?').next().unwrap_or_default();
    match path.split('/').collect::<Vec<_>>()[..] {
        ["", "api", _, resource] => Some(("", resource)),
        ["", "apis", group, _, resource] => Some((group, resource)),
        _ => None,
    }
}

const DEFAULT_SCHEDULER: &str = "default-scheduler";
const RIVALS: &str = "the check for another scheduler of the same name";

#[derive(Default)]
struct Needs(BTreeMap<Scope, Need>);

impl Needs {
    fn add(&mut self, scope: Scope, verbs: &[&str], needed_by: &str) {
        let need = self.0.entry(scope.clone()).or_insert_with(|| Need {
            scope,
            verbs: BTreeSet::new(),
            needed_by: BTreeSet::new(),
            optional: true,
        });
        need.verbs.extend(verbs.iter().map(|it| (*it).to_owned()));
        need.needed_by.insert(needed_by.to_owned());
        need.optional = false;
    }

    /// Something that it can do without. A verb of a scope that is needed is needed.
    fn wish(&mut self, scope: Scope, verb: &str, needed_by: &str) {
        if self.0.contains_key(&scope) {
            self.add(scope, &[verb], needed_by);
        } else {
            self.add(scope.clone(), &[verb], needed_by);
            if let Some(need) = self.0.get_mut(&scope) {
                need.optional = true;
            }
        }
    }

    /// What every scheduler does.
    fn always(&mut self) {
        for kind in [Kind::Node, Kind::Pod] {
            self.add(Scope::all("", kind.plural()), &["list", "watch"], "every decision");
        }
        // After a binding without an answer only the pod itself tells where it is.
        self.add(Scope::all("", "pods"), &["get"], "bindings whose answer is lost");
        self.add(Scope::all("", "pods/status"), &["patch"], "the reason why a pod waits");
        self.add(Scope::all("events.k8s.io", "events"), &["create", "patch"], "events");
        self.wish(Scope::all("", "events"), "list", RIVALS);
    }

    fn election(&mut self, election: &LeaderElection) {
        let (namespace, name) = (&election.resource_namespace, &election.resource_name);
        // A create has no name yet that a rule could name.
        let any = Scope::of("coordination.k8s.io", "leases", namespace, "");
        self.add(any, &["create"], "leader election");
        let own = Scope::of("coordination.k8s.io", "leases", namespace, name);
        self.add(own, &["get", "update"], "leader election");
    }

    /// Who may not ask the cluster believes nobody, and schedules all the same.
    fn serving(&mut self) {
        let reviews = [
            ("authentication.k8s.io", "tokenreviews"),
            ("authorization.k8s.io", "subjectaccessreviews"),
        ];
        for (group, resource) in reviews {
            self.wish(Scope::all(group, resource), "create", "serving");
        }
        let authorities =
            Scope::of("", "configmaps", "kube-system", "extension-apiserver-authentication");
        self.wish(authorities, "get", "serving");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_feed_that_lists_a_kind_of_the_api_server_names_the_permission_for_it() {
        let metrics = collection("/apis/metrics.k8s.io/v1beta1/nodes?limit=5");
        assert_eq!(metrics, Some(("metrics.k8s.io", "nodes")));
        assert_eq!(collection("/api/v1/configmaps"), Some(("", "configmaps")));
        assert_eq!(collection("http://host/apis/a/v1/b"), None);
    }
}
