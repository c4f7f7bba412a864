//! The one table of kinds the lab cluster serves.
//!
//! Discovery, `OpenAPI`, routing, generation counting and the store's collections are all derived
//! from [`RESOURCES`], so a kind is added in one place. The entries, short names and verbs are those
//! that kube-apiserver 1.36 lists.

use std::fmt;

/// A set of stored objects, named like the API machinery names a group resource
/// (`pods`, `deployments.apps`).
///
/// The two views of events share one collection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Collection(&'static str);

impl Collection {
    /// Bindings of cluster roles.
    pub const CLUSTER_ROLE_BINDINGS: Self = Self("clusterrolebindings.rbac.authorization.k8s.io");
    /// Cluster roles.
    pub const CLUSTER_ROLES: Self = Self("clusterroles.rbac.authorization.k8s.io");
    /// `config maps` of the core group.
    pub const CONFIG_MAPS: Self = Self("configmaps");
    /// CSI drivers.
    pub const CSI_DRIVERS: Self = Self("csidrivers.storage.k8s.io");
    /// CSI nodes.
    pub const CSI_NODES: Self = Self("csinodes.storage.k8s.io");
    /// Daemon sets.
    pub const DAEMON_SETS: Self = Self("daemonsets.apps");
    /// Deployments.
    pub const DEPLOYMENTS: Self = Self("deployments.apps");
    /// Events, stored in the shape of the core group.
    pub const EVENTS: Self = Self("events");
    /// Jobs.
    pub const JOBS: Self = Self("jobs.batch");
    /// Leases.
    pub const LEASES: Self = Self("leases.coordination.k8s.io");
    /// Limit ranges.
    pub const LIMIT_RANGES: Self = Self("limitranges");
    /// Namespaces.
    pub const NAMESPACES: Self = Self("namespaces");
    /// Nodes.
    pub const NODES: Self = Self("nodes");
    /// Persistent volume claims.
    pub const PERSISTENT_VOLUME_CLAIMS: Self = Self("persistentvolumeclaims");
    /// Persistent volumes.
    pub const PERSISTENT_VOLUMES: Self = Self("persistentvolumes");
    /// Pod disruption budgets.
    pub const POD_DISRUPTION_BUDGETS: Self = Self("poddisruptionbudgets.policy");
    /// Pods.
    pub const PODS: Self = Self("pods");
    /// Priority classes.
    pub const PRIORITY_CLASSES: Self = Self("priorityclasses.scheduling.k8s.io");
    /// Replica sets.
    pub const REPLICA_SETS: Self = Self("replicasets.apps");
    /// Replication controllers.
    pub const REPLICATION_CONTROLLERS: Self = Self("replicationcontrollers");
    /// Resource slices.
    pub const RESOURCE_SLICES: Self = Self("resourceslices.resource.k8s.io");
    /// Resource quotas.
    pub const RESOURCE_QUOTAS: Self = Self("resourcequotas");
    /// Bindings of roles.
    pub const ROLE_BINDINGS: Self = Self("rolebindings.rbac.authorization.k8s.io");
    /// Roles.
    pub const ROLES: Self = Self("roles.rbac.authorization.k8s.io");
    /// Secrets.
    pub const SECRETS: Self = Self("secrets");
    /// Service accounts.
    pub const SERVICE_ACCOUNTS: Self = Self("serviceaccounts");
    /// Services.
    pub const SERVICES: Self = Self("services");
    /// Stateful sets.
    pub const STATEFUL_SETS: Self = Self("statefulsets.apps");
    /// Storage classes.
    pub const STORAGE_CLASSES: Self = Self("storageclasses.storage.k8s.io");

    /// The group resource, as error messages print it: `pods`, `deployments.apps`.
    pub const fn name(self) -> &'static str {
        self.0
    }

    /// The table entry whose objects are stored in this collection.
    ///
    /// For events this is the core view, the shape in which they are stored.
    pub fn resource(self) -> &'static Resource {
        RESOURCES
            .iter()
            .find(|it| it.collection == self)
            .expect("every collection constant names an entry of the table; a test walks them")
    }
}

impl fmt::Display for Collection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

/// What may be done with the objects of a resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verbs {
    /// All eight verbs of a stored kind.
    Stored,
    /// As [`Verbs::Stored`] without deleting whole collections (namespaces).
    StoredNoDeleteCollection,
    /// `create` alone: reviews and the bindings shorthand, never stored.
    CreateOnly,
    /// `get`, `patch`, `update`: a status or scale subresource.
    Part,
    /// `get` alone.
    GetOnly,
    /// `create` and `get`: a connection to a container.
    Connect,
    /// `update` alone.
    UpdateOnly,
}

impl Verbs {
    /// The verbs in the order in which discovery prints them.
    pub const fn names(self) -> &'static [&'static str] {
        match self {
            Self::Stored => {
                &["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"]
            }
            Self::StoredNoDeleteCollection => {
                &["create", "delete", "get", "list", "patch", "update", "watch"]
            }
            Self::CreateOnly => &["create"],
            Self::Part => &["get", "patch", "update"],
            Self::GetOnly => &["get"],
            Self::Connect => &["create", "get"],
            Self::UpdateOnly => &["update"],
        }
    }
}

/// A path below an object with a meaning of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Subresource {
    /// The last segment of the path.
    pub name: &'static str,
    /// The group of what it answers, when it is not the parent's.
    pub group: &'static str,
    /// The version of what it answers, when it is not the parent's.
    pub version: &'static str,
    /// The kind that it answers; empty means the parent's kind.
    pub kind: &'static str,
    /// The verbs that it serves.
    pub verbs: Verbs,
}

/// One kind that the lab cluster serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Resource {
    /// API group, empty for the core group.
    pub group: &'static str,
    /// API version within the group.
    pub version: &'static str,
    /// Plural resource name, as in paths.
    pub plural: &'static str,
    /// Singular name, as kubectl accepts it.
    pub singular: &'static str,
    /// The kind, as in bodies.
    pub kind: &'static str,
    /// Whether objects live in a namespace.
    pub namespaced: bool,
    /// kubectl's short names.
    pub short_names: &'static [&'static str],
    /// Whether `kubectl get all` includes it.
    pub in_all: bool,
    /// What is served below an object.
    pub subresources: &'static [Subresource],
    /// What may be done.
    pub verbs: Verbs,
    /// Whether `metadata.generation` is kept for the kind.
    pub counts_generation: bool,
    /// Where its objects are stored.
    pub collection: Collection,
}

impl Resource {
    /// `v1`, `apps/v1`: what bodies carry as `apiVersion`.
    pub fn api_version(&self) -> String {
        if self.group.is_empty() {
            self.version.to_owned()
        } else {
            format!("{}/{}", self.group, self.version)
        }
    }

    /// `pods`, `deployments.apps`: the group resource that error messages print.
    pub fn group_resource(&self) -> String {
        qualified(self.plural, self.group)
    }

    /// `Pod`, `Deployment.apps`: the group kind that validation messages print.
    pub fn group_kind(&self) -> String {
        qualified(self.kind, self.group)
    }

    /// The subresource of that name, if the kind has it.
    pub fn subresource(&self, name: &str) -> Option<&'static Subresource> {
        self.subresources.iter().find(|it| it.name == name)
    }

    /// Whether changing `status` through the main path is ignored.
    pub fn has_status_subresource(&self) -> bool {
        self.subresource("status").is_some()
    }

    /// Whether this is the `events.k8s.io` view of the stored core events.
    pub fn is_events_view(&self) -> bool {
        self.group == "events.k8s.io"
    }

    const fn short(mut self, names: &'static [&'static str]) -> Self {
        self.short_names = names;
        self
    }

    const fn all(mut self) -> Self {
        self.in_all = true;
        self
    }

    const fn generation(mut self) -> Self {
        self.counts_generation = true;
        self
    }

    const fn below(mut self, subresources: &'static [Subresource]) -> Self {
        self.subresources = subresources;
        self
    }

    const fn verbs(mut self, verbs: Verbs) -> Self {
        self.verbs = verbs;
        self
    }
}

fn qualified(name: &str, group: &str) -> String {
    if group.is_empty() { name.to_owned() } else { format!("{name}.{group}") }
}

/// The entry that serves `plural` in a group version.
pub fn by_path(group: &str, version: &str, plural: &str) -> Option<&'static Resource> {
    RESOURCES.iter().find(|it| it.group == group && it.version == version && it.plural == plural)
}

/// The entry for a kind in an `apiVersion`, as bodies and owner references name it.
pub fn by_kind(api_version: &str, kind: &str) -> Option<&'static Resource> {
    RESOURCES.iter().find(|it| it.kind == kind && it.api_version() == api_version)
}

/// The group versions in the table's order, each once.
pub fn group_versions() -> Vec<(&'static str, &'static str)> {
    let mut seen = Vec::new();
    for resource in RESOURCES {
        if !seen.contains(&(resource.group, resource.version)) {
            seen.push((resource.group, resource.version));
        }
    }
    seen
}

const fn namespaced(
    (group, version): (&'static str, &'static str),
    plural: &'static str,
    singular: &'static str,
    kind: &'static str,
    collection: &'static str,
) -> Resource {
    Resource {
        group,
        version,
        plural,
        singular,
        kind,
        namespaced: true,
        short_names: &[],
        in_all: false,
        subresources: &[],
        verbs: Verbs::Stored,
        counts_generation: false,
        collection: Collection(collection),
    }
}

const fn cluster(
    group_version: (&'static str, &'static str),
    plural: &'static str,
    singular: &'static str,
    kind: &'static str,
    collection: &'static str,
) -> Resource {
    let mut resource = namespaced(group_version, plural, singular, kind, collection);
    resource.namespaced = false;
    resource
}

const fn sub(name: &'static str, verbs: Verbs) -> Subresource {
    Subresource { name, group: "", version: "", kind: "", verbs }
}

const fn foreign(
    name: &'static str,
    group: &'static str,
    version: &'static str,
    kind: &'static str,
    verbs: Verbs,
) -> Subresource {
    Subresource { name, group, version, kind, verbs }
}

const STATUS: Subresource = sub("status", Verbs::Part);
const SCALE: Subresource = foreign("scale", "autoscaling", "v1", "Scale", Verbs::Part);
const BINDING: Subresource = foreign("binding", "", "", "Binding", Verbs::CreateOnly);
const EVICTION: Subresource = foreign("eviction", "policy", "v1", "Eviction", Verbs::CreateOnly);
const ATTACH: Subresource = foreign("attach", "", "", "PodAttachOptions", Verbs::Connect);
const EXEC: Subresource = foreign("exec", "", "", "PodExecOptions", Verbs::Connect);
const FORWARD: Subresource =
    foreign("portforward", "", "", "PodPortForwardOptions", Verbs::Connect);
const RESIZE: Subresource = sub("resize", Verbs::Part);
const LOG: Subresource = sub("log", Verbs::GetOnly);
const TOKEN: Subresource =
    foreign("token", "authentication.k8s.io", "v1", "TokenRequest", Verbs::CreateOnly);
const FINALIZE: Subresource = sub("finalize", Verbs::UpdateOnly);

const CORE: (&str, &str) = ("", "v1");
const APPS: (&str, &str) = ("apps", "v1");
const AUTHN: (&str, &str) = ("authentication.k8s.io", "v1");
const AUTHZ: (&str, &str) = ("authorization.k8s.io", "v1");
const BATCH: (&str, &str) = ("batch", "v1");
const COORDINATION: (&str, &str) = ("coordination.k8s.io", "v1");
const DISCOVERY: (&str, &str) = ("discovery.k8s.io", "v1");
const EVENTS: (&str, &str) = ("events.k8s.io", "v1");
const POLICY: (&str, &str) = ("policy", "v1");
const RBAC: (&str, &str) = ("rbac.authorization.k8s.io", "v1");
const RESOURCE: (&str, &str) = ("resource.k8s.io", "v1");
const SCHEDULING: (&str, &str) = ("scheduling.k8s.io", "v1");
const STORAGE: (&str, &str) = ("storage.k8s.io", "v1");

/// Every kind that is served.
#[rustfmt::skip]
pub static RESOURCES: &[Resource] = &[
    namespaced(CORE, "bindings", "binding", "Binding", "bindings").verbs(Verbs::CreateOnly),
    namespaced(CORE, "configmaps", "configmap", "ConfigMap", "configmaps").short(&["cm"]),
    namespaced(CORE, "endpoints", "endpoints", "Endpoints", "endpoints").short(&["ep"]),
    namespaced(CORE, "events", "event", "Event", "events").short(&["ev"]),
    namespaced(CORE, "limitranges", "limitrange", "LimitRange", "limitranges").short(&["limits"]),
    cluster(CORE, "namespaces", "namespace", "Namespace", "namespaces").short(&["ns"])
        .verbs(Verbs::StoredNoDeleteCollection).below(&[FINALIZE, STATUS]),
    cluster(CORE, "nodes", "node", "Node", "nodes").short(&["no"]).below(&[STATUS]),
    namespaced(CORE, "persistentvolumeclaims", "persistentvolumeclaim", "PersistentVolumeClaim", "persistentvolumeclaims")
        .short(&["pvc"]).below(&[STATUS]),
    cluster(CORE, "persistentvolumes", "persistentvolume", "PersistentVolume", "persistentvolumes")
        .short(&["pv"]).below(&[STATUS]),
    namespaced(CORE, "pods", "pod", "Pod", "pods").short(&["po"]).all().generation()
        .below(&[ATTACH, BINDING, EVICTION, EXEC, LOG, FORWARD, RESIZE, STATUS]),
    namespaced(CORE, "podtemplates", "podtemplate", "PodTemplate", "podtemplates"),
    namespaced(CORE, "replicationcontrollers", "replicationcontroller", "ReplicationController", "replicationcontrollers")
        .short(&["rc"]).all().generation().below(&[SCALE, STATUS]),
    namespaced(CORE, "resourcequotas", "resourcequota", "ResourceQuota", "resourcequotas").short(&["quota"]).below(&[STATUS]),
    namespaced(CORE, "secrets", "secret", "Secret", "secrets"),
    namespaced(CORE, "serviceaccounts", "serviceaccount", "ServiceAccount", "serviceaccounts").short(&["sa"]).below(&[TOKEN]),
    namespaced(CORE, "services", "service", "Service", "services").short(&["svc"]).all().below(&[STATUS]),
    namespaced(APPS, "controllerrevisions", "controllerrevision", "ControllerRevision", "controllerrevisions.apps"),
    namespaced(APPS, "daemonsets", "daemonset", "DaemonSet", "daemonsets.apps")
        .short(&["ds"]).all().generation().below(&[STATUS]),
    namespaced(APPS, "deployments", "deployment", "Deployment", "deployments.apps")
        .short(&["deploy"]).all().generation().below(&[SCALE, STATUS]),
    namespaced(APPS, "replicasets", "replicaset", "ReplicaSet", "replicasets.apps")
        .short(&["rs"]).all().generation().below(&[SCALE, STATUS]),
    namespaced(APPS, "statefulsets", "statefulset", "StatefulSet", "statefulsets.apps")
        .short(&["sts"]).all().generation().below(&[SCALE, STATUS]),
    cluster(AUTHN, "selfsubjectreviews", "selfsubjectreview", "SelfSubjectReview", "selfsubjectreviews.authentication.k8s.io")
        .verbs(Verbs::CreateOnly),
    cluster(AUTHN, "tokenreviews", "tokenreview", "TokenReview", "tokenreviews.authentication.k8s.io")
        .verbs(Verbs::CreateOnly),
    namespaced(AUTHZ, "localsubjectaccessreviews", "localsubjectaccessreview", "LocalSubjectAccessReview",
        "localsubjectaccessreviews.authorization.k8s.io").verbs(Verbs::CreateOnly),
    cluster(AUTHZ, "selfsubjectaccessreviews", "selfsubjectaccessreview", "SelfSubjectAccessReview",
        "selfsubjectaccessreviews.authorization.k8s.io").verbs(Verbs::CreateOnly),
    cluster(AUTHZ, "selfsubjectrulesreviews", "selfsubjectrulesreview", "SelfSubjectRulesReview",
        "selfsubjectrulesreviews.authorization.k8s.io").verbs(Verbs::CreateOnly),
    cluster(AUTHZ, "subjectaccessreviews", "subjectaccessreview", "SubjectAccessReview",
        "subjectaccessreviews.authorization.k8s.io").verbs(Verbs::CreateOnly),
    namespaced(BATCH, "cronjobs", "cronjob", "CronJob", "cronjobs.batch").short(&["cj"]).all().generation().below(&[STATUS]),
    namespaced(BATCH, "jobs", "job", "Job", "jobs.batch").all().generation().below(&[STATUS]),
    namespaced(COORDINATION, "leases", "lease", "Lease", "leases.coordination.k8s.io"),
    namespaced(DISCOVERY, "endpointslices", "endpointslice", "EndpointSlice", "endpointslices.discovery.k8s.io"),
    namespaced(EVENTS, "events", "event", "Event", "events").short(&["ev"]),
    namespaced(POLICY, "poddisruptionbudgets", "poddisruptionbudget", "PodDisruptionBudget", "poddisruptionbudgets.policy")
        .short(&["pdb"]).generation().below(&[STATUS]),
    cluster(RBAC, "clusterrolebindings", "clusterrolebinding", "ClusterRoleBinding", "clusterrolebindings.rbac.authorization.k8s.io"),
    cluster(RBAC, "clusterroles", "clusterrole", "ClusterRole", "clusterroles.rbac.authorization.k8s.io"),
    namespaced(RBAC, "rolebindings", "rolebinding", "RoleBinding", "rolebindings.rbac.authorization.k8s.io"),
    namespaced(RBAC, "roles", "role", "Role", "roles.rbac.authorization.k8s.io"),
    cluster(RESOURCE, "deviceclasses", "deviceclass", "DeviceClass", "deviceclasses.resource.k8s.io").generation(),
    namespaced(RESOURCE, "resourceclaims", "resourceclaim", "ResourceClaim", "resourceclaims.resource.k8s.io").below(&[STATUS]),
    namespaced(RESOURCE, "resourceclaimtemplates", "resourceclaimtemplate", "ResourceClaimTemplate",
        "resourceclaimtemplates.resource.k8s.io"),
    cluster(RESOURCE, "resourceslices", "resourceslice", "ResourceSlice", "resourceslices.resource.k8s.io"),
    cluster(SCHEDULING, "priorityclasses", "priorityclass", "PriorityClass", "priorityclasses.scheduling.k8s.io")
        .short(&["pc"]).generation(),
    cluster(STORAGE, "csidrivers", "csidriver", "CSIDriver", "csidrivers.storage.k8s.io"),
    cluster(STORAGE, "csinodes", "csinode", "CSINode", "csinodes.storage.k8s.io"),
    namespaced(STORAGE, "csistoragecapacities", "csistoragecapacity", "CSIStorageCapacity", "csistoragecapacities.storage.k8s.io"),
    cluster(STORAGE, "storageclasses", "storageclass", "StorageClass", "storageclasses.storage.k8s.io").short(&["sc"]),
    cluster(STORAGE, "volumeattachments", "volumeattachment", "VolumeAttachment", "volumeattachments.storage.k8s.io").below(&[STATUS]),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_collection_is_named_like_its_group_resource() {
        for resource in RESOURCES.iter().filter(|it| !it.is_events_view()) {
            assert_eq!(resource.collection.name(), resource.group_resource());
            assert_eq!(resource.collection.resource(), resource);
        }
    }

    #[test]
    fn both_views_of_events_share_one_collection() {
        let core = by_path("", "v1", "events").unwrap();
        let view = by_path("events.k8s.io", "v1", "events").unwrap();
        assert_eq!(core.collection, view.collection);
        assert_eq!(Collection::EVENTS.resource(), core);
    }

    #[test]
    fn the_eighteen_lists_of_kube_scheduler_are_served() {
        let wanted = [
            ("", "nodes"),
            ("", "namespaces"),
            ("", "services"),
            ("", "replicationcontrollers"),
            ("", "persistentvolumes"),
            ("", "persistentvolumeclaims"),
            ("", "pods"),
            ("apps", "replicasets"),
            ("apps", "statefulsets"),
            ("policy", "poddisruptionbudgets"),
            ("storage.k8s.io", "storageclasses"),
            ("storage.k8s.io", "csinodes"),
            ("storage.k8s.io", "csidrivers"),
            ("storage.k8s.io", "csistoragecapacities"),
            ("storage.k8s.io", "volumeattachments"),
            ("resource.k8s.io", "resourceclaims"),
            ("resource.k8s.io", "resourceslices"),
            ("resource.k8s.io", "deviceclasses"),
        ];
        for (group, plural) in wanted {
            let found = by_path(group, "v1", plural).unwrap();
            assert!(found.verbs.names().contains(&"watch"), "{plural}");
        }
    }
}
