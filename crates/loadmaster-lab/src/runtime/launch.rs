//! Starting a container's process, with everything that the pod says about it.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Value, json};
use uuid::Uuid;

use super::access::Access;
use super::board::State;
use super::environment::{self, Environment};
use super::expand::expand;
use super::images::Image;
use super::logs::Log;
use super::pod::Pod;
use super::process::Process;
use super::sandbox::{Isolation, Start};
use super::unpack::copy_tree;
use super::user::User;
use super::volumes::{Mount, SERVICE_ACCOUNT};
use crate::controllers::Severity;
use crate::store::text;

/// A process that has been started.
#[derive(Debug)]
pub(super) struct Launched {
    pub(super) process: Process,
    pub(super) log: Log,
    pub(super) container_id: String,
    pub(super) started: Timestamp,
}

/// Why none was.
#[derive(Debug, thiserror::Error)]
pub(super) enum Refusal {
    /// Something that the pod refers to is missing or cannot be; it may come.
    #[error("{message}")]
    Config {
        /// The reason in the container's status.
        reason: &'static str,
        /// The kubelet's words.
        message: String,
    },
    /// The program does not start.
    #[error(
        "failed to create containerd task: failed to create shim task: OCI runtime create failed: \
         unable to start container process: {0}"
    )]
    Start(String),
}

/// Starts the process of the container at `index`.
pub(super) async fn launch(
    pod: &Arc<Pod>,
    index: usize,
    image: &Arc<Image>,
) -> Result<Launched, Refusal> {
    let (object, spec) = (pod.object(), pod.spec(index));
    let start = prepare(pod, &object, &spec, image).await?;
    pod.record(Severity::Normal, "Created", "Container created");
    let isolation = pod.isolation();
    let name = pod.container_name(index);
    let log = pod.api().logs().begin(text(&object, "uid"), &name);
    let command = start.command(isolation).map_err(Refusal::Start)?;
    let process = Process::start(command, isolation, log.clone());
    let process = process.map_err(|error| {
        let program = start.words.first().cloned().unwrap_or_default();
        Refusal::Start(format!("exec: {program:?}: {error}"))
    })?;
    let id = format!("{}{}", Uuid::new_v4().simple(), Uuid::new_v4().simple());
    let container_id = format!("{}://{id}", isolation.scheme());
    let started = Timestamp::now();
    let user = tell_user(pod, &name, &start, isolation);
    pod.record(Severity::Normal, "Started", "Container started");
    pod.update(index, |line| {
        line.state = State::Running(started);
        line.image_id.clone_from(&image.id);
        line.container_id.clone_from(&container_id);
        line.user = Some(user);
        line.pid = process.pid();
    });
    Ok(Launched { process, log, container_id, started })
}

async fn prepare(
    pod: &Arc<Pod>,
    object: &Value,
    spec: &Value,
    image: &Arc<Image>,
) -> Result<Start, Refusal> {
    let config = |message| Refusal::Config { reason: "CreateContainerConfigError", message };
    let access = Access::of(pod.api());
    let wanted = environment::of_pod(pod.api(), object, pod.node(), spec, access.as_ref());
    let wanted = wanted.map_err(config)?;
    let user = User::of(object, spec, &image.config.user, &image.root).map_err(config)?;
    let words = environment::words(spec, &image.config, &wanted);
    let words =
        words.map_err(|message| Refusal::Config { reason: "CreateContainerError", message })?;
    let hostname = object["spec"]["hostname"].as_str().filter(|it| !it.is_empty());
    let hostname = hostname.unwrap_or_else(|| text(object, "name")).to_owned();
    let environment = environment::complete(&image.config, &hostname, &wanted);
    let mounts = pod.mounts(object, spec, |it| expanded(it, &wanted)).map_err(config)?;
    let working_dir = spec["workingDir"].as_str().filter(|it| !it.is_empty());
    let image_dir = Some(image.config.working_dir.as_str()).filter(|it| !it.is_empty());
    let working_dir = PathBuf::from(working_dir.or(image_dir).unwrap_or("/"));
    let root = match pod.isolation() {
        Isolation::Process => image.root.clone(),
        Isolation::Bwrap => {
            let name = spec["name"].as_str().unwrap_or_default();
            own_root(image, pod.folder().join("containers").join(name)).await.map_err(config)?
        }
    };
    let kubeconfig = access.and_then(|it| kubeconfig(pod.folder(), &it, &mounts));
    Ok(Start {
        words,
        environment,
        mounts,
        root,
        working_dir,
        user,
        read_only_root: spec["securityContext"]["readOnlyRootFilesystem"] == true,
        hostname,
        kubeconfig,
        guard: pod.guard(),
    })
}

fn expanded(text: &str, environment: &Environment) -> String {
    expand(text, |name| environment.get(name).map(str::to_owned))
}

/// A copy of the image's files that is the container's own, and new at every start.
async fn own_root(image: &Arc<Image>, folder: PathBuf) -> Result<PathBuf, String> {
    let from = image.root.clone();
    let copied = tokio::task::spawn_blocking(move || {
        if folder.exists() {
            fs::remove_dir_all(&folder)?;
        }
        copy_tree(&from, &folder).map(|()| folder)
    });
    copied.await.map_err(|error| error.to_string())?.map_err(|error| error.to_string())
}

/// A kubeconfig that says what the service account's files say, for a process that does not see them
/// where it looks.
fn kubeconfig(folder: &Path, access: &Access, mounts: &[Mount]) -> Option<PathBuf> {
    let account = mounts.iter().find(|it| it.path == Path::new(SERVICE_ACCOUNT))?;
    let file = folder.join("kubeconfig");
    let Access { host, port, .. } = access;
    let config = json!({"apiVersion": "v1", "kind": "Config", "current-context": "pod",
        "clusters": [{"name": "lab", "cluster": {"server": format!("https://{host}:{port}"),
            "certificate-authority": account.host.join("ca.crt")}}],
        "users": [{"name": "pod", "user": {"tokenFile": account.host.join("token")}}],
        "contexts": [{"name": "pod", "context": {"cluster": "lab", "user": "pod"}}]});
    fs::write(&file, config.to_string()).ok().map(|()| file)
}

/// Who the process really is; where that is not as the pod has it, an event says so.
fn tell_user(pod: &Pod, name: &str, start: &Start, isolation: Isolation) -> User {
    if isolation == Isolation::Bwrap {
        return start.user;
    }
    let taken = start.user.can_be_taken(&start.root, start.guard.as_deref());
    let user = if taken { start.user } else { User::own() };
    let instead = if user.uid == start.user.uid {
        String::new()
    } else {
        format!(" instead of user {}", start.user.uid)
    };
    let message = format!(
        "Container {name} runs as a plain process of user {}{instead}, with the paths of its volumes \
         rewritten",
        user.uid
    );
    pod.record(Severity::Normal, "PlainProcess", &message);
    user
}
