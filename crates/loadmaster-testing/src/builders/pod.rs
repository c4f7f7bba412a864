//! Pods.

use std::sync::Arc;

use loadmaster_framework::PodInfo;
use loadmaster_framework::api::{
    Affinity, Container, ContainerPort, ContainerRestartPolicy, Effect, EphemeralVolume,
    LabelSelector, NodeSelectorRequirement, OwnerReference, PersistentVolumeClaimVolume, Pod,
    PodAffinityTerm, PodPhase, PodSchedulingGate, PreemptionPolicy, PreferredSchedulingTerm,
    Protocol, Text, Timestamp, Toleration, TolerationOperator, TopologySpreadConstraint,
    UnsatisfiableConstraintAction, Volume, WeightedPodAffinityTerm,
};

use super::{NAMESPACE, builder, node_term, quantity};

/// Starts a pod with one container, in namespace `default`, for `default-scheduler`.
///
/// ```
/// use loadmaster_testing::builders::pod;
///
/// let pod = pod("a").label("app", "web").request("cpu", "100m").limit("cpu", "1").build();
/// assert_eq!(pod.label("app"), Some("web"));
/// let requests = &pod.spec.containers[0].resources.requests;
/// assert_eq!(requests.get("cpu").map(|it| it.milli_value()), Some(100));
/// ```
pub fn pod(name: &str) -> PodBuilder {
    let mut pod = Pod::default();
    pod.metadata.name = name.into();
    pod.metadata.namespace = NAMESPACE.into();
    pod.spec.scheduler_name = "default-scheduler".into();
    pod.spec.containers = vec![container("main")];
    PodBuilder(pod)
}

/// A pod in the making; see [`pod`].
#[derive(Clone, Debug)]
#[must_use = "a builder does nothing until it is built"]
pub struct PodBuilder(Pod);

builder!(PodBuilder => Pod);

fn container(name: &str) -> Container {
    Container { name: name.into(), ..Container::default() }
}

/// Identity and what the pod is part of.
impl PodBuilder {
    /// Puts the pod into another namespace.
    pub fn namespace(self, namespace: impl Into<Text>) -> Self {
        self.with(|it| it.metadata.namespace = namespace.into())
    }

    /// Gives the pod another identity than `namespace/name`.
    pub fn uid(self, uid: impl Into<Text>) -> Self {
        self.with(|it| it.metadata.uid = uid.into())
    }

    /// Makes `name` of `kind` (`ReplicaSet`, `StatefulSet`, `ReplicationController`, `Job`) the
    /// pod's managing controller.
    pub fn owner(self, kind: &str, name: &str) -> Self {
        let api_version = match kind {
            "ReplicationController" => "v1",
            "Job" => "batch/v1",
            _ => "apps/v1",
        };
        let owner = OwnerReference {
            api_version: api_version.into(),
            kind: kind.into(),
            name: name.into(),
            uid: format!("{kind}/{name}").into(),
            controller: true,
        };
        self.with(|it| it.metadata.owner_references.push(owner))
    }

    /// Asks for another scheduler than `default-scheduler`.
    pub fn scheduler_name(self, name: impl Into<Text>) -> Self {
        self.with(|it| it.spec.scheduler_name = name.into())
    }

    /// Sets the priority.
    pub fn priority(self, priority: i32) -> Self {
        self.with(|it| it.spec.priority = Some(priority))
    }

    /// The pod never pushes others off a node (`preemptionPolicy: Never`).
    pub fn preempts_never(self) -> Self {
        self.with(|it| it.spec.preemption_policy = Some(PreemptionPolicy::Never))
    }

    /// Holds the pod back by a scheduling gate.
    pub fn gate(self, name: impl Into<Text>) -> Self {
        self.with(|it| it.spec.scheduling_gates.push(PodSchedulingGate { name: name.into() }))
    }

    /// When the pod was created, in seconds since 1970.
    pub fn created(self, seconds: i64) -> Self {
        self.with(|it| it.metadata.creation_timestamp = Some(timestamp(seconds)))
    }
}

/// Where the pod stands in its life.
impl PodBuilder {
    /// The pod is bound to `name` and runs there.
    pub fn node(self, name: impl Into<Text>) -> Self {
        self.with(|it| {
            it.spec.node_name = name.into();
            it.status.phase = PodPhase::Running;
        })
    }

    /// Room is being made for the pod on `name`, or is promised to it.
    pub fn nominated(self, name: impl Into<Text>) -> Self {
        self.with(|it| it.status.nominated_node_name = name.into())
    }

    /// Sets the phase.
    pub fn phase(self, phase: PodPhase) -> Self {
        self.with(|it| it.status.phase = phase)
    }

    /// When its node accepted the pod, in seconds since 1970.
    pub fn started(self, seconds: i64) -> Self {
        self.with(|it| it.status.start_time = Some(timestamp(seconds)))
    }

    /// The pod's deletion has been asked for.
    pub fn terminating(self) -> Self {
        self.with(|it| it.metadata.deletion_timestamp = Some(timestamp(0)))
    }
}

/// What the pod is made of. Requests, limits, ports and the image are those of the container that
/// was started last.
impl PodBuilder {
    /// Starts another container beside those before it.
    pub fn container(self, name: &str) -> Self {
        self.with(|it| it.spec.containers.push(container(name)))
    }

    /// Adds an init container that requests `amounts`.
    pub fn init_container<'a>(
        self,
        name: &str,
        amounts: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Self {
        let init = requesting(container(name), amounts);
        self.with(|it| it.spec.init_containers.push(init))
    }

    /// Adds a sidecar (an init container that is restarted always) that requests `amounts`.
    pub fn sidecar<'a>(
        self,
        name: &str,
        amounts: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Self {
        let mut sidecar = requesting(container(name), amounts);
        sidecar.restart_policy = Some(ContainerRestartPolicy::Always);
        self.with(|it| it.spec.init_containers.push(sidecar))
    }

    /// What must be set aside for the container.
    pub fn request(self, resource: impl Into<Text>, amount: &str) -> Self {
        self.last(|it| it.resources.requests.insert(resource, quantity(amount)))
    }

    /// [`request`](Self::request) for several resources at once.
    pub fn requests<'a>(self, amounts: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        amounts.into_iter().fold(self, |it, (resource, amount)| it.request(resource, amount))
    }

    /// What the container may use at most.
    pub fn limit(self, resource: impl Into<Text>, amount: &str) -> Self {
        self.last(|it| it.resources.limits.insert(resource, quantity(amount)))
    }

    /// The container's image.
    pub fn image(self, name: impl Into<Text>) -> Self {
        self.last(|it| it.image = name.into())
    }

    /// Takes a TCP port on every address of the node.
    pub fn host_port(self, port: i32) -> Self {
        self.host_port_on("", Protocol::Tcp, port)
    }

    /// Takes a port on one address of the node; empty is all of them.
    pub fn host_port_on(self, ip: &str, protocol: Protocol, port: i32) -> Self {
        let port =
            ContainerPort { container_port: port, host_port: port, host_ip: ip.into(), protocol };
        self.last(|it| it.ports.push(port))
    }

    /// What the pod costs beyond its containers.
    pub fn overhead(self, resource: impl Into<Text>, amount: &str) -> Self {
        self.with(|it| {
            it.spec.overhead.insert(resource, quantity(amount));
        })
    }

    /// What the pod as a whole asks for.
    pub fn pod_request(self, resource: impl Into<Text>, amount: &str) -> Self {
        self.with(|it| {
            let whole = it.spec.resources.get_or_insert_default();
            whole.requests.insert(resource, quantity(amount));
        })
    }

    /// Mounts the claim of this name from the pod's namespace.
    pub fn claim(self, claim: &str) -> Self {
        let source = PersistentVolumeClaimVolume { claim_name: claim.into(), ..Default::default() };
        self.volume(Volume {
            name: claim.into(),
            persistent_volume_claim: Some(source),
            ..Volume::default()
        })
    }

    /// Mounts a claim of the pod's own, which is to be named `POD-NAME`.
    pub fn ephemeral_claim(self, name: &str) -> Self {
        self.volume(Volume {
            name: name.into(),
            ephemeral: Some(EphemeralVolume::default()),
            ..Volume::default()
        })
    }

    /// Adds a volume of any source.
    pub fn volume(self, volume: Volume) -> Self {
        self.with(|it| it.spec.volumes.push(volume))
    }

    fn last<T>(mut self, change: impl FnOnce(&mut Container) -> T) -> Self {
        if self.0.spec.containers.is_empty() {
            self.0.spec.containers.push(container("main"));
        }
        if let Some(last) = self.0.spec.containers.last_mut() {
            change(last);
        }
        self
    }
}

/// What the pod wants of its node and of its neighbours.
impl PodBuilder {
    /// The node must have this label.
    pub fn node_selector(self, key: impl Into<Text>, value: impl Into<Text>) -> Self {
        self.with(|it| it.spec.node_selector = it.spec.node_selector.with(key, value))
    }

    /// Accepts the taint; an empty `value` accepts any.
    pub fn tolerates(self, key: &str, value: &str, effect: Effect) -> Self {
        let operator = match value {
            "" => TolerationOperator::Exists,
            _ => TolerationOperator::Equal,
        };
        self.toleration(Toleration {
            key: key.into(),
            operator,
            value: value.into(),
            effect: Some(effect),
        })
    }

    /// Adds a toleration.
    pub fn toleration(self, toleration: Toleration) -> Self {
        self.with(|it| it.spec.tolerations.push(toleration))
    }

    /// The node must meet all `requirements`, or those of another call.
    ///
    /// ```
    /// use loadmaster_testing::builders::{pod, requirement};
    ///
    /// let pod = pod("a").node_affinity([requirement("zone", "In", ["a", "b"])]).build();
    /// # let _ = pod;
    /// ```
    pub fn node_affinity(
        self,
        requirements: impl IntoIterator<Item = NodeSelectorRequirement>,
    ) -> Self {
        let term = node_term(requirements);
        self.affinity(|it| {
            let required =
                it.node_affinity.get_or_insert_default().required.get_or_insert_default();
            required.node_selector_terms.push(term);
        })
    }

    /// A node that meets all `requirements` is worth `weight` (1..=100) more.
    pub fn preferred_node_affinity(
        self,
        weight: i32,
        requirements: impl IntoIterator<Item = NodeSelectorRequirement>,
    ) -> Self {
        let preference = node_term(requirements);
        self.affinity(|it| {
            let preferred = &mut it.node_affinity.get_or_insert_default().preferred;
            preferred.push(PreferredSchedulingTerm { weight, preference });
        })
    }

    /// Must be near pods of the term; see [`near`](super::near).
    ///
    /// ```
    /// use loadmaster_testing::builders::{near, pod, selector};
    ///
    /// let pod = pod("a").pod_affinity(near("zone", selector([("app", "db")]))).build();
    /// # let _ = pod;
    /// ```
    pub fn pod_affinity(self, term: PodAffinityTerm) -> Self {
        self.affinity(|it| it.pod_affinity.get_or_insert_default().required.push(term))
    }

    /// Must not be near pods of the term.
    pub fn pod_anti_affinity(self, term: PodAffinityTerm) -> Self {
        self.affinity(|it| it.pod_anti_affinity.get_or_insert_default().required.push(term))
    }

    /// Should be near pods of the term; each adds `weight` (1..=100).
    pub fn preferred_pod_affinity(self, weight: i32, term: PodAffinityTerm) -> Self {
        let term = WeightedPodAffinityTerm { weight, pod_affinity_term: term };
        self.affinity(|it| it.pod_affinity.get_or_insert_default().preferred.push(term))
    }

    /// Should not be near pods of the term; each takes `weight` (1..=100) away.
    pub fn preferred_pod_anti_affinity(self, weight: i32, term: PodAffinityTerm) -> Self {
        let term = WeightedPodAffinityTerm { weight, pod_affinity_term: term };
        self.affinity(|it| it.pod_anti_affinity.get_or_insert_default().preferred.push(term))
    }

    /// Pods that `selector` is about must be spread over the values of the nodes' label
    /// `topology_key`, differing by `max_skew` at most.
    pub fn spread(self, max_skew: i32, topology_key: &str, selector: LabelSelector) -> Self {
        self.spread_constraint(TopologySpreadConstraint {
            max_skew,
            topology_key: topology_key.into(),
            label_selector: Some(selector),
            ..TopologySpreadConstraint::default()
        })
    }

    /// As [`spread`](Self::spread), where there is a choice (`ScheduleAnyway`).
    pub fn preferred_spread(
        self,
        max_skew: i32,
        topology_key: &str,
        selector: LabelSelector,
    ) -> Self {
        self.spread_constraint(TopologySpreadConstraint {
            max_skew,
            topology_key: topology_key.into(),
            when_unsatisfiable: UnsatisfiableConstraintAction::ScheduleAnyway,
            label_selector: Some(selector),
            ..TopologySpreadConstraint::default()
        })
    }

    /// Adds a spread constraint.
    pub fn spread_constraint(self, constraint: TopologySpreadConstraint) -> Self {
        self.with(|it| it.spec.topology_spread_constraints.push(constraint))
    }

    fn affinity(self, change: impl FnOnce(&mut Affinity)) -> Self {
        self.with(|it| change(it.spec.affinity.get_or_insert_default()))
    }
}

impl PodBuilder {
    /// The pod. Its uid is `namespace/name` if none was given.
    pub fn build(self) -> Pod {
        let mut pod = self.0;
        if pod.metadata.uid.is_empty() {
            pod.metadata.uid = pod.key().to_string().into();
        }
        pod
    }

    /// The pod as plugins see it.
    pub fn info(self) -> Arc<PodInfo> {
        Arc::new(PodInfo::new(Arc::new(self.build())))
    }
}

impl From<PodBuilder> for Arc<PodInfo> {
    fn from(builder: PodBuilder) -> Self {
        builder.info()
    }
}

fn requesting<'a>(
    mut container: Container,
    amounts: impl IntoIterator<Item = (&'a str, &'a str)>,
) -> Container {
    for (resource, amount) in amounts {
        container.resources.requests.insert(resource, quantity(amount));
    }
    container
}

/// The moment so many seconds after 1970 began.
fn timestamp(seconds: i64) -> Timestamp {
    let time = jiff::Timestamp::from_second(seconds);
    Timestamp(time.expect("a test's time stamp is within the calendar"))
}
