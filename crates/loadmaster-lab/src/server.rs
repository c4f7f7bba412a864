//! The API server: Kubernetes' HTTP interface over the [`Api`].
//!
//! Plain HTTP/1.1 on a loopback address, where who gives no credentials is the administrator, and
//! HTTPS on another, where who gives none is anonymous. One handler reads the request, `route` says
//! what it means, and one module each answers it.

mod attributes;
mod body;
mod bootstrap;
mod discovery;
mod health;
mod identity;
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
mod tls;
mod watch;

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::serve::{Listener, ListenerExt as _};
use tokio::net::TcpListener;
use tokio::task::{AbortHandle, JoinHandle};
use tokio_util::sync::CancellationToken;

use crate::api::Api;
use crate::auth::AuthorityError;
use crate::store::{DEFAULT_HISTORY, Store};
use tls::TlsListener;

/// How long open requests may take to end when the server stops.
const PATIENCE: Duration = Duration::from_secs(2);

/// How to start a [`LabServer`].
#[derive(Clone, Debug)]
pub struct Options {
    /// Where to listen; port 0 takes a free one.
    pub address: SocketAddr,
    /// Where to listen for HTTPS; port 0 takes a free one.
    pub https: SocketAddr,
    /// How many changes per collection watches can resume over.
    pub history: usize,
    /// Whether pods get a service account and its token; see [`Api::with_service_accounts`].
    pub service_accounts: bool,
}

impl Default for Options {
    fn default() -> Self {
        let address = (Ipv4Addr::LOCALHOST, 0).into();
        Self { address, https: address, history: DEFAULT_HISTORY, service_accounts: false }
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
    /// There is no certificate for the HTTPS listener.
    #[error("cannot serve HTTPS")]
    Certificate(#[from] AuthorityError),
}

/// A running API server.
///
/// Dropping it stops it without waiting; [`LabServer::shutdown`] waits until the ports are free.
#[derive(Debug)]
pub struct LabServer {
    address: SocketAddr,
    https: SocketAddr,
    api: Api,
    stop: CancellationToken,
    tasks: Vec<JoinHandle<()>>,
}

impl LabServer {
    /// Starts a server with the objects that every cluster begins with, and answers when it
    /// listens.
    ///
    /// # Errors
    /// [`StartError`].
    pub async fn start(options: Options) -> Result<Self, StartError> {
        let (plain, address) = listen(options.address).await?;
        let (secure, https) = listen(options.https).await?;
        let mut api = Api::new(Arc::new(Store::with_history(options.history)));
        if options.service_accounts {
            api = api.with_service_accounts();
        }
        let certificate = api.auth().authority().server(https.ip())?;
        let secure = TlsListener::new(secure, certificate)
            .map_err(|source| StartError::Listen { address: https, source })?;
        api.auth().serves_https(https);
        bootstrap::create(&api, https);
        let stop = CancellationToken::new();
        // Small answers and watch events should not wait for more to send.
        let plain = plain.tap_io(|stream| {
            if let Err(error) = stream.set_nodelay(true) {
                tracing::debug!(%error, "cannot send small packets at once");
            }
        });
        let server = |trusting| serve::Server { api: api.clone(), stop: stop.clone(), trusting };
        let tasks = vec![serve(plain, server(true)), serve(secure, server(false))];
        Ok(Self { address, https, api, stop, tasks })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Its address as a URL, as kubeconfigs have it.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Where it listens for HTTPS.
    pub fn https_address(&self) -> SocketAddr {
        self.https
    }

    /// Its HTTPS address as a URL.
    pub fn https_url(&self) -> String {
        format!("https://{}", self.https)
    }

    /// The operations that it serves, for use inside the process.
    pub fn api(&self) -> &Api {
        &self.api
    }

    /// The state that it serves.
    pub fn store(&self) -> &Arc<Store> {
        self.api.store()
    }

    /// Ends watches, lets other requests finish for two seconds at most, and frees the ports.
    pub async fn shutdown(mut self) {
        self.stop.cancel();
        let tasks = std::mem::take(&mut self.tasks);
        let aborts: Vec<_> = tasks.iter().map(JoinHandle::abort_handle).collect();
        if tokio::time::timeout(PATIENCE, futures::future::join_all(tasks)).await.is_err() {
            aborts.iter().for_each(AbortHandle::abort);
        }
    }
}

impl Drop for LabServer {
    fn drop(&mut self) {
        self.stop.cancel();
        self.tasks.iter().for_each(JoinHandle::abort);
    }
}

async fn listen(address: SocketAddr) -> Result<(TcpListener, SocketAddr), StartError> {
    let failed = |source| StartError::Listen { address, source };
    let listener = TcpListener::bind(address).await.map_err(failed)?;
    let address = listener.local_addr().map_err(failed)?;
    Ok((listener, address))
}

/// Serves what comes through a listener until the server stops.
fn serve<L>(listener: L, server: serve::Server) -> JoinHandle<()>
where
    L: Listener,
    L::Addr: std::fmt::Debug,
{
    let stopped = server.stop.clone();
    let router = Router::new().fallback(serve::handle).with_state(Arc::new(server));
    tokio::spawn(async move {
        let served =
            axum::serve(listener, router).with_graceful_shutdown(stopped.cancelled_owned()).await;
        if let Err(error) = served {
            tracing::error!(%error, "serving ended");
        }
    })
}
