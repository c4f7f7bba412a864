//! A whole cluster in this process: API server, controllers and hollow nodes.

use std::net::{Ipv4Addr, SocketAddr};

use jiff::Timestamp;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::controllers::Manager;
use crate::kubelet::{HollowNodes, HollowPods, NodeTemplate, node};
use crate::resources::Collection;
use crate::runtime::{Runtime, RuntimeOptions};
use crate::server::{LabServer, Options, StartError};

/// What a cluster is made of.
#[derive(Clone, Debug)]
pub struct ClusterOptions {
    /// Where the API server listens; port 0 takes a free one.
    pub address: SocketAddr,
    /// Where it listens for HTTPS; port 0 takes a free one.
    pub https: SocketAddr,
    /// How many nodes there are: `node-1`, `node-2`, …
    pub nodes: usize,
    /// What each of them offers.
    pub template: NodeTemplate,
    /// Over how many zones (`zone-a`, `zone-b`, …, at most 26) they are spread in turn; 0 sets none.
    pub zones: usize,
    /// Which pods are run for real; `None` leaves all of them hollow.
    pub runtime: Option<RuntimeOptions>,
}

impl Default for ClusterOptions {
    /// Two nodes without zones on a free loopback port.
    fn default() -> Self {
        let address = (Ipv4Addr::LOCALHOST, 0).into();
        let (template, runtime) = (NodeTemplate::default(), None);
        Self { address, https: address, nodes: 2, template, zones: 0, runtime }
    }
}

impl ClusterOptions {
    /// The zone of the node with this index, counted from 0.
    fn zone(&self, index: usize) -> Option<String> {
        let letter = u8::try_from(index.checked_rem(self.zones)?).ok()?;
        Some(format!("zone-{}", char::from(b'a'.checked_add(letter)?)))
    }
}

/// A running cluster. Dropping it stops it without waiting; [`Cluster::shutdown`] waits.
///
/// ```
/// # async fn example() -> Result<(), loadmaster_lab::server::StartError> {
/// use loadmaster_lab::cluster::{Cluster, ClusterOptions};
/// let cluster = Cluster::start(ClusterOptions { nodes: 3, ..ClusterOptions::default() }).await?;
/// println!("point a client at {}", cluster.server().url());
/// cluster.shutdown().await;
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Cluster {
    server: LabServer,
    nodes: Vec<String>,
    controllers: Controllers,
    runtime: Option<Runtime>,
}

/// The task of the controllers, which ends with this handle.
#[derive(Debug)]
struct Controllers {
    stop: CancellationToken,
    task: JoinHandle<()>,
}

impl Drop for Controllers {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

impl Cluster {
    /// Starts a cluster and answers when its API server listens and its nodes are Ready.
    ///
    /// # Errors
    /// [`StartError`] when the address cannot be had.
    pub async fn start(options: ClusterOptions) -> Result<Self, StartError> {
        let server = LabServer::start(Options {
            address: options.address,
            https: options.https,
            service_accounts: true,
            ..Options::default()
        })
        .await?;
        let api = server.api().clone();
        let mut nodes = Vec::with_capacity(options.nodes);
        for index in 0..options.nodes {
            let name = format!("node-{}", index + 1);
            let object = node(&name, options.zone(index).as_deref(), &options.template);
            if let Err(status) = api.create(Collection::NODES.resource(), "", object, false) {
                tracing::error!(name, error = %status.message, "a node was refused");
            }
            nodes.push(name);
        }
        let runtime = options.runtime.map(Runtime::new);
        let mut manager = Manager::with_defaults(api)
            .with(HollowNodes::new(options.template))
            .with(HollowPods::with(runtime.clone()));
        manager.settle(Timestamp::now);
        let stop = CancellationToken::new();
        let task = tokio::spawn(manager.run(stop.clone()));
        Ok(Self { server, nodes, controllers: Controllers { stop, task }, runtime })
    }

    /// The API server.
    pub fn server(&self) -> &LabServer {
        &self.server
    }

    /// The names of the nodes that it started with.
    pub fn nodes(&self) -> &[String] {
        &self.nodes
    }

    /// Waits for the controllers to end by themselves, which they do only by a fault of ours.
    pub async fn failed(&mut self) -> String {
        match (&mut self.controllers.task).await {
            Ok(()) => "the controllers ended".to_owned(),
            Err(error) => format!("the controllers ended: {error}"),
        }
    }

    /// Ends containers, stops the controllers, then the API server, and frees its port.
    pub async fn shutdown(mut self) {
        // While they end they may still want to tell the API server so.
        if let Some(runtime) = &self.runtime {
            runtime.shutdown().await;
        }
        self.controllers.stop.cancel();
        if !self.controllers.task.is_finished()
            && let Err(error) = (&mut self.controllers.task).await
        {
            tracing::error!(%error, "the controllers did not end well");
        }
        self.server.shutdown().await;
    }
}
