//! The cluster that a test schedules for: the lab's API server, or a real one.

use std::sync::Arc;

use loadmaster_lab::{
    api::DeleteOptions,
    kubelet::{NodeTemplate, node},
    resources::Collection,
    server::{LabServer, Options},
};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::{
    line::Line,
    real::{self, RealCluster},
    soon,
};

/// An API server and a line to it: the lab's own, or a real one where `KUBEBUILDER_ASSETS` names a
/// folder with `kube-apiserver` and `etcd`.
pub(crate) struct Lab {
    backend: Backend,
    line: Line,
    access: Vec<String>,
}

enum Backend {
    Lab(Box<LabServer>),
    Real(RealCluster),
}

impl Lab {
    /// `history` is how many changes watches can resume over; a real server has its own mind.
    pub(crate) async fn start(history: usize) -> Self {
        if let Some(cluster) = RealCluster::take() {
            let line = Line::start(cluster.address().to_owned()).await;
            let access = cluster.kubeconfig(&line.address);
            let access = vec!["--kubeconfig".to_owned(), access];
            return Self { backend: Backend::Real(cluster), line, access };
        }
        let server = LabServer::start(Options { history, ..Options::default() }).await.unwrap();
        let line = Line::start(server.address().to_string()).await;
        let access = vec!["--master".to_owned(), format!("http://{}", line.address)];
        Self { backend: Backend::Lab(Box::new(server)), line, access }
    }

    /// The arguments that tell a scheduler where the cluster is.
    pub(crate) fn access(&self) -> Vec<&str> {
        self.access.iter().map(String::as_str).collect()
    }

    /// A kubeconfig in `folder` by which the administrator is taken for `user`; its path.
    pub(crate) fn access_as(&self, folder: &TempDir, user: &str) -> String {
        let mut config: Value = match self.access()[..] {
            ["--kubeconfig", file] => {
                serde_saphyr::from_str(&std::fs::read_to_string(file).unwrap()).unwrap()
            }
            ["--master", url] => json!({
                "apiVersion": "v1", "kind": "Config", "current-context": "lab",
                "clusters": [{"name": "lab", "cluster": {"server": url}}],
                "users": [{"name": "lab", "user": {}}],
                "contexts": [{"name": "lab", "context": {"cluster": "lab", "user": "lab"}}],
            }),
            _ => unreachable!("a cluster is reached by one of the two"),
        };
        config["users"][0]["user"]["as"] = json!(user);
        let file = folder.path().join("kubeconfig");
        std::fs::write(&file, config.to_string()).unwrap();
        file.to_str().unwrap().to_owned()
    }

    /// A client of the server, past the line.
    pub(crate) async fn client(&self) -> kube::Client {
        let config = match &self.backend {
            Backend::Lab(server) => kube::Config::new(server.url().parse().unwrap()),
            Backend::Real(cluster) => {
                let kubeconfig = cluster.kubeconfig(cluster.address());
                let kubeconfig = kube::config::Kubeconfig::read_from(kubeconfig).unwrap();
                let options = kube::config::KubeConfigOptions::default();
                kube::Config::from_custom_kubeconfig(kubeconfig, &options).await.unwrap()
            }
        };
        kube::Client::try_from(config).unwrap()
    }

    /// Breaks every connection, and refuses new ones until [`Lab::mend`].
    pub(crate) fn cut(&self) {
        self.line.up.send_replace(false);
    }

    pub(crate) fn mend(&self) {
        self.line.up.send_replace(true);
    }

    pub(crate) fn add_node(&self, name: &str) {
        self.create(Collection::NODES, "", node(name, None, &NodeTemplate::default()));
    }

    pub(crate) fn remove_node(&self, name: &str) {
        self.delete(Collection::NODES, "", name);
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
        self.create(Collection::PODS, "default", pod);
    }

    pub(crate) fn create(&self, collection: Collection, namespace: &str, object: Value) {
        match &self.backend {
            Backend::Lab(server) => {
                server.api().create(collection.resource(), namespace, object, false).unwrap();
            }
            Backend::Real(cluster) => cluster.create(collection, namespace, &object),
        }
    }

    /// Takes an object away at once.
    pub(crate) fn delete(&self, collection: Collection, namespace: &str, name: &str) {
        match &self.backend {
            Backend::Lab(server) => {
                let at_once = DeleteOptions { grace_seconds: Some(0), ..DeleteOptions::default() };
                server.api().delete(collection.resource(), namespace, name, &at_once).unwrap();
            }
            Backend::Real(cluster) => cluster.delete(collection, namespace, name),
        }
    }

    /// Waits until `found` finds something in the objects of a collection.
    pub(crate) async fn wait_all<T>(
        &self,
        collection: Collection,
        what: &str,
        found: impl Fn(&[Arc<Value>]) -> Option<T>,
    ) -> T {
        let search = async {
            match &self.backend {
                Backend::Lab(server) => {
                    let mut changes = server.store().any_change();
                    loop {
                        changes.mark_unchanged();
                        if let Some(it) = found(&server.store().list(collection, None).0) {
                            return it;
                        }
                        changes.changed().await.unwrap();
                    }
                }
                Backend::Real(_) => loop {
                    let (objects, version) = real::list(collection).await;
                    if let Some(it) = found(&objects) {
                        return it;
                    }
                    real::change(collection, version).await;
                },
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
