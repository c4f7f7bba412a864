//! What stage 1 does with the cluster: its few objects, and what the API server says about them now.

use std::collections::BTreeMap;

use anyhow::{Context as _, bail};
use k8s_openapi::api::{
    apps::v1::Deployment,
    core::v1::{Event, Namespace, Node, Pod},
};
use kube::{
    Api, Client, ResourceExt,
    api::{DeleteParams, ListParams, PostParams},
};
use serde::Serialize;
use serde_json::json;

use crate::UserError;

const NAMESPACE: &str = "sched-lab";
const NAME: &str = "spread";
const IMAGE: &str = "registry.k8s.io/pause:3.9";

/// What the API server says of a pod's placement.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Scheduled {
    /// The scheduler that the pod chose.
    pub(crate) scheduler: String,
    /// The pod.
    pub(crate) pod: String,
    /// The event's text.
    pub(crate) message: String,
}

/// The cluster, and what stage 1 made in it.
#[derive(Clone)]
pub(crate) struct Cluster {
    client: Client,
    namespaces: Api<Namespace>,
    deployments: Api<Deployment>,
    pods: Api<Pod>,
}

impl Cluster {
    pub(crate) fn new(client: Client) -> Self {
        Self {
            namespaces: Api::all(client.clone()),
            deployments: Api::namespaced(client.clone(), NAMESPACE),
            pods: Api::namespaced(client.clone(), NAMESPACE),
            client,
        }
    }

    /// The names of all nodes.
    pub(crate) async fn nodes(&self) -> anyhow::Result<Vec<String>> {
        let nodes = Api::<Node>::all(self.client.clone()).list(&ListParams::default()).await;
        let nodes = nodes.context("cannot list the nodes")?;
        Ok(nodes.iter().map(ResourceExt::name_any).collect())
    }

    /// Creates the namespace unless it exists; says whether it did.
    ///
    /// # Errors
    /// [`UserError`] when it exists and holds a deployment of our name, which is somebody else's.
    pub(crate) async fn create_namespace(&self) -> anyhow::Result<bool> {
        let found = self.namespaces.get_opt(NAMESPACE).await;
        if found.context("cannot look for the namespace sched-lab")?.is_none() {
            let namespace = object(json!({"metadata": {"name": NAMESPACE}}))?;
            let created = self.namespaces.create(&PostParams::default(), &namespace).await;
            created.context("cannot create the namespace sched-lab")?;
            return Ok(true);
        }
        let found = self.deployments.get_opt(NAME).await;
        if found.context("cannot look for the deployment spread")?.is_some()
            || !self.are_gone().await?
        {
            let text = "the namespace sched-lab of this cluster already holds a deployment or pods of `spread`.\n\nhint: remove them with `kubectl -n sched-lab delete deployment spread`, then run this again";
            return Err(UserError(text.to_owned()).into());
        }
        Ok(false)
    }

    /// Creates the deployment, its pods choosing `scheduler` and carrying `label_key: spread`.
    pub(crate) async fn create_deployment(
        &self,
        scheduler: &str,
        replicas: u32,
        label_key: &str,
    ) -> anyhow::Result<()> {
        let labels = BTreeMap::from([("app", NAME), (label_key, NAME)]);
        let deployment = object(json!({
            "metadata": {"name": NAME, "labels": {"app": NAME}},
            "spec": {
                "replicas": replicas,
                "selector": {"matchLabels": {"app": NAME}},
                "template": {
                    "metadata": {"labels": labels},
                    "spec": {
                        "schedulerName": scheduler,
                        "containers": [{"name": "pause", "image": IMAGE}],
                    },
                },
            },
        }))?;
        let created = self.deployments.create(&PostParams::default(), &deployment).await;
        created.context("cannot create the deployment spread")?;
        Ok(())
    }

    /// The deployment's pods as they are now.
    pub(crate) async fn pods(&self) -> anyhow::Result<Vec<Pod>> {
        let params = ListParams::default().labels(&format!("app={NAME}"));
        Ok(self.pods.list(&params).await.context("cannot list the pods of spread")?.items)
    }

    /// Whether no pod of the deployment is left.
    pub(crate) async fn are_gone(&self) -> anyhow::Result<bool> {
        Ok(self.pods().await?.is_empty())
    }

    /// The `Scheduled` events of `pods`.
    pub(crate) async fn scheduled_events(&self, pods: &[Pod]) -> anyhow::Result<Vec<Scheduled>> {
        let params = ListParams::default().fields("reason=Scheduled");
        let events = Api::<Event>::namespaced(self.client.clone(), NAMESPACE).list(&params).await;
        let events = events.context("cannot list the events")?;
        let mut found = Vec::new();
        for pod in pods {
            let name = pod.name_any();
            let is_about = |it: &&Event| {
                it.reason.as_deref() == Some("Scheduled")
                    && it.involved_object.uid == pod.metadata.uid
            };
            let scheduler = scheduler_of(pod).to_owned();
            if let Some(event) = events.iter().find(is_about) {
                let message = event.message.clone().unwrap_or_default();
                found.push(Scheduled { scheduler, pod: name, message });
            }
        }
        Ok(found)
    }

    /// Deletes the deployment; its pods follow.
    pub(crate) async fn delete_deployment(&self) -> anyhow::Result<()> {
        match self.deployments.delete(NAME, &DeleteParams::background()).await {
            Err(error) if !is_not_found(&error) => {
                Err(error).context("cannot delete the deployment spread")
            }
            _ => Ok(()),
        }
    }

    /// Deletes the namespace and all that is in it.
    pub(crate) async fn delete_namespace(&self) -> anyhow::Result<()> {
        match self.namespaces.delete(NAMESPACE, &DeleteParams::background()).await {
            Err(error) if !is_not_found(&error) => {
                Err(error).context("cannot delete the namespace sched-lab")
            }
            _ => Ok(()),
        }
    }

    /// Whether the namespace is gone.
    pub(crate) async fn namespace_is_gone(&self) -> anyhow::Result<bool> {
        let found = self.namespaces.get_opt(NAMESPACE).await;
        Ok(found.context("cannot look for the namespace sched-lab")?.is_none())
    }
}

/// How many of `pods` are on each of `nodes`, and on further nodes that pods name.
///
/// # Errors
/// When a pod has no node.
pub(crate) fn per_node(nodes: &[String], pods: &[Pod]) -> anyhow::Result<BTreeMap<String, usize>> {
    let mut counts: BTreeMap<String, usize> = nodes.iter().map(|it| (it.clone(), 0)).collect();
    for pod in pods {
        match node_of(pod) {
            Some(node) => *counts.entry(node.to_owned()).or_default() += 1,
            None => bail!("the pod {} has lost its node", pod.name_any()),
        }
    }
    Ok(counts)
}

/// The node that a pod is bound to.
pub(crate) fn node_of(pod: &Pod) -> Option<&str> {
    pod.spec.as_ref()?.node_name.as_deref().filter(|it| !it.is_empty())
}

/// Why pods wait, each reason once with the number of pods.
pub(crate) fn why_pending(pods: &[Pod]) -> String {
    let mut reasons: BTreeMap<String, usize> = BTreeMap::new();
    for pod in pods.iter().filter(|it| node_of(it).is_none()) {
        let conditions = pod.status.iter().flat_map(|it| it.conditions.iter().flatten());
        let condition = conditions.into_iter().find(|it| it.type_ == "PodScheduled");
        let said = condition.and_then(|it| it.message.clone());
        let silent = || format!("no word from {} yet", scheduler_of(pod));
        *reasons.entry(said.unwrap_or_else(silent)).or_default() += 1;
    }
    let lines = reasons.into_iter().map(|(reason, pods)| format!("  {pods} pending: {reason}"));
    lines.collect::<Vec<_>>().join("\n")
}

fn scheduler_of(pod: &Pod) -> &str {
    pod.spec.as_ref().and_then(|it| it.scheduler_name.as_deref()).unwrap_or_default()
}

fn object<T: serde::de::DeserializeOwned>(value: serde_json::Value) -> anyhow::Result<T> {
    serde_json::from_value(value).context("an object of stage 1 is none")
}

fn is_not_found(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Api(status) if status.code == 404)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pod(name: &str, node: Option<&str>) -> Pod {
        object(json!({
            "metadata": {"name": name},
            "spec": {"nodeName": node, "containers": [], "schedulerName": "s"},
        }))
        .unwrap()
    }

    #[test]
    fn pods_are_counted_by_node_and_empty_nodes_are_shown() {
        let nodes = ["n1".to_owned(), "n2".to_owned()];
        let pods = [pod("a", Some("n1")), pod("b", Some("n1")), pod("c", Some("n3"))];
        let counts = per_node(&nodes, &pods).unwrap();
        let expected = [("n1", 2), ("n2", 0), ("n3", 1)].map(|(n, c)| (n.to_owned(), c));
        assert_eq!(counts, BTreeMap::from(expected));
        assert!(per_node(&nodes, &[pod("d", None)]).is_err());
    }

    #[test]
    fn waiting_pods_are_told_by_their_condition() {
        let mut refused = pod("a", None);
        refused.status = object(json!({"conditions": [
            {"type": "PodScheduled", "status": "False", "message": "0/2 nodes are available"},
        ]}))
        .unwrap();
        let pods = [refused.clone(), refused, pod("b", None), pod("c", Some("n1"))];
        let expected = "  2 pending: 0/2 nodes are available\n  1 pending: no word from s yet";
        assert_eq!(why_pending(&pods), expected);
    }
}
