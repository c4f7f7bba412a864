//! A pod that is run for real, as its containers see it.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use serde_json::Value;
use tokio::sync::watch;
use tokio::time::Instant;

use super::board::{Board, Line, Role};
use super::container::Deadline;
use super::images::Images;
use super::process::Process;
use super::sandbox::Isolation;
use super::volumes::{Mount, Volumes};
use super::{RECORDER, Shared};
use crate::api::Api;
use crate::controllers::Severity;
use crate::kubelet::host_ip;
use crate::resources::Collection;
use crate::store::{Object, Write, text};
use crate::values::list;

/// What the containers of one pod share.
#[derive(Debug)]
pub(super) struct Pod {
    shared: Arc<Shared>,
    api: Api,
    node: Object,
    object: watch::Receiver<Object>,
    folder: PathBuf,
    ip: String,
    board: Mutex<Board>,
    volumes: Mutex<Volumes>,
}

impl Pod {
    /// A pod on a node, with an address of its own.
    pub(super) fn new(
        shared: Arc<Shared>,
        api: Api,
        node: Object,
        object: watch::Receiver<Object>,
        ip: String,
    ) -> Self {
        let now = api.store().now();
        let board = Board::new(&object.borrow(), &ip, now);
        let folder = shared.folder.join("pods").join(text(&object.borrow(), "uid"));
        let volumes = Volumes::new(folder.join("volumes"));
        let (board, volumes) = (Mutex::new(board), Mutex::new(volumes));
        Self { shared, api, node, object, folder, ip, board, volumes }
    }

    pub(super) fn api(&self) -> &Api {
        &self.api
    }

    /// The pod as it is now, with the address that it has here.
    pub(super) fn object(&self) -> Object {
        let mut object = Value::clone(&self.object.borrow());
        object["status"]["podIP"] = self.ip.clone().into();
        object["status"]["podIPs"] = serde_json::json!([{"ip": self.ip}]);
        object["status"]["hostIP"] = host_ip(&self.node).into();
        Arc::new(object)
    }

    /// Sees every change of the pod from here on.
    pub(super) fn watch(&self) -> watch::Receiver<Object> {
        let mut object = self.object.clone();
        object.mark_unchanged();
        object
    }

    pub(super) fn node(&self) -> &Value {
        &self.node
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    pub(super) fn ip(&self) -> &str {
        &self.ip
    }

    pub(super) fn images(&self) -> &Images {
        &self.shared.images
    }

    pub(super) fn isolation(&self) -> Isolation {
        self.shared.isolation
    }

    pub(super) fn guard(&self) -> Option<PathBuf> {
        self.shared.guard.clone()
    }

    /// The first wait after a failure.
    pub(super) fn backoff(&self) -> Duration {
        self.shared.backoff
    }

    /// What the pod says now about the container at `index` of the board.
    pub(super) fn spec(&self, index: usize) -> Value {
        let object = self.object.borrow();
        let init = list(&object, "/spec/initContainers");
        let found = match index.checked_sub(init.len()) {
            None => init.get(index),
            Some(index) => list(&object, "/spec/containers").get(index),
        };
        found.cloned().unwrap_or_default()
    }

    /// How many containers there are.
    pub(super) fn len(&self) -> usize {
        self.board().lines.len()
    }

    pub(super) fn role(&self, index: usize) -> Role {
        self.board().lines.get(index).map_or(Role::Main, |it| it.role)
    }

    pub(super) fn container_name(&self, index: usize) -> String {
        self.board().lines.get(index).map(|it| it.name.clone()).unwrap_or_default()
    }

    /// Whether the container at `index` has started.
    pub(super) fn has_started(&self, index: usize) -> bool {
        self.board().lines.get(index).is_some_and(|it| it.started)
    }

    /// Writes the volumes' files; returns when to do so again.
    pub(super) fn write_volumes(&self) -> Result<Option<Timestamp>, String> {
        let mut volumes = self.volumes.lock().unwrap_or_else(PoisonError::into_inner);
        volumes.write(&self.api, &self.object(), &self.node, self.api.store().now())
    }

    /// What a container mounts.
    pub(super) fn mounts(
        &self,
        object: &Value,
        container: &Value,
        expanded: impl Fn(&str) -> String,
    ) -> Result<Vec<Mount>, String> {
        let volumes = self.volumes.lock().unwrap_or_else(PoisonError::into_inner);
        volumes.mounts(object, container, expanded)
    }

    /// Records an event about the pod.
    pub(super) fn record(&self, severity: Severity, reason: &str, message: &str) {
        let now = self.api.store().now();
        RECORDER.record(&self.api, &self.object.borrow(), severity, reason, message, now);
    }

    /// Changes a container's line and shows it.
    pub(super) fn update(&self, index: usize, change: impl FnOnce(&mut Line)) {
        self.change(|board| {
            if let Some(line) = board.lines.get_mut(index) {
                change(line);
            }
        });
    }

    /// Changes the board and shows it in the pod's status.
    pub(super) fn change(&self, change: impl FnOnce(&mut Board)) {
        let mut board = self.board();
        change(&mut board);
        let (uid, namespace, name) = {
            let object = self.object.borrow();
            let own = |field| text(&object, field).to_owned();
            (own("uid"), own("namespace"), own("name"))
        };
        let (host_ip, now) = (host_ip(&self.node), self.api.store().now());
        let shown = self.api.store().update(Collection::PODS, &namespace, &name, |current| {
            // Another pod of the same name is none of ours.
            if text(current, "uid") != uid {
                return Ok(Write::Keep);
            }
            let mut next = Value::clone(current);
            board.write(&mut next, &host_ip, now);
            Ok(Write::Put(next))
        });
        if let Err(error) = shown {
            tracing::debug!(%error, "a pod went before its status was written");
        }
    }

    /// Ends a container: its `preStop` sleep, `SIGTERM`, and `SIGKILL` when its time is over;
    /// answers its exit code.
    pub(super) async fn stop(
        &self,
        index: usize,
        process: &mut Process,
        deadline: &mut Deadline,
    ) -> i32 {
        let grace = self.object.borrow()["spec"]["terminationGracePeriodSeconds"].as_u64();
        let own = Instant::now() + Duration::from_secs(grace.unwrap_or(30));
        let sleep = self.spec(index)["lifecycle"]["preStop"]["sleep"]["seconds"].as_u64();
        let until = |deadline: &Deadline| (*deadline.borrow()).unwrap_or(own);
        let asleep = Instant::now() + Duration::from_secs(sleep.unwrap_or_default());
        tokio::select! {
            code = process.ended() => return code,
            () = tokio::time::sleep_until(asleep.min(until(deadline))) => {}
        }
        process.terminate();
        loop {
            tokio::select! {
                code = process.ended() => return code,
                () = tokio::time::sleep_until(until(deadline)) => {
                    process.kill();
                    return process.ended().await;
                }
                // A second deletion may have less patience.
                Ok(()) = deadline.changed() => {}
            }
        }
    }

    fn board(&self) -> MutexGuard<'_, Board> {
        self.board.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
