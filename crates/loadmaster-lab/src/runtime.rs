//! Containers that run for real: images from registries and OCI layouts, started as child processes
//! on the lab's machine.
//!
//! The nodes stay hollow: what they run is not limited to what they offer, and all of them share one
//! disk and one network. A pod that is run for real has an address of its own in 127.1.0.0/16, which
//! is on the machine's loopback, so that pods on one port need only listen at `$(POD_IP)`.
//!
//! The way of a pod: `Runtime::sync` starts a `worker`, which makes the `volumes` and then runs one
//! `container` each: `pulling` gets the image (`images`, `source`, `unpack`), `launch` starts the
//! process (`environment`, `sandbox`, `process`), `probes` look after it, the `board` shows in the
//! pod's status how it is, and `logs` keeps what it prints.
//!
//! Source: `pkg/kubelet` 1.36, for states, events, waits and their words.

mod access;
mod atomic;
mod backoff;
mod board;
mod container;
mod environment;
mod expand;
mod facts;
#[cfg(test)]
pub(crate) mod fixture;
mod http;
mod images;
mod launch;
mod logs;
mod manifest;
mod pod;
mod probes;
mod process;
mod pulling;
mod reference;
mod sandbox;
mod source;
mod unpack;
mod user;
mod volumes;
mod worker;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::Value;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::api::Api;
use crate::controllers::{Key, Recorder};
use crate::store::{Object, text};
use crate::values::list;
use images::Images;
use pod::Pod;
use worker::Ends;

pub use logs::{Log, LogBook, LogOptions, LogReader};
pub use reference::Reference;
pub use sandbox::Isolation;

const RECORDER: Recorder = Recorder("kubelet");
/// How long pods may take to end with the lab, beyond the grace that they get.
const PATIENCE: Duration = Duration::from_secs(5);

/// Which pods are run for real, and how.
#[derive(Clone, Debug)]
pub struct RuntimeOptions {
    /// Where images and the pods' files are kept; must be the runtime's alone.
    pub folder: PathBuf,
    /// Registries by name, and the URLs at which they are: `http://127.0.0.1:5000`. Pods with an
    /// image of one of them are run.
    pub registries: BTreeMap<String, String>,
    /// Images, and the OCI layouts that have them. Pods with one of them are run.
    pub layouts: Vec<(Reference, PathBuf)>,
    /// Whether all other pods are run too.
    pub run_all: bool,
    /// How containers are set apart.
    pub isolation: Isolation,
    /// The `lab` program, by which processes are tied to this one's life.
    pub guard: Option<PathBuf>,
    /// The first wait of a container that keeps ending, or whose image does not come.
    pub backoff: Duration,
}

impl RuntimeOptions {
    /// Nothing is run; with the isolation that works here and a kubelet's waits.
    pub fn in_folder(folder: PathBuf) -> Self {
        Self {
            folder,
            registries: BTreeMap::new(),
            layouts: Vec::new(),
            run_all: false,
            isolation: Isolation::best(),
            guard: None,
            backoff: Duration::from_secs(10),
        }
    }
}

/// What all pods that are run have in common.
#[derive(Debug)]
struct Shared {
    images: Images,
    run_all: bool,
    folder: PathBuf,
    isolation: Isolation,
    guard: Option<PathBuf>,
    backoff: Duration,
    addresses: AtomicU32,
}

/// Runs pods for real. Cheap to clone; all clones are the same runtime.
#[derive(Clone, Debug)]
pub struct Runtime {
    shared: Arc<Shared>,
    workers: Arc<Mutex<Workers>>,
    shutdown: CancellationToken,
    tokio: tokio::runtime::Handle,
}

#[derive(Debug, Default)]
struct Workers {
    by_key: BTreeMap<Key, Worker>,
    tasks: JoinSet<()>,
}

#[derive(Debug)]
struct Worker {
    uid: String,
    object: watch::Sender<Object>,
    gone: CancellationToken,
}

impl Runtime {
    /// A runtime whose pods live on the current tokio runtime.
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    pub fn new(options: RuntimeOptions) -> Self {
        let RuntimeOptions { folder, registries, layouts, run_all, isolation, guard, backoff } =
            options;
        let images = Images::new(folder.join("images"), registries, layouts);
        let addresses = AtomicU32::new(0);
        let shared = Shared { images, run_all, folder, isolation, guard, backoff, addresses };
        Self {
            shared: Arc::new(shared),
            workers: Arc::default(),
            shutdown: CancellationToken::new(),
            tokio: tokio::runtime::Handle::current(),
        }
    }

    /// Whether the pod is one to run for real: one of its images is mapped to a place, or all are.
    pub fn runs(&self, pod: &Value) -> bool {
        let containers =
            list(pod, "/spec/containers").iter().chain(list(pod, "/spec/initContainers"));
        let images = containers.filter_map(|it| it["image"].as_str());
        let mapped =
            |it: &str| Reference::parse(it).is_ok_and(|it| self.shared.images.is_mapped(&it));
        self.shared.run_all || images.into_iter().any(mapped)
    }

    /// Whether the pod has been taken in.
    pub(crate) fn knows(&self, pod: &Value) -> bool {
        let workers = self.workers.lock().unwrap_or_else(PoisonError::into_inner);
        workers.by_key.get(&Key::of(pod)).is_some_and(|it| it.uid == text(pod, "uid"))
    }

    /// Starts the pod on the node, or tells its worker how it is now.
    pub(crate) fn sync(&self, api: &Api, pod: &Object, node: &Object) {
        if self.shutdown.is_cancelled() {
            return;
        }
        let key = Key::of(pod);
        let uid = text(pod, "uid").to_owned();
        let mut workers = self.workers.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(worker) = workers.by_key.get(&key) {
            if worker.uid == uid {
                worker.object.send_replace(Arc::clone(pod));
                return;
            }
            worker.gone.cancel();
        }
        // What has ended need not be remembered.
        while workers.tasks.try_join_next().is_some() {}
        let (object, seen) = watch::channel(Arc::clone(pod));
        let ends = Ends { gone: CancellationToken::new(), shutdown: self.shutdown.clone() };
        let worker = Worker { uid: uid.clone(), object, gone: ends.gone.clone() };
        workers.by_key.insert(key.clone(), worker);
        let pod = Pod::new(
            Arc::clone(&self.shared),
            api.clone(),
            Arc::clone(node),
            seen.clone(),
            self.address(),
        );
        let all = Arc::clone(&self.workers);
        let work = async move {
            worker::work(Arc::new(pod), seen, ends).await;
            let mut workers = all.lock().unwrap_or_else(PoisonError::into_inner);
            if workers.by_key.get(&key).is_some_and(|it| it.uid == uid) {
                workers.by_key.remove(&key);
            }
        };
        workers.tasks.spawn_on(work, &self.tokio);
    }

    /// Ends what is run for a pod that is gone from the cluster.
    pub(crate) fn forget(&self, key: &Key) {
        let workers = self.workers.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(worker) = workers.by_key.get(key) {
            worker.gone.cancel();
        }
    }

    /// The next address: 127.1.0.1, 127.1.0.2, …; after 65,000 pods they repeat.
    fn address(&self) -> String {
        let number = self.shared.addresses.fetch_add(1, Ordering::Relaxed) % (256 * 254);
        format!("127.1.{}.{}", number / 254, 1 + number % 254)
    }

    /// Ends all pods, without taking them from the cluster, and removes their files.
    pub async fn shutdown(&self) {
        self.shutdown.cancel();
        let mut tasks = {
            let mut workers = self.workers.lock().unwrap_or_else(PoisonError::into_inner);
            std::mem::take(&mut workers.tasks)
        };
        let ended = async { while tasks.join_next().await.is_some() {} };
        if tokio::time::timeout(PATIENCE, ended).await.is_err() {
            tracing::warn!("some containers did not end in time and were killed");
            tasks.shutdown().await;
        }
        let folder = &self.shared.folder;
        if let Err(error) = std::fs::remove_dir_all(folder)
            && error.kind() != std::io::ErrorKind::NotFound
        {
            tracing::warn!(folder = %folder.display(), %error, "files of containers stay behind");
        }
    }
}

#[cfg(test)]
mod tests;
