//! Pods on hollow nodes: running as soon as they are bound, gone when they are told to go.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::admission::{Ledger, Rejection};
use super::{end_of, finish, live_node};
use crate::api::Api;
use crate::controllers::volumes::{claims_of, is_bound};
use crate::controllers::{Controller, Key, Recorder, Severity};
use crate::resources::Collection;
use crate::runtime::Runtime;
use crate::status::Status;
use crate::store::{Object, is_being_deleted, text};
use crate::values::{condition, condition_is_true, list};

/// Runs the pods of every live node.
#[derive(Debug, Default)]
pub struct HollowPods {
    /// How many addresses of each pod network were given out, so that none is reused at once.
    given: BTreeMap<String, u64>,
    ledger: Ledger,
    /// Runs the pods that are not hollow.
    runtime: Option<Runtime>,
}

impl HollowPods {
    /// Pods of which the runtime runs those that it is to run.
    pub fn with(runtime: Option<Runtime>) -> Self {
        Self { runtime, ..Self::default() }
    }
}

const RECORDER: Recorder = Recorder("kubelet");

/// The addresses of a network of 256 without its own, its gateway's and its broadcast address.
const ADDRESSES: u64 = 253;

impl Controller for HollowPods {
    fn watches(&self) -> Vec<Collection> {
        vec![Collection::PODS, Collection::NODES, Collection::PERSISTENT_VOLUME_CLAIMS]
    }

    fn keys(&self, api: &Api, collection: Collection, object: &Value) -> Vec<Key> {
        if collection == Collection::PODS {
            let bound = object["spec"]["nodeName"].as_str().is_some_and(|it| !it.is_empty());
            return bound.then(|| Key::of(object)).into_iter().collect();
        }
        // A node that has just come, or got its network, and a claim that was bound may have pods
        // waiting.
        let node = (collection == Collection::NODES).then(|| text(object, "name"));
        let namespace = node.is_none().then(|| text(object, "namespace"));
        let (pods, _) = api.store().list(Collection::PODS, namespace);
        let waiting = pods.iter().filter(|it| {
            let on_node = it["spec"]["nodeName"].as_str();
            on_node.is_some_and(|it| node.is_none_or(|node| node == it))
                && (it["status"]["phase"] == "Pending" || is_being_deleted(it))
        });
        waiting.map(|it| Key::of(it)).collect()
    }

    fn reconcile(
        &mut self,
        api: &Api,
        key: &Key,
        now: Timestamp,
    ) -> Result<Option<Timestamp>, Status> {
        let Some(pod) = api.store().get(Collection::PODS, &key.namespace, &key.name) else {
            if let Some(runtime) = &self.runtime {
                runtime.forget(key);
            }
            return Ok(None);
        };
        let Some(node) = live_node(api, &pod) else { return Ok(None) };
        if let Some(runtime) = self.runtime.as_ref().filter(|it| it.knows(&pod)) {
            runtime.sync(api, &pod, &node);
            return Ok(None);
        }
        if let Some(end) = end_of(&pod) {
            if end > now {
                return Ok(Some(end));
            }
            finish(api, &pod)?;
            return Ok(None);
        }
        if node["spec"]["podCIDR"].is_null() {
            // The node registers in a moment, and its change brings the pod back here.
            return Ok(None);
        }
        match pod["status"]["phase"].as_str() {
            Some("Pending") if has_volumes(api, &pod) => {
                match self.ledger.admit(api, &pod, &node) {
                    Ok(()) => self.begin(api, &pod, &node, now),
                    Err(rejection) => reject(api, &pod, &rejection, now),
                }
            }
            Some("Pending") => wait_for_volumes(api, &pod),
            Some("Running") => refresh(api, &pod, now),
            _ => {}
        }
        Ok(None)
    }
}

impl HollowPods {
    /// Starts a pod: for real if it is one of those.
    fn begin(&mut self, api: &Api, pod: &Object, node: &Object, now: Timestamp) {
        match self.runtime.as_ref().filter(|it| it.runs(pod)) {
            Some(runtime) => runtime.sync(api, pod, node),
            None => self.start(api, pod, node, now),
        }
    }

    fn start(&mut self, api: &Api, pod: &Object, node: &Object, now: Timestamp) {
        let host = host_ip(node);
        let on_host = pod["spec"]["hostNetwork"] == true;
        let ip = if on_host { host.clone() } else { self.free_address(api, node) };
        let time = now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
        let edited =
            api.store().edit(Collection::PODS, text(pod, "namespace"), text(pod, "name"), |pod| {
                let mut status = running_status(pod, &time);
                status.insert("hostIP".into(), json!(host));
                status.insert("hostIPs".into(), json!([{"ip": host}]));
                status.insert("podIP".into(), json!(ip));
                status.insert("podIPs".into(), json!([{"ip": ip}]));
                merge(&mut pod["status"], status);
            });
        if let Err(error) = edited {
            tracing::debug!(%error, "a pod went before it started");
        }
    }

    /// The next free address of a node's network, starting over at its end.
    fn free_address(&mut self, api: &Api, node: &Object) -> String {
        let cidr = node["spec"]["podCIDR"].as_str().unwrap_or_default();
        let prefix = cidr.rsplit_once('.').map_or(cidr, |(prefix, _)| prefix);
        let given = self.given.entry(cidr.to_owned()).or_default();
        // The first time round every address is free: nothing outlives the process.
        let used: BTreeSet<String> = if *given < ADDRESSES {
            BTreeSet::new()
        } else {
            let (pods, _) = api.store().list(Collection::PODS, None);
            pods.iter().filter_map(|it| it["status"]["podIP"].as_str().map(str::to_owned)).collect()
        };
        // A node with more pods than addresses repeats them, harmlessly.
        let mut address = String::new();
        for _ in 0..ADDRESSES {
            address = format!("{prefix}.{}", 2 + *given % ADDRESSES);
            *given += 1;
            if !used.contains(&address) {
                break;
            }
        }
        address
    }
}

/// Fails a pod for which there is no room.
fn reject(api: &Api, pod: &Object, rejection: &Rejection, now: Timestamp) {
    let (namespace, name) = (text(pod, "namespace"), text(pod, "name"));
    let Rejection { reason, message } = rejection;
    RECORDER.record(api, pod, Severity::Warning, reason, message, now);
    let edited = api.store().edit(Collection::PODS, namespace, name, |pod| {
        pod["status"]["phase"] = json!("Failed");
        pod["status"]["reason"] = json!(reason);
        pod["status"]["message"] = json!(format!("Pod was rejected: {message}"));
    });
    if let Err(error) = edited {
        tracing::debug!(%error, "a pod went before it was rejected");
    }
}

/// Whether every claim that the pod names is bound.
fn has_volumes(api: &Api, pod: &Value) -> bool {
    claims_of(pod).iter().all(|key| {
        let claims = Collection::PERSISTENT_VOLUME_CLAIMS;
        api.store().get(claims, &key.namespace, &key.name).is_some_and(|it| is_bound(&it))
    })
}

/// Shows that the containers are waiting, as they do on a real node until their volumes are there.
fn wait_for_volumes(api: &Api, pod: &Object) {
    let (namespace, name) = (text(pod, "namespace"), text(pod, "name"));
    let edited = api.store().edit(Collection::PODS, namespace, name, |pod| {
        let waiting = |container: &Value| {
            json!({"name": container["name"], "image": container["image"], "imageID": "",
                "state": {"waiting": {"reason": "ContainerCreating"}}, "lastState": {},
                "ready": false, "started": false, "restartCount": 0})
        };
        let statuses: Value = list(pod, "/spec/containers").iter().map(waiting).collect();
        pod["status"]["containerStatuses"] = statuses;
    });
    if let Err(error) = edited {
        tracing::debug!(%error, "a pod went while it waited for its volumes");
    }
}

/// The node's address.
pub(crate) fn host_ip(node: &Value) -> String {
    let internal = list(node, "/status/addresses").iter().find(|it| it["type"] == "InternalIP");
    internal.and_then(|it| it["address"].as_str()).unwrap_or_default().to_owned()
}

/// How long a pod takes to stop: the longest `preStop.sleep` of its containers.
pub(super) fn stop_seconds(pod: &Value) -> i64 {
    let sleep = |it: &Value| it["lifecycle"]["preStop"]["sleep"]["seconds"].as_i64();
    list(pod, "/spec/containers").iter().filter_map(sleep).max().unwrap_or_default()
}

fn merge(status: &mut Value, members: Map<String, Value>) {
    for (name, value) in members {
        status[name.as_str()] = value;
    }
}

/// The status of a pod all of whose containers run.
fn running_status(pod: &Value, time: &str) -> Map<String, Value> {
    let mut status = Map::new();
    status.insert("phase".into(), json!("Running"));
    status.insert("startTime".into(), json!(time));
    status.insert("observedGeneration".into(), pod["metadata"]["generation"].clone());
    status.insert("conditions".into(), json!(conditions(pod, time)));
    status.insert(
        "containerStatuses".into(),
        list(pod, "/spec/containers").iter().map(|it| running(it, pod, time)).collect(),
    );
    let init = list(pod, "/spec/initContainers");
    if !init.is_empty() {
        let statuses = init.iter().map(|container| {
            if container["restartPolicy"] == "Always" {
                running(container, pod, time)
            } else {
                completed(container, pod, time)
            }
        });
        status.insert("initContainerStatuses".into(), statuses.collect());
    }
    status
}

fn running(container: &Value, pod: &Value, time: &str) -> Value {
    let mut status = base(container, pod);
    status["state"] = json!({"running": {"startedAt": time}});
    status["ready"] = json!(true);
    status["started"] = json!(true);
    status
}

fn completed(container: &Value, pod: &Value, time: &str) -> Value {
    let mut status = base(container, pod);
    status["state"] = json!({"terminated": {"exitCode": 0, "reason": "Completed",
        "startedAt": time, "finishedAt": time, "containerID": status["containerID"]}});
    status["ready"] = json!(true);
    status["started"] = json!(false);
    status
}

fn base(container: &Value, pod: &Value) -> Value {
    let name = container["name"].as_str().unwrap_or_default();
    let id = format!("hollow://{}/{name}", text(pod, "uid"));
    json!({"name": name, "image": container["image"], "imageID": container["image"],
        "containerID": id, "lastState": {}, "restartCount": 0})
}

/// The conditions of a running pod; those that are there keep their place and time.
fn conditions(pod: &Value, time: &str) -> Vec<Value> {
    let mut conditions = list(pod, "/status/conditions").to_vec();
    let gates = list(pod, "/spec/readinessGates");
    let open = gates
        .iter()
        .all(|it| condition_is_true(pod, it["conditionType"].as_str().unwrap_or_default()));
    let kinds =
        ["PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled"];
    for kind in kinds {
        let ready = kind != "Ready" || open;
        let status = if ready { "True" } else { "False" };
        if condition(pod, kind).is_some_and(|it| it["status"] == status) {
            continue;
        }
        let mut next = json!({"type": kind, "status": status, "lastProbeTime": null,
            "lastTransitionTime": time, "observedGeneration": pod["metadata"]["generation"]});
        if !ready {
            next["reason"] = json!("ReadinessGatesNotReady");
            next["message"] = json!("the status of pod readiness gate is not \"True\"");
        }
        match conditions.iter_mut().find(|it| it["type"] == kind) {
            Some(slot) => *slot = next,
            None => conditions.push(next),
        }
    }
    conditions
}

/// Follows readiness gates and edits of a running pod's images.
fn refresh(api: &Api, pod: &Object, now: Timestamp) {
    let gated = !list(pod, "/spec/readinessGates").is_empty();
    let image = |it: &Value| it["image"].clone();
    let wanted: Vec<Value> = list(pod, "/spec/containers").iter().map(image).collect();
    let shown: Vec<Value> = list(pod, "/status/containerStatuses").iter().map(image).collect();
    // A status that is not ours (a learner's, or another stand-in's) is left alone.
    let replaced = wanted != shown && wanted.len() == shown.len();
    if !gated && !replaced {
        return;
    }
    let time = now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    let (namespace, name) = (text(pod, "namespace"), text(pod, "name"));
    let edited = api.store().edit(Collection::PODS, namespace, name, |pod| {
        if gated {
            pod["status"]["conditions"] = json!(conditions(pod, &time));
        }
        if replaced {
            restart(pod, &time);
        }
    });
    if let Err(error) = edited {
        tracing::debug!(%error, "a pod went while it was refreshed");
    }
}

/// Containers whose image was changed start anew.
fn restart(pod: &mut Value, time: &str) {
    let containers = list(pod, "/spec/containers").to_vec();
    let mut statuses = list(pod, "/status/containerStatuses").to_vec();
    for (container, status) in containers.iter().zip(&mut statuses) {
        if container["image"] != status["image"] {
            let restarts = status["restartCount"].as_i64().unwrap_or_default() + 1;
            *status = running(container, pod, time);
            status["restartCount"] = json!(restarts);
            status["lastState"] = json!({"terminated": {"exitCode": 0, "reason": "Completed",
                "startedAt": time, "finishedAt": time}});
        }
    }
    pod["status"]["containerStatuses"] = json!(statuses);
}
