//! Connections: how many, how long, and how much a client may send.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use rustls::pki_types::CertificateDer;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::{TcpListener, TcpStream},
    task::{AbortHandle, JoinSet},
    time::{sleep, timeout},
};
use tokio_rustls::TlsAcceptor;

use super::route::Routes;

/// What clients may take of the process together.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// Connections at a time; one more takes the place of the one that was silent for longest.
    pub(super) connections: usize,
    /// How long a handshake may take.
    pub(super) handshake: Duration,
    /// How long the head of a request may take, the wait for it included (upstream: 32 s).
    pub(super) head: Duration,
    /// How much the head of a request may hold, in bytes.
    pub(super) head_bytes: usize,
    /// How long a connection may last; one that is idle then ends, another is cut soon after.
    pub(super) connection: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 256,
            handshake: Duration::from_secs(10),
            head: Duration::from_secs(32),
            head_bytes: 64 * 1024,
            connection: Duration::from_mins(5),
        }
    }
}

/// How long what is being sent may take when a connection has lasted for long enough.
const LAST_WORDS: Duration = Duration::from_secs(10);
/// How long to wait after the system refused a connection, out of file descriptors as a rule.
const PAUSE: Duration = Duration::from_millis(100);

/// Takes connections for as long as this runs; they end with it.
pub(super) async fn serve(
    listener: TcpListener,
    tls: Option<TlsAcceptor>,
    routes: Routes,
    limits: Limits,
) {
    let mut connections = JoinSet::new();
    let mut places: Vec<Place> = Vec::new();
    let clock = Arc::new(AtomicU64::new(0));
    loop {
        let stream = match listener.accept().await {
            Ok((stream, _)) => stream,
            Err(error) => {
                tracing::debug!(%error, "a connection could not be accepted");
                sleep(PAUSE).await;
                continue;
            }
        };
        while connections.try_join_next().is_some() {}
        make_room(&mut places, limits.connections);
        let activity = Activity::new(&clock);
        let (tls, routes, seen) = (tls.clone(), routes.clone(), activity.clone());
        let task = connections.spawn(connection(stream, tls, routes, limits, activity));
        places.push(Place { task, activity: seen });
    }
}

/// A connection that is served.
struct Place {
    task: AbortHandle,
    activity: Activity,
}

/// Sees to it that there are fewer than `most` connections. Whoever holds connections without asking
/// anything, or asks what the cluster has to answer first, must not keep out those that want to know
/// whether the process lives: the connection that was silent for longest ends.
fn make_room(places: &mut Vec<Place>, most: usize) {
    places.retain(|it| !it.task.is_finished());
    while places.len() >= most.max(1) {
        let silent = (0..places.len()).min_by_key(|it| places[*it].activity.last());
        let Some(silent) = silent else { return };
        places.swap_remove(silent).task.abort();
    }
}

/// When a connection was last heard, on a clock that counts such moments.
#[derive(Clone)]
struct Activity {
    clock: Arc<AtomicU64>,
    last: Arc<AtomicU64>,
}

impl Activity {
    fn new(clock: &Arc<AtomicU64>) -> Self {
        let activity = Self { clock: Arc::clone(clock), last: Arc::default() };
        activity.heard();
        activity
    }

    fn heard(&self) {
        self.last.store(self.clock.fetch_add(1, Ordering::Relaxed), Ordering::Relaxed);
    }

    fn last(&self) -> u64 {
        self.last.load(Ordering::Relaxed)
    }
}

async fn connection(
    stream: TcpStream,
    tls: Option<TlsAcceptor>,
    routes: Routes,
    limits: Limits,
    activity: Activity,
) {
    let Some(tls) = tls else { return talk(stream, Vec::new(), routes, limits, activity).await };
    match timeout(limits.handshake, tls.accept(stream)).await {
        Ok(Ok(stream)) => {
            let shown = stream.get_ref().1.peer_certificates().unwrap_or_default().to_vec();
            talk(stream, shown, routes, limits, activity).await;
        }
        Ok(Err(error)) => tracing::debug!(%error, "handshake failed"),
        Err(_) => tracing::debug!("handshake took too long"),
    }
}

/// Answers one request after another.
async fn talk(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    certificates: Vec<CertificateDer<'static>>,
    routes: Routes,
    limits: Limits,
    activity: Activity,
) {
    let certificates = Arc::new(certificates);
    let service = service_fn(move |request: http::Request<Incoming>| {
        let (routes, certificates) = (routes.clone(), Arc::clone(&certificates));
        activity.heard();
        async move { routes.answer(request, &certificates).await }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.head)
        .max_buf_size(limits.head_bytes)
        .serve_connection(TokioIo::new(stream), service);
    let mut connection = std::pin::pin!(connection);
    if timeout(limits.connection, connection.as_mut()).await.is_err() {
        connection.as_mut().graceful_shutdown();
        // Whoever does not take its answer by then is cut off.
        let _ = timeout(LAST_WORDS, connection).await;
    }
}
