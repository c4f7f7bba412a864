//! HTTPS: connections whose handshake is done.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::serve::Listener;
use rustls::ServerConfig;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::task::{JoinHandle, JoinSet};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

/// How long a handshake may take.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long to wait after the system refused a connection, out of file descriptors as a rule.
const PAUSE: Duration = Duration::from_millis(100);
/// How many connections may wait for the server to take them.
const WAITING: usize = 64;

/// A listener whose connections are ready to be read: one that never finishes its handshake holds
/// nobody up.
#[derive(Debug)]
pub(super) struct TlsListener {
    address: SocketAddr,
    ready: mpsc::Receiver<(TlsStream<TcpStream>, SocketAddr)>,
    task: JoinHandle<()>,
}

impl TlsListener {
    /// Begins to take connections.
    pub(super) fn new(listener: TcpListener, config: Arc<ServerConfig>) -> io::Result<Self> {
        let address = listener.local_addr()?;
        let (sender, ready) = mpsc::channel(WAITING);
        let task = tokio::spawn(shake_hands(listener, TlsAcceptor::from(config), sender));
        Ok(Self { address, ready, task })
    }
}

impl Drop for TlsListener {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Listener for TlsListener {
    type Io = TlsStream<TcpStream>;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Self::Io, Self::Addr) {
        match self.ready.recv().await {
            Some(connection) => connection,
            // The task ends with this listener alone.
            None => std::future::pending().await,
        }
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        Ok(self.address)
    }
}

/// Takes connections for as long as somebody wants them; handshakes end with this future.
async fn shake_hands(
    listener: TcpListener,
    acceptor: TlsAcceptor,
    ready: mpsc::Sender<(TlsStream<TcpStream>, SocketAddr)>,
) {
    let mut handshakes = JoinSet::new();
    loop {
        while handshakes.try_join_next().is_some() {}
        let (stream, peer) = match listener.accept().await {
            Ok(accepted) => accepted,
            Err(error) => {
                tracing::debug!(%error, "a connection could not be accepted");
                tokio::time::sleep(PAUSE).await;
                continue;
            }
        };
        // Small answers and watch events should not wait for more to send.
        if let Err(error) = stream.set_nodelay(true) {
            tracing::debug!(%error, "cannot send small packets at once");
        }
        let (acceptor, ready) = (acceptor.clone(), ready.clone());
        handshakes.spawn(async move {
            match tokio::time::timeout(PATIENCE, acceptor.accept(stream)).await {
                // Nobody takes it when the server is ending.
                Ok(Ok(stream)) => drop(ready.send((stream, peer)).await),
                Ok(Err(error)) => tracing::debug!(%peer, %error, "a TLS handshake failed"),
                Err(_) => tracing::debug!(%peer, "a TLS handshake took too long"),
            }
        });
    }
}
