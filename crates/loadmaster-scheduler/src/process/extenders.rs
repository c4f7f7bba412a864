//! The core's way to HTTP extenders: it waits for their answers, as upstream does.

use std::{future::Future, sync::Arc};

use loadmaster_config::Extender;
use loadmaster_core::cycle::{ExtenderSpec, Ports, Preempted, Prioritized, Rejected};
use loadmaster_framework::{ActionError, ActionResult, Candidate, NodeInfo, PodInfo};
use loadmaster_k8s::extender::{ExtenderClient, ExtenderError};
use serde_json::Value;
use tokio::runtime::Handle;

/// Every extender of the configuration, and the threads on which they are called.
#[derive(Clone)]
pub(super) struct Extenders {
    clients: Arc<[ExtenderClient]>,
    runtime: Handle,
}

impl Extenders {
    /// Clients for the extenders of a configuration.
    ///
    /// # Errors
    /// The first whose settings make no client.
    pub(super) async fn new(settings: &[Extender]) -> Result<Self, ExtenderError> {
        let mut clients = Vec::new();
        for extender in settings {
            clients.push(ExtenderClient::new(extender).await?);
        }
        Ok(Self { clients: clients.into(), runtime: Handle::current() })
    }

    /// These, and behind them those of `before` whose names are free.
    pub(super) fn after(&self, before: &Self) -> Self {
        let is_gone = |it: &&ExtenderClient| self.client(it.name()).is_err();
        let gone = before.clients.iter().filter(is_gone);
        let clients = self.clients.iter().chain(gone).cloned().collect();
        Self { clients, runtime: self.runtime.clone() }
    }

    fn client(&self, name: &str) -> Result<ExtenderClient, String> {
        let found = self.clients.iter().find(|it| it.name() == name);
        found.cloned().ok_or_else(|| format!("no extender is named {name}"))
    }

    /// Binds by the extender of this name.
    pub(super) async fn bind(&self, name: &str, pod: &PodInfo, node: &str) -> ActionResult {
        let client = self.client(name).map_err(ActionError::Refused)?;
        // Whether the extender has bound the pod all the same, a read will tell.
        client.bind(pod, node).await.map(|()| Value::Null).map_err(ActionError::Unknown)
    }

    /// Runs `call` beside the core, which waits for it. Every call has its own time limit.
    fn wait<T: Send + 'static>(
        &self,
        call: impl Future<Output = Result<T, String>> + Send + 'static,
    ) -> Result<T, String> {
        let (answer, answered) = std::sync::mpsc::sync_channel(1);
        self.runtime.spawn(async move {
            // A core that is gone waits for nothing.
            let _ = answer.send(call.await);
        });
        answered.recv().unwrap_or_else(|_| Err("the call was given up".to_owned()))
    }
}

impl Ports for Extenders {
    fn extend_filter(
        &mut self,
        extender: &ExtenderSpec,
        pod: &PodInfo,
        nodes: &[Arc<NodeInfo>],
    ) -> Result<Vec<Rejected>, String> {
        let (client, pod, nodes) =
            (self.client(&extender.name)?, pod.pod().clone(), nodes.to_vec());
        self.wait(async move { client.filter(&pod, &nodes).await })
    }

    fn extend_prioritize(
        &mut self,
        extender: &ExtenderSpec,
        pod: &PodInfo,
        nodes: &[Arc<NodeInfo>],
    ) -> Result<Vec<Prioritized>, String> {
        let (client, pod, nodes) =
            (self.client(&extender.name)?, pod.pod().clone(), nodes.to_vec());
        self.wait(async move { client.prioritize(&pod, &nodes).await })
    }

    fn extend_preempt(
        &mut self,
        extender: &ExtenderSpec,
        pod: &PodInfo,
        candidates: &[Candidate],
    ) -> Result<Vec<Preempted>, String> {
        let (client, pod) = (self.client(&extender.name)?, pod.pod().clone());
        let candidates = candidates.to_vec();
        self.wait(async move { client.preempt(&pod, &candidates).await })
    }
}
