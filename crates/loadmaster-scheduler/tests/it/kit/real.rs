//! A real `kube-apiserver` with its `etcd`, from the folder that `KUBEBUILDER_ASSETS` names.
//!
//! One serves all tests of the process, one test at a time; each begins with an empty cluster. There
//! are no controllers and no kubelets. Where the variable is not set, nothing here runs.

use std::{
    env, fs,
    net::TcpListener,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::{Arc, LazyLock, Mutex, MutexGuard, mpsc},
    time::Duration,
};

use http::Method;
use loadmaster_k8s::{
    client::{ClientOptions, connect},
    rest::Rest,
};
use loadmaster_lab::resources::Collection;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::runtime::Runtime;

/// The server of this process, and the hands that reach it beside a test's own runtime.
static SERVER: LazyLock<Option<Server>> = LazyLock::new(|| {
    let assets = env::var_os("KUBEBUILDER_ASSETS").filter(|it| !it.is_empty())?;
    Some(Server::start(Path::new(&assets)))
});
static TURN: Mutex<()> = Mutex::new(());
/// The token of the tests' administrator.
const TOKEN: &str = "administrator-of-the-tests";
const API_SERVER_LOG: &str = "kube-apiserver.log";
const JSON: &str = "application/json";

/// An empty real cluster, until it is dropped.
pub(crate) struct RealCluster {
    server: &'static Server,
    folder: TempDir,
    _turn: MutexGuard<'static, ()>,
}

impl RealCluster {
    /// `None` where the tests are to run against the lab.
    pub(crate) fn take() -> Option<Self> {
        let server = SERVER.as_ref()?;
        let turn = TURN.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        server.clear();
        Some(Self { server, folder: tempfile::tempdir().unwrap(), _turn: turn })
    }

    pub(crate) fn address(&self) -> &str {
        &self.server.address
    }

    /// A kubeconfig that reaches the server at `address`; its path.
    pub(crate) fn kubeconfig(&self, address: &str) -> String {
        let file = self.folder.path().join("kubeconfig");
        write_kubeconfig(&file, address);
        file.to_str().unwrap().to_owned()
    }

    pub(crate) fn create(&self, collection: Collection, namespace: &str, object: &Value) {
        self.server.call(Method::POST, path_of(collection, Some(namespace)), Some(object.clone()));
    }

    pub(crate) fn delete(&self, collection: Collection, namespace: &str, name: &str) {
        let path = format!("{}/{name}", path_of(collection, Some(namespace)));
        self.server.call(Method::DELETE, path, Some(at_once()));
    }
}

/// Everything of a collection, and the version of that.
pub(crate) async fn list(collection: Collection) -> (Vec<Arc<Value>>, String) {
    let server = SERVER.as_ref().unwrap();
    let rest = server.rest.clone();
    let path = path_of(collection, None);
    let list = async move { rest.get::<Value>(&path).await.unwrap() };
    let mut list = server.hands.spawn(list).await.unwrap();
    let version = list["metadata"]["resourceVersion"].as_str().unwrap().to_owned();
    let Value::Array(items) = list["items"].take() else { unreachable!("a list has items") };
    (items.into_iter().map(Arc::new).collect(), version)
}

/// Lets the server wait for changes after `version`, a second at most.
pub(crate) async fn change(collection: Collection, version: String) {
    let server = SERVER.as_ref().unwrap();
    let rest = server.rest.clone();
    let path = path_of(collection, None);
    let path = format!("{path}?watch=1&timeoutSeconds=1&resourceVersion={version}");
    // Whatever the answer is, the next list tells what there is.
    let watch = async move { drop(rest.call(Method::GET, &path, JSON, None).await) };
    server.hands.spawn(watch).await.unwrap();
}

/// The path of a collection in a namespace; `None` is all of them.
fn path_of(collection: Collection, namespace: Option<&str>) -> String {
    let resource = collection.resource();
    let group = match resource.group {
        "" => format!("/api/{}", resource.version),
        group => format!("/apis/{group}/{}", resource.version),
    };
    match namespace.filter(|it| !it.is_empty()) {
        Some(namespace) => format!("{group}/namespaces/{namespace}/{}", resource.plural),
        None => format!("{group}/{}", resource.plural),
    }
}

fn at_once() -> Value {
    json!({"kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": 0})
}

struct Server {
    address: String,
    rest: Rest,
    hands: Runtime,
}

impl Server {
    fn start(assets: &Path) -> Self {
        // It lasts as long as the process, which takes nothing away at its end.
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("real-api-server");
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        let address = start_programs(assets, &folder);
        let kubeconfig = folder.join("kubeconfig");
        write_kubeconfig(&kubeconfig, &address);
        let hands = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .unwrap();
        let options = ClientOptions {
            kubeconfig: Some((kubeconfig, "the tests".to_owned())),
            ..ClientOptions::default()
        };
        let log = folder.join(API_SERVER_LOG);
        let rest = wait(&hands, ready(options)).unwrap_or_else(|| {
            panic!("kube-apiserver is not ready: {}", fs::read_to_string(log).unwrap())
        });
        Self { address, rest, hands }
    }

    /// Takes away what an earlier test has left.
    fn clear(&self) {
        for collection in [
            Collection::PODS,
            Collection::EVENTS,
            Collection::CONFIG_MAPS,
            Collection::LEASES,
            Collection::POD_DISRUPTION_BUDGETS,
            Collection::PERSISTENT_VOLUME_CLAIMS,
        ] {
            self.call(Method::DELETE, path_of(collection, Some("default")), Some(at_once()));
        }
        self.call(Method::DELETE, path_of(Collection::NODES, None), Some(at_once()));
        for (collection, selector) in [
            (Collection::EVENTS, ""),
            (Collection::LEASES, "?fieldSelector=metadata.name=kube-scheduler"),
        ] {
            let path = path_of(collection, Some("kube-system"));
            self.call(Method::DELETE, format!("{path}{selector}"), Some(at_once()));
        }
    }

    /// Makes a call that must succeed, from any thread.
    fn call(&self, method: Method, path: String, body: Option<Value>) {
        let rest = self.rest.clone();
        let call = async move {
            rest.call(method, &path, JSON, body.as_ref())
                .await
                .map_err(|it| format!("{path}: {it}"))
        };
        wait(&self.hands, call).unwrap();
    }
}

/// Waits for something outside the runtime of the test, which may be the caller's own thread.
fn wait<T: Send + 'static>(hands: &Runtime, future: impl Future<Output = T> + Send + 'static) -> T {
    let (done, result) = mpsc::channel();
    hands.spawn(async move {
        let _ = done.send(future.await);
    });
    result.recv().unwrap()
}

/// Waits until the server says that it is ready.
async fn ready(options: ClientOptions) -> Option<Rest> {
    for _ in 0..600 {
        if let Ok(cluster) = connect(&options, Duration::from_secs(30)).await
            && cluster.rest.call(Method::GET, "/readyz", JSON, None).await.is_ok()
        {
            return Some(cluster.rest);
        }
        // A program of others tells no one when it is ready.
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    None
}

fn write_kubeconfig(file: &Path, address: &str) {
    let config = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "real",
        "clusters": [{"name": "real", "cluster": {
            "server": format!("https://{address}"), "insecure-skip-tls-verify": true}}],
        "users": [{"name": "admin", "user": {"token": TOKEN}}],
        "contexts": [{"name": "real", "context": {"cluster": "real", "user": "admin"}}],
    });
    fs::write(file, config.to_string()).unwrap();
}

/// Starts both programs; where the API server listens.
fn start_programs(assets: &Path, folder: &Path) -> String {
    let [etcd_port, peer_port, port] = free_ports();
    let etcd = format!("http://127.0.0.1:{etcd_port}");
    let peer = format!("http://127.0.0.1:{peer_port}");
    let data = folder.join("etcd");
    run(
        assets.join("etcd"),
        &folder.join("etcd.log"),
        &[
            format!("--data-dir={}", data.display()),
            format!("--listen-client-urls={etcd}"),
            format!("--advertise-client-urls={etcd}"),
            format!("--listen-peer-urls={peer}"),
            "--unsafe-no-fsync".to_owned(),
        ],
    );
    let pair = rcgen::KeyPair::generate().unwrap();
    let (key, public) = (folder.join("service-account.key"), folder.join("service-account.pub"));
    fs::write(&key, pair.serialize_pem()).unwrap();
    fs::write(&public, pair.public_key_pem()).unwrap();
    let tokens = folder.join("tokens.csv");
    fs::write(&tokens, format!("{TOKEN},admin,admin,\"system:masters\"\n")).unwrap();
    run(
        assets.join("kube-apiserver"),
        &folder.join(API_SERVER_LOG),
        &[
            format!("--etcd-servers={etcd}"),
            "--bind-address=127.0.0.1".to_owned(),
            format!("--secure-port={port}"),
            format!("--cert-dir={}", folder.join("certificates").display()),
            format!("--token-auth-file={}", tokens.display()),
            "--service-account-issuer=https://kubernetes.default.svc".to_owned(),
            format!("--service-account-key-file={}", public.display()),
            format!("--service-account-signing-key-file={}", key.display()),
            "--service-cluster-ip-range=10.0.0.0/24".to_owned(),
            "--authorization-mode=RBAC".to_owned(),
            // Nobody here makes the account that it waits for.
            "--disable-admission-plugins=ServiceAccount".to_owned(),
        ],
    );
    format!("127.0.0.1:{port}")
}

/// Ports that were free a moment ago.
fn free_ports<const N: usize>() -> [u16; N] {
    let held = [(); N].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
    held.map(|it| it.local_addr().unwrap().port())
}

/// Starts a program that ends with this process, however this one ends.
fn run(program: PathBuf, log: &Path, args: &[String]) {
    assert!(program.exists(), "KUBEBUILDER_ASSETS: {} is not there", program.display());
    let log = fs::File::create(log).unwrap();
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", "KILL"]).arg(program).args(args);
    command.stdin(Stdio::null()).stdout(log.try_clone().unwrap()).stderr(log);
    let (started, result) = mpsc::channel();
    // The signal comes when the thread that started the program ends, so that thread stays.
    std::thread::spawn(move || {
        let child = command.spawn();
        let _ = started.send(child.as_ref().map(|_| ()).map_err(ToString::to_string));
        let _ = child.map(|mut it| it.wait());
    });
    result.recv().unwrap().unwrap();
}
