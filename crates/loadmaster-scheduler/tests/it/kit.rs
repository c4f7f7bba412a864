//! A lab cluster, a line to it that can be cut, and the binary as a child process.

use std::{
    io::Write,
    process::{ExitStatus, Stdio},
    sync::Arc,
    time::Duration,
};

use loadmaster_lab::{
    api::DeleteOptions,
    kubelet::{NodeTemplate, node},
    resources::Collection,
    server::{LabServer, Options},
};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tempfile::NamedTempFile;
use tokio::{
    io::{AsyncBufReadExt, BufReader, Lines, copy_bidirectional},
    net::{TcpListener, TcpStream},
    process::{Child, ChildStderr, Command},
    sync::watch,
    task::JoinSet,
};

/// Whatever a test waits for comes long before this.
const PATIENCE: Duration = Duration::from_mins(1);

/// Waits, and fails the test where there is nothing to wait for.
pub(crate) async fn soon<T>(what: &str, future: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, future).await.unwrap_or_else(|_| panic!("no {what}"))
}

/// An API server and a line to it.
pub(crate) struct Lab {
    server: LabServer,
    line: Line,
}

impl Lab {
    /// `history` is how many changes watches can resume over.
    pub(crate) async fn start(history: usize) -> Self {
        let server = LabServer::start(Options { history, ..Options::default() }).await.unwrap();
        let line = Line::start(server.address().to_string()).await;
        Self { server, line }
    }

    /// Where the scheduler is to look for it.
    pub(crate) fn url(&self) -> &str {
        &self.line.url
    }

    /// Breaks every connection, and refuses new ones until [`Lab::mend`].
    pub(crate) fn cut(&self) {
        self.line.up.send_replace(false);
    }

    pub(crate) fn mend(&self) {
        self.line.up.send_replace(true);
    }

    pub(crate) fn add_node(&self, name: &str) {
        let object = node(name, None, &NodeTemplate::default());
        self.server.api().create(Collection::NODES.resource(), "", object, false).unwrap();
    }

    pub(crate) fn remove_node(&self, name: &str) {
        let nodes = Collection::NODES.resource();
        self.server.api().delete(nodes, "", name, &DeleteOptions::default()).unwrap();
    }

    /// A pod of `scheduler`, with these fields laid over its specification.
    pub(crate) fn add_pod(&self, name: &str, scheduler: &str, more: Value) {
        let mut spec = json!({
            "schedulerName": scheduler,
            "containers": [{"name": "main", "image": "registry.k8s.io/pause:3.9"}],
            // There are no controllers here to take this taint off a new node.
            "tolerations": [{"key": "node.kubernetes.io/not-ready", "operator": "Exists"}],
        });
        if let (Some(spec), Value::Object(more)) = (spec.as_object_mut(), more) {
            spec.extend(more);
        }
        let pod = json!({
            "apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec});
        self.server.api().create(Collection::PODS.resource(), "default", pod, false).unwrap();
    }

    /// Waits until `found` finds something in the objects of a collection.
    pub(crate) async fn wait_all<T>(
        &self,
        collection: Collection,
        what: &str,
        found: impl Fn(&[Arc<Value>]) -> Option<T>,
    ) -> T {
        let mut changes = self.server.store().any_change();
        let search = async {
            loop {
                changes.mark_unchanged();
                if let Some(it) = found(&self.server.store().list(collection, None).0) {
                    return it;
                }
                changes.changed().await.unwrap();
            }
        };
        soon(what, search).await
    }

    /// Waits until `found` finds something in one object of a collection.
    pub(crate) async fn wait<T>(
        &self,
        collection: Collection,
        what: &str,
        found: impl Fn(&Value) -> Option<T>,
    ) -> T {
        self.wait_all(collection, what, |all| all.iter().find_map(|it| found(it))).await
    }

    /// Waits until the pod is bound; to which node.
    pub(crate) async fn node_of(&self, pod: &str) -> String {
        let bound = |it: &Value| {
            let node = it["spec"]["nodeName"].as_str().filter(|it| !it.is_empty());
            (it["metadata"]["name"] == pod).then_some(node?.to_owned())
        };
        self.wait(Collection::PODS, &format!("node for {pod}"), bound).await
    }

    /// Waits for an event of this reason about the pod; its text.
    pub(crate) async fn event(&self, pod: &str, reason: &str) -> Value {
        let about = |it: &Value| {
            (it["involvedObject"]["name"] == pod && it["reason"] == reason).then(|| it.clone())
        };
        self.wait(Collection::EVENTS, &format!("{reason} about {pod}"), about).await
    }
}

/// A TCP relay that can be cut.
struct Line {
    url: String,
    up: watch::Sender<bool>,
    _task: JoinSet<()>,
}

impl Line {
    async fn start(target: String) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let (up, is_up) = watch::channel(true);
        let mut task = JoinSet::new();
        task.spawn(async move {
            let mut relays = JoinSet::new();
            loop {
                let (mut near, _) = listener.accept().await.unwrap();
                let (target, mut is_up) = (target.clone(), is_up.clone());
                relays.spawn(async move {
                    if !*is_up.borrow() {
                        return;
                    }
                    let mut far = TcpStream::connect(target).await.unwrap();
                    tokio::select! {
                        _ = copy_bidirectional(&mut near, &mut far) => {}
                        _ = is_up.wait_for(|it| !it) => {}
                    }
                });
            }
        });
        Self { url, up, _task: task }
    }
}

/// The binary, running.
pub(crate) struct Scheduler {
    child: Child,
    log: Lines<BufReader<ChildStderr>>,
}

impl Scheduler {
    pub(crate) fn start(args: &[&str]) -> Self {
        let mut child = command(args).stderr(Stdio::piped()).kill_on_drop(true).spawn().unwrap();
        let log = BufReader::new(child.stderr.take().unwrap()).lines();
        Self { child, log }
    }

    /// A default scheduler of `lab`, once it schedules.
    pub(crate) async fn of(lab: &Lab, args: &[&str]) -> Self {
        let fixed = ["--leader-elect=false", "--master", lab.url()];
        let mut scheduler = Self::start(&[&fixed, args].concat());
        scheduler.says("scheduling begins").await;
        scheduler
    }

    /// Waits for a line of the log with this text.
    pub(crate) async fn says(&mut self, text: &str) -> String {
        let search = async {
            while let Some(line) = self.log.next_line().await.unwrap() {
                if line.contains(text) {
                    return line;
                }
            }
            panic!("the log ended without {text:?}")
        };
        soon(text, search).await
    }

    pub(crate) async fn stop(mut self, signal: Signal) -> (ExitStatus, Vec<String>) {
        let pid = self.child.id().and_then(|it| i32::try_from(it).ok()).unwrap();
        kill_process(Pid::from_raw(pid).unwrap(), signal).unwrap();
        let rest = async {
            let mut lines = Vec::new();
            while let Some(line) = self.log.next_line().await.unwrap() {
                lines.push(line);
            }
            (self.child.wait().await.unwrap(), lines)
        };
        soon("end of the process", rest).await
    }
}

/// The binary in an environment that names no cluster.
fn command(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_scheduler"));
    command.args(args).env_remove("KUBECONFIG").env_remove("RUST_LOG").env("HOME", "/nonexistent");
    command
}

/// Runs the binary to its end; its exit code, standard output and standard error.
pub(crate) async fn run(args: &[&str]) -> (i32, String, String) {
    let output = soon("end of the process", command(args).output()).await.unwrap();
    let text = |it: Vec<u8>| String::from_utf8(it).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

/// A `KubeSchedulerConfiguration` with these fields, in a file.
pub(crate) fn config_file(fields: &str) -> NamedTempFile {
    let mut file = NamedTempFile::new().unwrap();
    let head = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n";
    file.write_all(format!("{head}{fields}").as_bytes()).unwrap();
    file
}
