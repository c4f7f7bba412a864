//! One pod's life on its node: volumes, init containers, containers, and its end.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::board::Role;
use super::container::{self, Deadline, pause};
use super::pod::Pod;
use crate::controllers::Severity;
use crate::kubelet::finish;
use crate::resources::Collection;
use crate::store::{Object, is_being_deleted, text};

/// How long a pod gets that is deleted without grace, or with a lab that ends.
const SHORT_GRACE: Duration = Duration::from_secs(2);
/// The first wait after volumes could not be made, and the longest.
const VOLUMES_RETRY: Duration = Duration::from_millis(500);
const VOLUMES_RETRY_MAX: Duration = Duration::from_secs(30);

/// Why a pod's containers are ended from outside.
#[derive(Clone, Debug)]
pub(super) struct Ends {
    /// The pod is gone from the cluster.
    pub(super) gone: CancellationToken,
    /// The lab ends.
    pub(super) shutdown: CancellationToken,
}

/// Runs the pod until it is gone; leaves nothing of it behind.
pub(super) async fn work(pod: Arc<Pod>, mut object: watch::Receiver<Object>, ends: Ends) {
    let (deadline, told) = watch::channel(None);
    let mut containers = Box::pin(run_all(&pod, told));
    let (mut running, mut replaced) = (true, false);
    loop {
        if let Some(by) = end_of(&object.borrow_and_update(), &ends) {
            // A deadline moves in one direction only.
            deadline.send_modify(|it| *it = Some(it.map_or(by, |before| before.min(by))));
            if !running {
                break;
            }
        }
        let ending = deadline.borrow().is_some();
        tokio::select! {
            () = &mut containers, if running => running = false,
            changed = object.changed(), if !replaced => {
                if changed.is_err() {
                    // Another pod has this one's name now.
                    replaced = true;
                    ends.gone.cancel();
                }
            }
            () = ends.gone.cancelled(), if !ending => {}
            () = ends.shutdown.cancelled(), if !ending => {}
        }
    }
    // A pod that ended by itself may have a container left in its last moments.
    drop(containers);
    let object = Arc::clone(&object.borrow());
    if !ends.shutdown.is_cancelled()
        && !ends.gone.is_cancelled()
        && let Err(status) = finish(pod.api(), &object)
    {
        tracing::warn!(pod = text(&object, "name"), error = %status.message, "a pod stays behind");
    }
    pod.api().logs().forget(text(&object, "uid"));
    if let Err(error) = std::fs::remove_dir_all(pod.folder())
        && error.kind() != std::io::ErrorKind::NotFound
    {
        tracing::warn!(folder = %pod.folder().display(), %error, "a pod's files stay behind");
    }
}

/// By when the pod must have ended, if it must.
fn end_of(object: &Object, ends: &Ends) -> Option<Instant> {
    let now = Instant::now();
    if ends.gone.is_cancelled() || ends.shutdown.is_cancelled() {
        return Some(now + SHORT_GRACE);
    }
    if !is_being_deleted(object) {
        return None;
    }
    let end: Timestamp = text(object, "deletionTimestamp").parse().ok()?;
    let left = end.duration_since(Timestamp::now());
    Some(now + Duration::try_from(left).unwrap_or_default())
}

/// Runs the containers in their order until all have ended for good.
async fn run_all(pod: &Arc<Pod>, mut deadline: Deadline) {
    pod.change(|_| {});
    if !until_volumes(pod, &mut deadline).await {
        return;
    }
    pod.change(|board| board.sandbox = true);
    // Both end with this function, whoever ends it.
    let mut helpers = JoinSet::new();
    helpers.spawn(keep_volumes(Arc::clone(pod)));
    let mut containers = JoinSet::new();
    let mut object = pod.watch();
    for index in 0..pod.len() {
        let run = container::run(Arc::clone(pod), index, deadline.clone());
        match pod.role(index) {
            Role::Init => {
                let code = run.await;
                if deadline.borrow().is_some() {
                    break;
                }
                if code != 0 {
                    return;
                }
            }
            Role::Sidecar => {
                containers.spawn(run);
                while !pod.has_started(index) {
                    // Its status is written when it starts, and that changes the pod.
                    tokio::select! {
                        changed = object.changed() => if changed.is_err() { return },
                        _ = deadline.wait_for(Option::is_some) => break,
                    }
                }
            }
            Role::Main => {
                containers.spawn(run);
            }
        }
    }
    while containers.join_next().await.is_some() {}
}

/// Makes the volumes, as soon as what they are made from is there; says whether they are.
async fn until_volumes(pod: &Arc<Pod>, deadline: &mut Deadline) -> bool {
    let mut wait = VOLUMES_RETRY;
    loop {
        match pod.write_volumes() {
            Ok(_) => return true,
            Err(why) => pod.record(Severity::Warning, "FailedMount", &why),
        }
        if pause(wait, deadline).await {
            return false;
        }
        wait = (wait * 2).min(VOLUMES_RETRY_MAX);
    }
}

/// Lets the volumes' files follow what they are made from.
async fn keep_volumes(pod: Arc<Pod>) {
    let namespace = text(&pod.object(), "namespace").to_owned();
    let store = Arc::clone(pod.api().store());
    let watch = |collection| store.list_and_watch(collection, Some(&namespace)).1;
    let mut maps = watch(Collection::CONFIG_MAPS);
    let mut secrets = watch(Collection::SECRETS);
    let mut object = pod.watch();
    loop {
        let next = match pod.write_volumes() {
            Ok(next) => next,
            Err(why) => {
                pod.record(Severity::Warning, "FailedMount", &why);
                None
            }
        };
        let pause = next.map_or(VOLUMES_RETRY_MAX, |next| {
            let left = next.duration_since(store.now());
            Duration::try_from(left).unwrap_or_default()
        });
        tokio::select! {
            changed = maps.next() => if changed.is_err() { maps = watch(Collection::CONFIG_MAPS) },
            changed = secrets.next() => if changed.is_err() { secrets = watch(Collection::SECRETS) },
            changed = object.changed() => if changed.is_err() { return },
            () = tokio::time::sleep(pause.max(VOLUMES_RETRY)) => {}
        }
    }
}
