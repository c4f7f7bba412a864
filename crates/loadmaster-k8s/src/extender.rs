//! HTTP extenders: the calls of `k8s.io/kube-scheduler/extender/v1`.
//!
//! Pods and nodes are sent as this scheduler knows them: everything that placement depends on, and
//! nothing else of them.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use base64::Engine;
use http::Method;
use kube::config::{KubeConfigOptions, Kubeconfig};
use loadmaster_config::Extender;
use loadmaster_core::cycle::{Preempted, Prioritized, Rejected};
use loadmaster_framework::{
    Candidate, NodeInfo, PodInfo,
    api::{Node, Pod, Text},
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::rest::{JSON, Rest, chain};

/// One extender, ready to be called.
#[derive(Clone, Debug)]
pub struct ExtenderClient {
    rest: Rest,
    settings: Arc<Extender>,
}

/// An extender that cannot be called at all.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "extender {url}: its settings make no client: {message}. Check `urlPrefix` and `tlsConfig` of \
     this extender in the configuration"
)]
pub struct ExtenderError {
    /// Its URL prefix.
    pub url: String,
    /// What is wrong.
    pub message: String,
}

/// What is sent to filter and prioritize. Names are Go's, since the API has no others.
#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Args<'a> {
    pod: &'a Pod,
    nodes: Option<NodeList<'a>>,
    node_names: Option<Vec<&'a Text>>,
}

#[derive(Serialize)]
struct NodeList<'a> {
    items: Vec<&'a Node>,
}

/// What filter answers. Go reads names in any case, and so do extenders write them.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "PascalCase")]
struct FilterResult {
    #[serde(alias = "nodes")]
    nodes: Option<NamedNodes>,
    #[serde(alias = "nodeNames", alias = "nodenames", alias = "node_names")]
    node_names: Option<Vec<Text>>,
    #[serde(alias = "failedNodes", alias = "failednodes")]
    failed_nodes: Option<BTreeMap<Text, String>>,
    #[serde(alias = "failedAndUnresolvableNodes", alias = "failedandunresolvablenodes")]
    failed_and_unresolvable_nodes: Option<BTreeMap<Text, String>>,
    #[serde(alias = "error")]
    error: String,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct NamedNodes {
    #[serde(alias = "Items")]
    items: Option<Vec<Node>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct HostPriority {
    #[serde(alias = "host")]
    host: Text,
    #[serde(alias = "score")]
    score: i64,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "PascalCase")]
struct PreemptionResult {
    #[serde(alias = "nodeNameToMetaVictims", alias = "nodenametometavictims")]
    node_name_to_meta_victims: Option<BTreeMap<Text, MetaVictims>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct MetaVictims {
    #[serde(rename = "Pods", alias = "pods")]
    pods: Option<Vec<MetaPod>>,
    #[serde(rename = "NumPDBViolations", alias = "numPDBViolations")]
    num_pdb_violations: i64,
}

#[derive(Deserialize)]
struct MetaPod {
    #[serde(rename = "UID", alias = "uid")]
    uid: Text,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct BindingResult {
    #[serde(rename = "Error", alias = "error")]
    error: String,
}

impl ExtenderClient {
    /// A client for the extender of `settings`, whose certificates may be in files.
    ///
    /// # Errors
    /// [`ExtenderError`] says what is wrong with the settings.
    pub async fn new(settings: &Extender) -> Result<Self, ExtenderError> {
        let wrong = |message: String| ExtenderError { url: settings.url_prefix.clone(), message };
        let file: Kubeconfig = serde_json::from_value(kubeconfig(settings))
            .map_err(|error| wrong(error.to_string()))?;
        let mut config = kube::Config::from_custom_kubeconfig(file, &KubeConfigOptions::default())
            .await
            .map_err(|error| wrong(chain(&error)))?;
        // A binding that is repeated is not the same binding.
        config.default_retry = false;
        let client = kube::Client::try_from(config).map_err(|error| wrong(chain(&error)))?;
        let limit = match settings.http_timeout.to_std() {
            Duration::ZERO => DEFAULT_TIMEOUT,
            given => given,
        };
        let settings = Arc::new(settings.clone());
        Ok(Self { rest: Rest::new(client, limit), settings })
    }

    /// Its URL prefix, which is its name.
    pub fn name(&self) -> &str {
        &self.settings.url_prefix
    }

    /// Which of `nodes` it refuses.
    ///
    /// # Errors
    /// What went wrong, in words for the pod's owner.
    pub async fn filter(
        &self,
        pod: &Pod,
        nodes: &[Arc<NodeInfo>],
    ) -> Result<Vec<Rejected>, String> {
        let answer: FilterResult =
            self.send(&self.settings.filter_verb, self.args(pod, nodes)).await?;
        if !answer.error.is_empty() {
            return Err(answer.error);
        }
        let cached = self.settings.node_cache_capable;
        let passed: Option<Vec<Text>> = match (answer.node_names, answer.nodes) {
            (Some(names), _) if cached => Some(names),
            (_, Some(nodes)) => {
                let items = nodes.items.unwrap_or_default();
                Some(items.iter().map(|it| it.name().clone()).collect())
            }
            // Nothing passes that the extender does not name.
            _ => None,
        };
        let passed = passed.unwrap_or_default();
        if let Some(unknown) = passed.iter().find(|it| nodes.iter().all(|node| node.name() != *it))
        {
            return Err(format!(
                "extender {:?} claims a filtered node {:?} which is not found in the input node list",
                self.name(),
                &**unknown,
            ));
        }
        let failed = answer.failed_nodes.unwrap_or_default();
        let unresolvable = answer.failed_and_unresolvable_nodes.unwrap_or_default();
        let refused = nodes.iter().map(|it| it.name()).filter(|it| !passed.contains(it));
        Ok(refused
            .map(|node| Rejected {
                node: node.clone(),
                message: unresolvable
                    .get(node)
                    .or_else(|| failed.get(node))
                    .cloned()
                    .unwrap_or_default(),
                unresolvable: unresolvable.contains_key(node),
            })
            .collect())
    }

    /// The points that it gives each of `nodes`.
    ///
    /// # Errors
    /// What went wrong.
    pub async fn prioritize(
        &self,
        pod: &Pod,
        nodes: &[Arc<NodeInfo>],
    ) -> Result<Vec<Prioritized>, String> {
        let args = self.args(pod, nodes);
        let points: Vec<HostPriority> = self.send(&self.settings.prioritize_verb, args).await?;
        let given = |it: HostPriority| Prioritized { node: it.host, score: it.score };
        Ok(points.into_iter().map(given).collect())
    }

    /// The candidates of a preemption that it can live with.
    ///
    /// # Errors
    /// What went wrong.
    pub async fn preempt(
        &self,
        pod: &Pod,
        candidates: &[Candidate],
    ) -> Result<Vec<Preempted>, String> {
        let answer: PreemptionResult =
            self.send(&self.settings.preempt_verb, self.preempt_args(pod, candidates)).await?;
        let kept = answer.node_name_to_meta_victims.unwrap_or_default();
        Ok(kept
            .into_iter()
            .map(|(node, victims)| Preempted {
                node,
                victims: victims.pods.unwrap_or_default().into_iter().map(|it| it.uid).collect(),
                num_pdb_violations: victims.num_pdb_violations,
            })
            .collect())
    }

    /// Binds the pod.
    ///
    /// # Errors
    /// What went wrong.
    pub async fn bind(&self, pod: &PodInfo, node: &str) -> Result<(), String> {
        let args = json!({
            "PodName": pod.name(), "PodNamespace": pod.namespace(), "PodUID": pod.uid(), "Node": node,
        });
        let answer: BindingResult = self.send(&self.settings.bind_verb, args).await?;
        if answer.error.is_empty() { Ok(()) } else { Err(answer.error) }
    }

    fn args(&self, pod: &Pod, nodes: &[Arc<NodeInfo>]) -> Value {
        let cached = self.settings.node_cache_capable;
        let names = || nodes.iter().map(|it| it.name()).collect();
        let list = || NodeList { items: nodes.iter().map(|it| it.node()).collect() };
        let args = Args { pod, nodes: (!cached).then(list), node_names: cached.then(names) };
        serde_json::to_value(args).unwrap_or_default()
    }

    fn preempt_args(&self, pod: &Pod, candidates: &[Candidate]) -> Value {
        let cached = self.settings.node_cache_capable;
        let of = |it: &Candidate| {
            let pods: Vec<Value> = it
                .victims
                .iter()
                .map(|it| if cached { json!({"UID": it.uid()}) } else { json!(&***it) })
                .collect();
            json!({"Pods": pods, "NumPDBViolations": it.num_pdb_violations})
        };
        let victims: serde_json::Map<_, _> =
            candidates.iter().map(|it| (it.node.to_string(), of(it))).collect();
        let key = if cached { "NodeNameToMetaVictims" } else { "NodeNameToVictims" };
        json!({"Pod": pod, key: victims})
    }

    async fn send<T: for<'de> Deserialize<'de>>(
        &self,
        verb: &str,
        args: Value,
    ) -> Result<T, String> {
        let failed = |what: String| format!("extender {} ({verb}): {what}", self.name());
        let path = format!("/{verb}");
        let body = self.rest.call(Method::POST, &path, JSON, Some(&args)).await;
        let body = body.map_err(|error| failed(chain(&error)))?;
        serde_json::from_slice(&body).map_err(|error| failed(error.to_string()))
    }
}

/// Upstream: `DefaultExtenderTimeout`.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(5);

/// The extender's address and certificates in the form that the client reads.
fn kubeconfig(settings: &Extender) -> Value {
    let tls = settings.tls_config.clone().unwrap_or_default();
    let text = |it: &str| (!it.is_empty()).then(|| it.to_owned());
    let data =
        |it: &[u8]| (!it.is_empty()).then(|| base64::engine::general_purpose::STANDARD.encode(it));
    let has_ca = !tls.ca_file.is_empty() || !tls.ca_data.0.is_empty();
    json!({
        "clusters": [{"name": "extender", "cluster": {
            "server": settings.url_prefix.trim_end_matches('/'),
            "insecure-skip-tls-verify": tls.insecure || settings.enable_https && !has_ca,
            "tls-server-name": text(&tls.server_name),
            "certificate-authority": text(&tls.ca_file),
            "certificate-authority-data": data(&tls.ca_data.0),
        }}],
        "users": [{"name": "extender", "user": {
            "client-certificate": text(&tls.cert_file),
            "client-certificate-data": data(&tls.cert_data.0),
            "client-key": text(&tls.key_file),
            "client-key-data": data(&tls.key_data.0),
        }}],
        "contexts": [{"name": "extender", "context": {"cluster": "extender", "user": "extender"}}],
        "current-context": "extender",
    })
}

#[cfg(test)]
mod tests;
