//! The API server: Kubernetes' HTTP interface over the [`Api`].
//!
//! Plain HTTP/1.1 on a loopback address, every caller administrator. One handler reads the request,
//! `route` says what it means, and one module each answers it.

mod body;
mod bootstrap;
mod discovery;
mod health;
mod list;
mod log;
mod negotiate;
mod objects;
mod openapi;
mod options;
mod query;
mod respond;
mod route;
mod serve;
mod watch;

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::serve::ListenerExt as _;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::api::Api;
use crate::store::{DEFAULT_HISTORY, Store};

/// How long open requests may take to end when the server stops.
const PATIENCE: Duration = Duration::from_secs(2);

/// How to start a [`LabServer`].
#[derive(Clone, Debug)]
pub struct Options {
    /// Where to listen; port 0 takes a free one.
    pub address: SocketAddr,
    /// How many changes per collection watches can resume over.
    pub history: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self { address: (Ipv4Addr::LOCALHOST, 0).into(), history: DEFAULT_HISTORY }
    }
}

/// Why a server did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The address is taken or not ours.
    #[error("cannot listen on {address}: choose another address or port, or 0 for a free port")]
    Listen {
        /// The address that was asked for.
        address: SocketAddr,
        /// What the system said.
        #[source]
        source: io::Error,
    },
}

/// A running API server.
///
/// Dropping it stops it without waiting; [`LabServer::shutdown`] waits until the port is free.
#[derive(Debug)]
pub struct LabServer {
    address: SocketAddr,
    api: Api,
    stop: CancellationToken,
    task: Option<JoinHandle<()>>,
}

impl LabServer {
    /// Starts a server with the objects that every cluster begins with, and answers when it
    /// listens.
    ///
    /// # Errors
    /// [`StartError::Listen`].
    pub async fn start(options: Options) -> Result<Self, StartError> {
        let address = options.address;
        let listen = |source| StartError::Listen { address, source };
        let listener = TcpListener::bind(address).await.map_err(listen)?;
        let address = listener.local_addr().map_err(listen)?;
        let api = Api::new(Arc::new(Store::with_history(options.history)));
        bootstrap::create(&api, address);
        let stop = CancellationToken::new();
        let state = serve::Server { api: api.clone(), stop: stop.clone() };
        let router = Router::new().fallback(serve::handle).with_state(Arc::new(state));
        // Small answers and watch events should not wait for more to send.
        let listener = listener.tap_io(|stream| {
            if let Err(error) = stream.set_nodelay(true) {
                tracing::debug!(%error, "cannot send small packets at once");
            }
        });
        let stopped = stop.clone();
        let task = tokio::spawn(async move {
            let served = axum::serve(listener, router)
                .with_graceful_shutdown(stopped.cancelled_owned())
                .await;
            if let Err(error) = served {
                tracing::error!(%error, "serving ended");
            }
        });
        Ok(Self { address, api, stop, task: Some(task) })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Its address as a URL, as kubeconfigs have it.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The operations that it serves, for use inside the process.
    pub fn api(&self) -> &Api {
        &self.api
    }

    /// The state that it serves.
    pub fn store(&self) -> &Arc<Store> {
        self.api.store()
    }

    /// Ends watches, lets other requests finish for two seconds at most, and frees the port.
    pub async fn shutdown(mut self) {
        self.stop.cancel();
        if let Some(mut task) = self.task.take()
            && tokio::time::timeout(PATIENCE, &mut task).await.is_err()
        {
            task.abort();
        }
    }
}

impl Drop for LabServer {
    fn drop(&mut self) {
        self.stop.cancel();
        if let Some(task) = self.task.take() {
            task.abort();
        }
    }
}
