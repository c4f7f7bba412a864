//! What the process serves to those who watch over it: health, metrics and its configuration, over
//! HTTPS to whom the cluster allows it, or over plain HTTP to whoever is on this machine.
//!
//! Nothing here waits for the core or makes it wait: what is shown is read from numbers that the core
//! writes as it goes on.
//!
//! Source: `cmd/kube-scheduler/app/server.go` and apiserver's `pkg/server`, v1.36.

mod access;
mod certificates;
mod health;
mod listen;
mod reply;
mod route;
#[cfg(test)]
mod tests;
mod zpages;

use std::{
    net::{Ipv4Addr, SocketAddr},
    sync::{
        Arc, Mutex, OnceLock, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use anyhow::Context;
use http::HeaderMap;
use jiff::Timestamp;
use loadmaster_framework::Object;
use loadmaster_k8s::{leader::LeaderStatus, rest::Rest, watch::Known};
use tokio::{net::TcpListener, task::JoinSet};
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;

use crate::{
    app::ServingFlags,
    measure::{CoreMeter, Measures, pod_resources},
};
use access::Access;
use certificates::Certificates;
use health::Health;
use listen::Limits;
use reply::Reply;
use route::Routes;
pub(crate) use zpages::Zpages;

/// What is shown, filled in as the process goes on. Clones share everything.
#[derive(Clone, Debug)]
pub(crate) struct Board(Arc<Shown>);

#[derive(Debug)]
struct Shown {
    measures: Measures,
    meter: CoreMeter,
    /// A call into a plugin that has taken as long as this is taken never to return.
    stuck_after: Option<Duration>,
    synced: AtomicBool,
    stopping: CancellationToken,
    leader: Mutex<Option<LeaderStatus>>,
    configz: Mutex<Arc<str>>,
    pods: OnceLock<Known>,
    zpages: OnceLock<Zpages>,
}

/// A call that has taken so many times a plugin's budget is taken never to return.
const STUCK_AFTER_BUDGETS: u32 = 3;

impl Board {
    /// `stopping` is cancelled when the process begins to stop. A plugin's `budget` is what it may
    /// take in a cycle.
    pub(crate) fn new(budget: Option<Duration>, stopping: CancellationToken) -> Self {
        let measures = Measures::new();
        Self(Arc::new(Shown {
            meter: CoreMeter::new(measures.clone()),
            measures,
            stuck_after: budget.map(|it| it * STUCK_AFTER_BUDGETS),
            synced: AtomicBool::new(false),
            stopping,
            leader: Mutex::default(),
            configz: Mutex::new(Arc::from("{}")),
            pods: OnceLock::new(),
            zpages: OnceLock::new(),
        }))
    }

    /// The numbers.
    pub(crate) fn measures(&self) -> &Measures {
        &self.0.measures
    }

    /// What the core measures with.
    pub(crate) fn meter(&self) -> &CoreMeter {
        &self.0.meter
    }

    /// The call into a plugin that has taken more than `age` by now, as a sentence.
    pub(crate) fn call_longer_than(&self, age: Duration) -> Option<String> {
        let (call, taken) = self.0.meter.running_call().filter(|(_, taken)| *taken > age)?;
        let (plugin, point) = (call.plugin, call.point.as_str());
        let node = match &*call.node {
            "" => String::new(),
            node => format!(" for node {node}"),
        };
        let seconds = taken.as_secs();
        Some(format!("plugin {plugin} has not returned from {point}{node} for {seconds} s"))
    }

    /// Cancelled when the process begins to stop.
    pub(crate) fn stopping(&self) -> &CancellationToken {
        &self.0.stopping
    }

    /// The cluster is known, and scheduling may begin.
    pub(crate) fn set_synced(&self) {
        self.0.synced.store(true, Ordering::Relaxed);
    }

    /// There is a leader election.
    pub(crate) fn set_leader(&self, status: LeaderStatus) {
        *self.0.leader.lock().unwrap_or_else(PoisonError::into_inner) = Some(status);
    }

    /// The configuration that holds, a JSON object.
    pub(crate) fn set_config(&self, json: &str) {
        let text = Arc::from(format!("{{\"componentconfig\":{}}}", json.trim()));
        *self.0.configz.lock().unwrap_or_else(PoisonError::into_inner) = text;
    }

    /// The pods of the cluster are known here.
    pub(crate) fn set_pods(&self, pods: Known) {
        let _ = self.0.pods.set(pods);
    }

    /// What is shown of the process itself.
    pub(crate) fn set_zpages(&self, zpages: Zpages) {
        let _ = self.0.zpages.set(zpages);
    }

    fn zpage(&self, path: &str, headers: &HeaderMap) -> Option<Reply> {
        let now = Timestamp::now();
        let started = now.checked_sub(self.0.meter.started().elapsed()).unwrap_or(now);
        self.0.zpages.get()?.answer(path, headers, started, now)
    }

    /// What pods ask for, as text; a copy that does not lead shows none (as upstream).
    fn pod_resources(&self) -> String {
        let pods = self.0.pods.get().filter(|_| self.leader().is_none_or(|it| it.is_leader()));
        let pods = pods.map(Known::all).unwrap_or_default();
        pod_resources::text(pods.iter().filter_map(|it| match it {
            Object::Pod(pod) => Some(&**pod),
            _ => None,
        }))
    }

    fn leader(&self) -> Option<LeaderStatus> {
        self.0.leader.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn configz(&self) -> Arc<str> {
        Arc::clone(&self.0.configz.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Every number, as text.
    fn metrics(&self) -> String {
        if let Some(leader) = self.leader() {
            self.0.measures.families().set_leader(leader.is_leader(), leader.slow_paths());
        }
        self.0.measures.text()
    }
}

/// The listeners, which end with this value.
#[derive(Debug)]
pub(crate) struct Serving {
    _tasks: JoinSet<()>,
    /// Where HTTPS is served, and where plain HTTP.
    pub(crate) addresses: Vec<String>,
}

/// The port of HTTPS where none is asked for.
const DEFAULT_PORT: u16 = 10259;

/// Begins to serve. Tokens and access are reviewed through `rest`, unless the flags name others.
///
/// # Errors
/// What keeps it from serving, with what to do.
pub(crate) async fn start(
    flags: &ServingFlags,
    board: Board,
    rest: &Rest,
) -> anyhow::Result<Serving> {
    let mut tasks = JoinSet::new();
    let mut addresses = Vec::new();
    if let Some(listener) = secure_listener(flags).await? {
        let certificates = Certificates::new(flags)?;
        let acceptor = TlsAcceptor::from(certificates.server_config(flags)?);
        let access = Arc::new(Access::new(flags, rest).await?);
        let routes =
            Routes::new(Health::new(board.clone()), board.clone(), Some(Arc::clone(&access)));
        addresses.push(format!("https://{}", listener.local_addr()?));
        tasks.spawn(listen::serve(listener, Some(acceptor), routes, Limits::default()));
        tasks.spawn(access.keep_fresh());
        tasks.spawn(certificates.keep_fresh());
    }
    if flags.loopback_http_port != 0 {
        let at = SocketAddr::from((Ipv4Addr::LOCALHOST, flags.loopback_http_port));
        let listener = bind(at, "--loopback-http-port").await?;
        let routes = Routes::new(Health::new(board.clone()), board, None);
        addresses.push(format!("http://{}", listener.local_addr()?));
        tasks.spawn(listen::serve(listener, None, routes, Limits::default()));
    }
    Ok(Serving { _tasks: tasks, addresses })
}

/// The port that was asked for, or the default one where that is free: several schedulers on one
/// machine must not keep each other from starting.
async fn secure_listener(flags: &ServingFlags) -> anyhow::Result<Option<TcpListener>> {
    match flags.secure_port {
        Some(0) => Ok(None),
        Some(port) => {
            bind(SocketAddr::new(flags.bind_address, port), "--secure-port").await.map(Some)
        }
        None => {
            let at = SocketAddr::new(flags.bind_address, DEFAULT_PORT);
            let listener = bind(at, "--secure-port").await;
            if let Err(error) = &listener {
                tracing::warn!("neither health nor metrics are served: {error:#}");
            }
            Ok(listener.ok())
        }
    }
}

async fn bind(at: SocketAddr, flag: &str) -> anyhow::Result<TcpListener> {
    TcpListener::bind(at).await.with_context(|| {
        format!(
            "cannot serve at {at}; choose another port with {flag}, or serve none with {flag}=0"
        )
    })
}
