//! What `scheduler manifests` prints, in the hands of kubectl.

use std::{path::Path, process::Stdio};

use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::process::Command;

use crate::kit::{Lab, Scheduler, config_file, run, soon};

const CONFIG: &str = "leaderElection: {resourceName: mine}\nprofiles:\n- schedulerName: mine\n";

/// Whether kubectl is there. Where tests must not be left out, it must be.
fn has_kubectl() -> bool {
    let found =
        std::process::Command::new("kubectl").args(["version", "--client"]).output().is_ok();
    assert!(found || std::env::var_os("CI").is_none(), "kubectl is not installed");
    if !found {
        println!("LEFT OUT: kubectl is not installed");
    }
    found
}

async fn kubectl(args: &[&str]) -> String {
    let mut command = Command::new("kubectl");
    command.args(args).env_remove("KUBECONFIG").stdin(Stdio::null()).kill_on_drop(true);
    let output = soon("end of kubectl", command.output()).await.unwrap();
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn kinds(list: &Value) -> Vec<(String, String, String)> {
    let text = |it: &Value| it.as_str().unwrap_or_default().to_owned();
    let mut kinds: Vec<_> = list["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| {
            let metadata = &it["metadata"];
            (text(&it["kind"]), text(&metadata["namespace"]), text(&metadata["name"]))
        })
        .collect();
    kinds.sort();
    kinds
}

#[tokio::test]
async fn kubectl_renders_the_kustomize_base_into_the_same_objects() {
    if !has_kubectl() {
        return;
    }
    let config = config_file(CONFIG);
    let config = config.path().to_str().unwrap();
    let folder = TempDir::new().unwrap();
    let base = folder.path().to_str().unwrap();
    let fixed = ["manifests", "--config", config, "--replicas=2"];
    let (code, _, log) = run(&[&fixed[..], &["--kustomize", base]].concat()).await;
    assert_eq!(code, 0, "{log}");
    let (_, list, _) = run(&[&fixed[..], &["--output=json"]].concat()).await;
    let expected: Value = serde_json::from_str(&list).unwrap();
    let rendered = kubectl(&["kustomize", base]).await;
    let items: Vec<Value> =
        rendered.split("---\n").map(|it| serde_saphyr::from_str(it).unwrap()).collect();
    for item in &items {
        assert!(expected["items"].as_array().unwrap().contains(item), "{item:#}");
    }
    assert_eq!(kinds(&json!({"items": items})), kinds(&expected));
}

#[tokio::test]
async fn kubectl_applies_them_and_finds_nothing_to_change_the_second_time() {
    if !has_kubectl() {
        return;
    }
    let lab = Lab::start(1000).await;
    let config = config_file(CONFIG);
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("all.yaml");
    let (code, text, log) =
        run(&["manifests", "--config", config.path().to_str().unwrap(), "--namespace=mine"]).await;
    assert_eq!(code, 0, "{log}");
    std::fs::write(&file, text).unwrap();
    apply(&lab, &file).await;
    let again = apply(&lab, &file).await;
    assert!(again.lines().all(|it| it.ends_with(" unchanged")), "{again}");
}

#[tokio::test]
async fn a_scheduler_without_permissions_names_them_and_with_the_manifests_it_schedules() {
    if !has_kubectl() {
        return;
    }
    let lab = Lab::start(1000).await;
    let config = config_file(CONFIG);
    let config = config.path().to_str().unwrap();
    let folder = TempDir::new().unwrap();
    let account = lab.access_as(&folder, "system:serviceaccount:kube-system:mine");
    let args = ["--config", config, "--secure-port=0", "--kubeconfig", &account];
    let (code, _, log) = run(&args).await;
    assert_eq!(code, 2, "{log}");
    for line in [
        "list, watch csinodes.storage.k8s.io, for NodeVolumeLimits, VolumeBinding",
        "create pods/binding, for DefaultBinder",
        &format!("scheduler manifests --config {config} --permissions | kubectl apply -f -"),
    ] {
        assert!(log.contains(line), "{line}: {log}");
    }
    let file = folder.path().join("all.yaml");
    let (_, text, _) = run(&["manifests", "--config", config, "--permissions"]).await;
    assert!(!text.contains("kind: Deployment") && !text.contains("kind: ConfigMap"), "{text}");
    std::fs::write(&file, text).unwrap();
    apply(&lab, &file).await;
    lab.add_node("n1");
    let _scheduler = Scheduler::start(&args);
    lab.add_pod("web", "mine", json!({}));
    assert_eq!(lab.node_of("web").await, "n1");
    lab.event("web", "Scheduled").await;
}

async fn apply(lab: &Lab, file: &Path) -> String {
    let access = lab.access();
    let mut args: Vec<_> = match access[..] {
        ["--master", url] => vec!["--server", url],
        _ => access,
    };
    args.extend(["apply", "-f", file.to_str().unwrap()]);
    kubectl(&args).await
}
