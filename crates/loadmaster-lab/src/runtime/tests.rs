use serde_json::json;
use tempfile::TempDir;

use super::*;
use crate::cluster::{Cluster, ClusterOptions};
use crate::resources::Collection;
use crate::store::version_of;
use crate::values::condition_is_true;

const IMAGE: &str = "forge.lab:5000/test/app:v1";

/// A cluster of one node that runs pods with [`IMAGE`], which consists of one shell script, as plain
/// processes.
struct Bench {
    cluster: Cluster,
    folder: TempDir,
}

impl Bench {
    async fn new(script: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let layout = folder.path().join("layout");
        let script = format!("#!/bin/sh\n{script}\n");
        let config = json!({"Entrypoint": ["/app"], "User": "65532"});
        fixture::layout(&layout, "v1", &[("app", script.as_bytes())], &config);
        let mut options = RuntimeOptions::in_folder(folder.path().join("run"));
        options.layouts.push((Reference::parse(IMAGE).unwrap(), layout));
        options.isolation = Isolation::Process;
        options.backoff = Duration::from_millis(100);
        let options =
            ClusterOptions { nodes: 1, runtime: Some(options), ..ClusterOptions::default() };
        let cluster = Cluster::start(options).await.unwrap();
        Self { cluster, folder }
    }

    fn api(&self) -> &Api {
        self.cluster.server().api()
    }

    fn make(&self, collection: Collection, object: Value) {
        self.api().create(collection.resource(), "default", object, false).unwrap();
    }

    /// A pod `p` on the node.
    fn pod(&self, change: impl FnOnce(&mut Value)) {
        let mut pod = json!({"metadata": {"name": "p"}, "spec": {"nodeName": "node-1",
            "terminationGracePeriodSeconds": 5,
            "automountServiceAccountToken": false,
            "containers": [{"name": "c", "image": IMAGE}]}});
        change(&mut pod);
        self.make(Collection::PODS, pod);
    }

    /// Waits until the pod is as wanted, and answers it.
    async fn until(&self, wanted: impl Fn(&Value) -> bool) -> Object {
        let wait = async {
            let mut changes = self.api().store().any_change();
            loop {
                changes.mark_unchanged();
                let pod = self.api().store().get(Collection::PODS, "default", "p");
                if let Some(pod) = pod.filter(|it| wanted(it)) {
                    return pod;
                }
                changes.changed().await.unwrap();
            }
        };
        tokio::time::timeout(Duration::from_mins(1), wait).await.unwrap_or_else(|_| {
            let pod = self.api().store().get(Collection::PODS, "default", "p");
            panic!("the pod does not come to be as wanted: {pod:#?}\n{:?}", self.events())
        })
    }

    async fn until_gone(&self) {
        let mut changes = self.api().store().any_change();
        loop {
            changes.mark_unchanged();
            if self.api().store().get(Collection::PODS, "default", "p").is_none() {
                return;
            }
            changes.changed().await.unwrap();
        }
    }

    async fn running(&self) -> Object {
        self.until(|it| it["status"]["phase"] == "Running").await
    }

    /// Reasons and messages of all events about pods, in order.
    fn events(&self) -> Vec<(String, String)> {
        let mut events = self.api().store().list(Collection::EVENTS, Some("default")).0;
        events.sort_by_key(|it| version_of(it));
        let own = |it: &Value| it.as_str().unwrap().to_owned();
        events.retain(|it| it["involvedObject"]["kind"] == "Pod");
        events.iter().map(|it| (own(&it["reason"]), own(&it["message"]))).collect()
    }

    /// Everything that the container prints, until it ends or `enough` is in it.
    async fn printed(&self, pod: &Value, enough: &str) -> String {
        let log = self.api().logs().find(text(pod, "uid"), "c", false).unwrap();
        let mut reader = LogReader::new(log, LogOptions { follow: true, ..LogOptions::default() });
        let mut printed = String::new();
        while let Some(bytes) = reader.next().await {
            printed.push_str(std::str::from_utf8(&bytes).unwrap());
            if !enough.is_empty() && printed.contains(enough) {
                break;
            }
        }
        printed
    }
}

fn container(pod: &Value) -> &Value {
    &pod["status"]["containerStatuses"][0]
}

#[tokio::test]
async fn a_pod_is_pulled_started_and_ended_with_everything_that_it_asks_for() {
    let script = r#"echo "$GREETING from $POD to $1, $(cat /etc/hostname >/dev/null; cat $FILE)"
trap 'echo told to go; exit 0' TERM
while :; do sleep 0.05; done"#;
    let bench = Bench::new(script).await;
    bench.make(
        Collection::CONFIG_MAPS,
        json!({"metadata": {"name": "words"}, "data": {"greeting": "hello", "file": "content"}}),
    );
    bench.pod(|pod| {
        pod["spec"]["volumes"] = json!([{"name": "v", "configMap": {"name": "words"}}]);
        let container = &mut pod["spec"]["containers"][0];
        container["args"] = json!(["$(POD)!"]);
        container["env"] = json!([
            {"name": "POD", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
            {"name": "FILE", "value": "/etc/words/file"},
            {"name": "GREETING", "valueFrom": {"configMapKeyRef": {"name": "words", "key": "greeting"}}}]);
        container["volumeMounts"] = json!([{"name": "v", "mountPath": "/etc/words"}]);
    });
    let pod = bench.running().await;
    let status = container(&pod);
    assert!(status["containerID"].as_str().unwrap().starts_with("process://"));
    assert!(status["imageID"].as_str().unwrap().starts_with("forge.lab:5000/test/app@sha256:"));
    bench.until(|it| condition_is_true(it, "Ready")).await;
    let pid = pod["metadata"]["annotations"]["lab.loadmaster/pid.c"].as_str().unwrap();
    assert!(std::path::Path::new("/proc").join(pid).exists());
    let printed = bench.printed(&pod, "\n").await;
    assert_eq!(printed, "hello from p to p!, content\n");
    let reasons: Vec<String> = bench.events().into_iter().map(|it| it.0).collect();
    assert_eq!(reasons, ["Pulling", "Pulled", "Created", "PlainProcess", "Started"]);

    let log = bench.api().logs().find(text(&pod, "uid"), "c", false).unwrap();
    let options = crate::api::DeleteOptions::default();
    bench.api().delete(Collection::PODS.resource(), "default", "p", &options).unwrap();
    bench.until_gone().await;
    assert!(log.tail().ends_with("told to go\n"), "{}", log.tail());
    assert!(bench.events().contains(&("Killing".into(), "Stopping container c".into())));
    let pods = bench.folder.path().join("run/pods");
    // Its worker removes the files after the pod.
    bench.cluster.shutdown().await;
    assert!(!pods.exists());
}

#[tokio::test]
async fn a_container_that_ends_is_started_again_with_growing_waits() {
    let bench = Bench::new("echo run; exit 3").await;
    bench.pod(|_| {});
    let pod = bench
        .until(|it| {
            container(it)["state"]["waiting"]["reason"] == "CrashLoopBackOff"
                && container(it)["restartCount"] == 2
        })
        .await;
    let status = container(&pod);
    let last = &status["lastState"]["terminated"];
    assert_eq!((&last["exitCode"], &last["reason"]), (&json!(3), &json!("Error")));
    let uid = text(&pod, "uid");
    let message = format!("back-off 0s restarting failed container=c pod=p_default({uid})");
    assert_eq!(status["state"]["waiting"]["message"], message);
    assert_eq!(pod["status"]["phase"], "Running");
    let message = format!("Back-off restarting failed container c in pod p_default({uid})");
    assert!(bench.events().contains(&("BackOff".into(), message)));
    let previous = bench.api().logs().find(uid, "c", true).unwrap();
    assert_eq!(previous.tail(), "run\n");
}

#[tokio::test]
async fn a_pod_that_is_to_run_once_succeeds_or_fails() {
    for (script, phase) in [("exit 0", "Succeeded"), ("echo why >&2; exit 4", "Failed")] {
        let bench = Bench::new(script).await;
        bench.pod(|pod| {
            pod["spec"]["restartPolicy"] = json!("Never");
            pod["spec"]["containers"][0]["terminationMessagePolicy"] =
                json!("FallbackToLogsOnError");
        });
        let pod = bench.until(|it| it["status"]["phase"] == phase).await;
        let ended = &container(&pod)["state"]["terminated"];
        let expected = if phase == "Failed" { json!("why\n") } else { json!(null) };
        assert_eq!(ended["message"], expected);
    }
}

#[tokio::test]
async fn what_is_missing_is_waited_for_and_named() {
    let bench = Bench::new("exec sleep 60").await;
    bench.pod(|pod| {
        pod["spec"]["containers"][0]["env"] = json!([{"name": "X",
            "valueFrom": {"configMapKeyRef": {"name": "late", "key": "x"}}}]);
    });
    let pod = bench
        .until(|it| container(it)["state"]["waiting"]["reason"] == "CreateContainerConfigError")
        .await;
    assert_eq!(container(&pod)["state"]["waiting"]["message"], "configmap \"late\" not found");
    let late = json!({"metadata": {"name": "late"}, "data": {"x": "1"}});
    bench.make(Collection::CONFIG_MAPS, late);
    bench.running().await;
}

#[tokio::test]
async fn an_image_that_does_not_come_is_told_in_the_usual_words() {
    let bench = Bench::new("exit 0").await;
    bench.pod(|pod| {
        let digest = format!("forge.lab:5000/test/app@sha256:{}", "0".repeat(64));
        pod["spec"]["containers"][0]["image"] = json!(digest);
    });
    let pod =
        bench.until(|it| container(it)["state"]["waiting"]["reason"] == "ImagePullBackOff").await;
    let message = container(&pod)["state"]["waiting"]["message"].as_str().unwrap();
    assert!(message.starts_with("Back-off pulling image \"forge.lab:5000/test/app@sha256:000"));
    assert!(message.contains(
        "ErrImagePull: rpc error: code = NotFound desc = failed to pull and unpack image"
    ));
    assert_eq!(pod["status"]["phase"], "Pending");
    let events = bench.events();
    assert!(events.contains(&("Failed".into(), "Error: ErrImagePull".into())), "{events:?}");
}

#[tokio::test]
async fn a_program_that_is_not_there_counts_as_an_end() {
    let bench = Bench::new("exit 0").await;
    bench.pod(|pod| pod["spec"]["containers"][0]["command"] = json!(["/nope"]));
    let pod = bench.until(|it| container(it)["lastState"]["terminated"]["exitCode"] == 128).await;
    let last = &container(&pod)["lastState"]["terminated"];
    assert_eq!(last["reason"], "StartError");
    let message = last["message"].as_str().unwrap();
    assert!(
        message.ends_with("exec: \"/nope\": stat /nope: no such file or directory"),
        "{message}"
    );
}

#[tokio::test]
async fn init_containers_come_first_and_one_by_one() {
    let bench = Bench::new("[ -n \"$FAST\" ] && exit 0; exec sleep 60").await;
    bench.pod(|pod| {
        let fast = json!([{"name": "FAST", "value": "1"}]);
        pod["spec"]["initContainers"] = json!([
            {"name": "i", "image": IMAGE, "env": fast},
            {"name": "s", "image": IMAGE, "restartPolicy": "Always"}]);
    });
    let pod = bench.until(|it| condition_is_true(it, "Ready")).await;
    let init = &pod["status"]["initContainerStatuses"];
    assert_eq!(init[0]["state"]["terminated"]["reason"], "Completed");
    assert!(init[1]["state"]["running"].is_object());
}

#[tokio::test]
async fn a_container_that_does_not_live_is_killed_and_started_again() {
    let bench = Bench::new("exec sleep 60").await;
    // Nobody listens there any more.
    let gone = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    bench.pod(|pod| {
        pod["spec"]["containers"][0]["livenessProbe"] = json!({"failureThreshold": 1,
            "httpGet": {"host": "127.0.0.1", "port": gone.port(), "path": "/livez"}});
    });
    let pod = bench.until(|it| container(it)["restartCount"] == 1).await;
    assert_eq!(container(&pod)["lastState"]["terminated"]["exitCode"], 143);
    let killing = "Container c failed liveness probe, will be restarted";
    let events = bench.events();
    assert!(events.contains(&("Killing".into(), killing.into())), "{events:?}");
    let unhealthy = events.iter().find(|it| it.0 == "Unhealthy").unwrap();
    assert!(unhealthy.1.starts_with("Liveness probe failed: Get \"http://127.0.0.1:"));
}

#[tokio::test]
async fn a_pod_is_ready_when_its_probe_says_so() {
    let bench = Bench::new("exec sleep 60").await;
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    bench.pod(|pod| {
        pod["spec"]["containers"][0]["readinessProbe"] =
            json!({"tcpSocket": {"host": "127.0.0.1", "port": port}});
    });
    let pod = bench.running().await;
    assert_eq!(container(&pod)["ready"], false);
    bench.until(|it| condition_is_true(it, "Ready")).await;
}

#[tokio::test]
async fn a_pod_that_does_not_listen_is_killed_when_its_grace_is_over() {
    let bench = Bench::new("trap '' TERM\necho deaf\nwhile :; do sleep 0.05; done").await;
    bench.pod(|pod| pod["spec"]["terminationGracePeriodSeconds"] = json!(1));
    let pod = bench.running().await;
    bench.printed(&pod, "deaf").await;
    let options = crate::api::DeleteOptions::default();
    bench.api().delete(Collection::PODS.resource(), "default", "p", &options).unwrap();
    bench.until_gone().await;
}

#[tokio::test]
async fn other_pods_stay_hollow() {
    let bench = Bench::new("exit 0").await;
    bench.pod(|pod| pod["spec"]["containers"][0]["image"] = json!("registry.k8s.io/pause:3.9"));
    let pod = bench.running().await;
    assert!(container(&pod)["containerID"].as_str().unwrap().starts_with("hollow://"));
}
