//! What a pod takes of a node (upstream: `component-helpers/resource` and the scheduler's
//! `PodInfo.CalculateResource`).

#[cfg(test)]
mod tests;

use super::resource::{CPU, MEMORY, is_huge_page_resource_name};
use super::{Container, Pod, Quantity, Resource, ResourceList, ResourceRequirements};

/// What a container that asks for no CPU counts as where a score would else ignore it, in
/// thousandths of a core.
pub const DEFAULT_MILLI_CPU_REQUEST: i64 = 100;

/// What a container that asks for no memory counts as where a score would else ignore it, in
/// bytes.
pub const DEFAULT_MEMORY_REQUEST: i64 = 200 * 1024 * 1024;

/// The condition of a pod whose resize has not been carried out, and the reason that says that it
/// never will be (KEP-1287).
const RESIZE_PENDING: &str = "PodResizePending";
const INFEASIBLE: &str = "Infeasible";

/// What counts as a pod's requests. The default is upstream's: the specification, with pod-level
/// requests and overhead.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct PodRequestOptions {
    /// A pod on a node counts with the most of what it asks for, what the node has set aside and
    /// what is in effect (KEP-1287, for the pod as a whole KEP-5419). Without effect for a pod
    /// that no node runs yet.
    pub use_status: bool,
    /// Pod-level requests (KEP-2837) are not looked at.
    pub skip_pod_level: bool,
    /// Overhead (KEP-688) is not added.
    pub exclude_overhead: bool,
    /// Counts for containers, init containers too, whose requests do not have the name at all.
    pub container_defaults: ResourceList,
}

impl PodRequestOptions {
    /// How a pod that is on a node, or will be, counts there.
    pub fn on_node() -> Self {
        Self { use_status: true, ..Self::default() }
    }

    /// Gives containers without requests for CPU and memory upstream's defaults.
    #[must_use]
    pub fn with_non_zero_defaults(self) -> Self {
        Self { container_defaults: non_zero_defaults(), ..self }
    }
}

/// What `pod` asks for, by resource name (upstream: `PodRequests`).
///
/// Containers add up; init containers run one after the other before them, each beside the
/// sidecars started before it, and only the largest moment counts (KEP-753). Pod-level requests
/// for CPU, memory and huge pages take the place of that. Overhead comes on top.
pub fn pod_requests(pod: &Pod, options: &PodRequestOptions) -> ResourceList {
    let mut requests = container_requests(pod, options);
    if !options.skip_pod_level
        && let Some(resources) = &pod.spec.resources
    {
        let effective =
            pod.status.resources.as_ref().filter(|_| options.use_status).map(|actual| {
                effective_requests(
                    pod,
                    &resources.requests,
                    &actual.requests,
                    &pod.status.allocated_resources,
                )
            });
        for (name, asked) in &resources.requests {
            if is_supported_pod_level_resource(name) {
                let amount = effective.as_ref().map_or_else(
                    || asked.clone(),
                    |effective| effective.get(name).cloned().unwrap_or_default(),
                );
                requests.insert(name.clone(), amount);
            }
        }
    }
    if !options.exclude_overhead {
        requests.add(&pod.spec.overhead);
    }
    requests
}

/// Whether the pod as a whole asks for a resource that pod-level requests can cover.
pub fn is_pod_level_requests_set(pod: &Pod) -> bool {
    let requests = pod.spec.resources.as_ref().map(|resources| &resources.requests);
    requests.is_some_and(|it| it.iter().any(|(name, _)| is_supported_pod_level_resource(name)))
}

/// Whether pod-level requests can cover the resource: CPU, memory and huge pages.
pub fn is_supported_pod_level_resource(name: &str) -> bool {
    matches!(name, CPU | MEMORY) || is_huge_page_resource_name(name)
}

/// What a pod takes of a node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PodResources {
    /// Its requests, overhead included.
    pub requests: Resource,
    /// CPU and memory with upstream's defaults for containers that ask for none (100 millicores,
    /// 200 MiB); the other slots are 0.
    pub non_zero: Resource,
}

impl PodResources {
    /// Works them out for `pod` as it counts on its node (upstream: `CalculateResource`).
    pub fn of(pod: &Pod) -> Self {
        let options = PodRequestOptions::on_node();
        let requests = pod_requests(pod, &options);
        let mut container_defaults = non_zero_defaults();
        if is_pod_level_requests_set(pod) {
            // What the pod as a whole or any container asks for needs no default.
            let missing =
                container_defaults.iter().filter(|(name, _)| !requests.contains_key(name));
            container_defaults = missing.cloned().collect();
        }
        let cpu_and_memory = |list: &ResourceList| {
            let kept = list.iter().filter(|(name, _)| matches!(&**name, CPU | MEMORY));
            Resource::from_resource_list(&kept.cloned().collect())
        };
        let non_zero = if container_defaults.is_empty() {
            cpu_and_memory(&requests)
        } else {
            cpu_and_memory(&pod_requests(pod, &PodRequestOptions { container_defaults, ..options }))
        };
        Self { requests: Resource::from_resource_list(&requests), non_zero }
    }
}

fn non_zero_defaults() -> ResourceList {
    ResourceList::from_iter([
        (CPU, Quantity::from_milli_value(DEFAULT_MILLI_CPU_REQUEST)),
        (MEMORY, Quantity::from_value(DEFAULT_MEMORY_REQUEST)),
    ])
}

/// The sum or peak of what the containers ask for (upstream: `AggregateContainerRequests`).
fn container_requests(pod: &Pod, options: &PodRequestOptions) -> ResourceList {
    let mut total = ResourceList::default();
    for container in &pod.spec.containers {
        total.add(&requests_of(pod, container, options.use_status, options));
    }
    let (mut sidecars, mut peak) = (ResourceList::default(), ResourceList::default());
    for container in &pod.spec.init_containers {
        let sidecar = container.is_sidecar();
        let asked = requests_of(pod, container, options.use_status && sidecar, options);
        if sidecar {
            total.add(&asked);
            sidecars.add(&asked);
            peak.set_max(&sidecars);
        } else {
            let mut moment = asked;
            moment.add(&sidecars);
            peak.set_max(&moment);
        }
    }
    total.set_max(&peak);
    total
}

fn requests_of(
    pod: &Pod,
    container: &Container,
    use_status: bool,
    options: &PodRequestOptions,
) -> ResourceList {
    let asked = &container.resources.requests;
    let status = use_status.then(|| container_status(pod, container)).flatten();
    let mut requests = status.map_or_else(
        || asked.clone(),
        |(allocated, actual)| effective_requests(pod, asked, &actual.requests, allocated),
    );
    requests.fill_missing(&options.container_defaults);
    requests
}

/// What the node has set aside for the container and what is in effect, if it has told the latter.
fn container_status<'pod>(
    pod: &'pod Pod,
    container: &Container,
) -> Option<(&'pod ResourceList, &'pod ResourceRequirements)> {
    let status = &pod.status;
    let mut statuses = status.container_statuses.iter().chain(&status.init_container_statuses);
    let status = statuses.find(|status| status.name == container.name)?;
    Some((&status.allocated_resources, status.resources.as_ref()?))
}

/// The most of what is asked for, in effect and set aside. What is asked for does not count once
/// the node has said that it can never give it.
fn effective_requests(
    pod: &Pod,
    asked: &ResourceList,
    actual: &ResourceList,
    allocated: &ResourceList,
) -> ResourceList {
    let pending = pod.status.condition(RESIZE_PENDING);
    let infeasible = pending.is_some_and(|condition| &*condition.reason == INFEASIBLE);
    let mut requests = if infeasible { ResourceList::default() } else { asked.clone() };
    requests.set_max(actual);
    requests.set_max(allocated);
    requests
}
