//! The second scheduler in the cluster: what is applied, whether it leads, and its removal.

use std::{path::Path, process::Command};

use anyhow::{Context as _, bail};
use k8s_openapi::api::{coordination::v1::Lease, core::v1::Pod};
use kube::{
    Api, Client, ResourceExt,
    api::{
        ApiResource, DeleteParams, DynamicObject, GroupVersionKind, ListParams, LogParams, Patch,
        PatchParams,
    },
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::UserError;

/// Who applied, for the server.
const MANAGER: &str = "loadmaster-stage2";

/// An object by its place; kept in a file for `cargo xtask teardown`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Placed {
    api_version: String,
    kind: String,
    namespace: Option<String>,
    name: String,
}

/// The second scheduler's objects.
#[derive(Clone)]
pub(crate) struct Deployed {
    client: Client,
    /// The name of everything, and the namespace.
    name: String,
    objects: Vec<Value>,
}

/// Who leads, and which process that is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Leader {
    /// The lease's holder.
    pub(crate) holder: String,
    /// The pod.
    pub(crate) pod: String,
    /// Its node.
    pub(crate) node: String,
    /// The container, by the runtime's name for it.
    pub(crate) container: String,
    /// The image that it really runs.
    pub(crate) image: String,
    /// How often the container was started again.
    pub(crate) restarts: i32,
    /// The process, where the node tells.
    #[serde(skip)]
    pub(crate) pid: Option<i32>,
}

impl Deployed {
    /// What `scheduler manifests` prints for the configuration and the image.
    ///
    /// # Errors
    /// [`UserError`] with what the program says against the configuration.
    pub(crate) fn plan(
        client: Client,
        scheduler: &Path,
        profile: &Path,
        name: &str,
        image: &str,
    ) -> anyhow::Result<Self> {
        let mut command = Command::new(scheduler);
        command.args(["manifests", "--output", "json", "--namespace", name, "--name", name]);
        command.args(["--image", image]).arg("--config").arg(profile);
        let output = command.output().context("cannot run `scheduler manifests`")?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            let said = said.trim().trim_start_matches("error: ").to_owned();
            return Err(UserError(said).into());
        }
        let list: Value =
            serde_json::from_slice(&output.stdout).context("cannot read the manifests")?;
        let objects = list["items"].as_array().cloned().unwrap_or_default();
        Ok(Self { client, name: name.to_owned(), objects })
    }

    /// Fails where the namespace is there, and so somebody else's.
    pub(crate) async fn refuse_a_namespace_that_is_there(&self) -> anyhow::Result<()> {
        for object in &self.objects {
            let (api, Placed { kind, name, .. }) = self.api(object)?;
            if kind != "Namespace" {
                continue;
            }
            let found = api.get_opt(&name).await;
            if found.with_context(|| format!("cannot look for the namespace {name}"))?.is_some() {
                let text = format!(
                    "the cluster has a namespace {name} already.\n\nhint: if it is left from an \
                     earlier run, `cargo xtask teardown` or `kubectl delete namespace {name}` \
                     removes it"
                );
                return Err(UserError(text).into());
            }
        }
        Ok(())
    }

    /// Applies everything.
    pub(crate) async fn apply(&self) -> anyhow::Result<()> {
        for object in &self.objects {
            let (api, placed) = self.api(object)?;
            let what = format!("{} {}", placed.kind, placed.name);
            let params = PatchParams::apply(MANAGER).force();
            let applied = api.patch(&placed.name, &params, &Patch::Apply(object)).await;
            applied.with_context(|| format!("cannot apply the {what}"))?;
        }
        Ok(())
    }

    /// Where the objects are, in the order in which they were applied.
    pub(crate) fn places(&self) -> anyhow::Result<Vec<Placed>> {
        self.objects.iter().map(Placed::of).collect()
    }

    fn api(&self, object: &Value) -> anyhow::Result<(Api<DynamicObject>, Placed)> {
        let placed = Placed::of(object)?;
        Ok((placed.api(&self.client), placed))
    }

    /// Who holds the lease now, with the pod and the process; `None` while nobody does.
    pub(crate) async fn leader(&self) -> anyhow::Result<Option<Leader>> {
        let leases = Api::<Lease>::namespaced(self.client.clone(), &self.name);
        let lease = leases.get_opt(&self.name).await.context("cannot read the lease")?;
        let holder = lease.and_then(|it| it.spec?.holder_identity).unwrap_or_default();
        if holder.is_empty() {
            return Ok(None);
        }
        for pod in self.pods().await? {
            if let Some(leader) = leader_of(&pod, &holder) {
                return Ok(Some(leader));
            }
        }
        Ok(None)
    }

    async fn pods(&self) -> anyhow::Result<Vec<Pod>> {
        let params = ListParams::default().labels(&format!("app.kubernetes.io/name={}", self.name));
        let pods = Api::<Pod>::namespaced(self.client.clone(), &self.name).list(&params).await;
        Ok(pods.context("cannot list the second scheduler's pods")?.items)
    }

    /// What its pods are doing, and the last that they wrote; for people.
    pub(crate) async fn words(&self) -> String {
        let mut lines = Vec::new();
        for pod in self.pods().await.unwrap_or_default() {
            let name = pod.name_any();
            let status = pod.status.unwrap_or_default();
            for container in status.container_statuses.unwrap_or_default() {
                let state = container.state.unwrap_or_default();
                lines
                    .push(format!("{name}: {}", serde_json::to_string(&state).unwrap_or_default()));
            }
            let params = LogParams { tail_lines: Some(8), ..LogParams::default() };
            let pods = Api::<Pod>::namespaced(self.client.clone(), &self.name);
            lines.push(pods.logs(&name, &params).await.unwrap_or_default());
        }
        lines.join("\n")
    }

    /// Deletes the pod; the deployment makes another.
    pub(crate) async fn delete_pod(&self, name: &str) -> anyhow::Result<()> {
        let pods = Api::<Pod>::namespaced(self.client.clone(), &self.name);
        pods.delete(name, &DeleteParams::default()).await.context("cannot delete the pod")?;
        Ok(())
    }
}

/// Removes the objects, last ones first.
pub(crate) async fn remove(client: &Client, places: &[Placed]) -> anyhow::Result<()> {
    for placed in places.iter().rev() {
        let deleted = placed.api(client).delete(&placed.name, &DeleteParams::background()).await;
        match deleted {
            Err(kube::Error::Api(status)) if status.code == 404 => {}
            Err(error) => {
                let what = format!("cannot delete the {} {}", placed.kind, placed.name);
                return Err(error).context(what);
            }
            Ok(_) => {}
        }
    }
    let begun = std::time::Instant::now();
    for placed in places.iter().filter(|it| it.kind == "Namespace") {
        let api = placed.api(client);
        while api.get_opt(&placed.name).await.context("cannot look for a namespace")?.is_some() {
            if begun.elapsed() > crate::stage1::workload::REMOVAL_PATIENCE {
                bail!("the namespace {} is deleted, but not gone yet", placed.name);
            }
            tokio::time::sleep(crate::stage1::workload::LOOK_EVERY).await;
        }
    }
    Ok(())
}

impl Placed {
    fn of(object: &Value) -> anyhow::Result<Self> {
        let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str);
        let read = || {
            Some(Self {
                api_version: text("/apiVersion")?.to_owned(),
                kind: text("/kind")?.to_owned(),
                namespace: text("/metadata/namespace").map(str::to_owned),
                name: text("/metadata/name")?.to_owned(),
            })
        };
        read().context("a manifest has no name or kind")
    }

    /// Kind, namespace and name, for people.
    pub(crate) fn describe(&self) -> String {
        match &self.namespace {
            Some(namespace) => format!("{} {} in namespace {namespace}", self.kind, self.name),
            None => format!("{} {}", self.kind, self.name),
        }
    }

    fn api(&self, client: &Client) -> Api<DynamicObject> {
        let (group, version) =
            self.api_version.split_once('/').unwrap_or(("", self.api_version.as_str()));
        let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, &self.kind));
        match &self.namespace {
            Some(namespace) => Api::namespaced_with(client.clone(), namespace, &resource),
            None => Api::all_with(client.clone(), &resource),
        }
    }
}

/// The pod as leader if its container runs and the lease's holder is named after it.
fn leader_of(pod: &Pod, holder: &str) -> Option<Leader> {
    let name = pod.name_any();
    // The holder is the host's name and something random; in a plain process the host is the lab's.
    let status = pod.status.as_ref()?.container_statuses.as_ref()?.first()?;
    status.state.as_ref()?.running.as_ref()?;
    let container = status.container_id.clone().unwrap_or_default();
    if !holder.starts_with(&name) && !container.starts_with("process://") {
        return None;
    }
    let annotation = format!("lab.loadmaster/pid.{}", status.name);
    Some(Leader {
        holder: holder.to_owned(),
        pod: name,
        node: pod.spec.as_ref()?.node_name.clone().unwrap_or_default(),
        container,
        image: status.image_id.clone(),
        restarts: status.restart_count,
        pid: pod.annotations().get(&annotation).and_then(|it| it.parse().ok()),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn pod(id: &str, state: &Value) -> Pod {
        serde_json::from_value(json!({
            "metadata": {"name": "s-1", "annotations": {"lab.loadmaster/pid.c": "12"}},
            "spec": {"nodeName": "n1", "containers": []},
            "status": {"containerStatuses": [{"name": "c", "image": "i", "imageID": "i@sha256:1",
                "containerID": id, "restartCount": 2, "ready": true, "state": state}]},
        }))
        .unwrap()
    }

    #[test]
    fn the_holder_of_the_lease_is_a_running_container_of_its_pod() {
        let running = json!({"running": {"startedAt": "2026-01-01T00:00:00Z"}});
        let leader = leader_of(&pod("bwrap://a", &running), "s-1_uuid").unwrap();
        assert_eq!((leader.pid, leader.restarts, leader.node.as_str()), (Some(12), 2, "n1"));
        assert!(leader_of(&pod("bwrap://a", &running), "other_uuid").is_none());
        assert!(leader_of(&pod("process://a", &running), "other_uuid").is_some());
        let waiting = json!({"waiting": {"reason": "CrashLoopBackOff"}});
        assert!(leader_of(&pod("bwrap://a", &waiting), "s-1_uuid").is_none());
    }
}
