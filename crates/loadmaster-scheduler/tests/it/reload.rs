//! The configuration changes while the scheduler runs.

use std::fs;

use loadmaster_lab::resources::Collection;
use rustix::process::Signal;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::kit::{Lab, Scheduler, config_file, free_port, page, run};

/// A configuration whose one profile has these plugins beside what is always needed.
fn config(plugins: &str, rest: &str) -> String {
    format!(
        "apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
{rest}
profiles:
- schedulerName: mine
  plugins:
    multiPoint:
      enabled: [{{name: PrioritySort}}, {{name: DefaultBinder}}, {{name: TaintToleration}}, {plugins}]
      disabled: [{{name: '*'}}]
"
    )
}

/// What the tests begin with: every node is refused.
const REFUSES: &str = "  pluginConfig:\n  - {name: Concentrate, args: {rejectEverything: true}}\n";

#[tokio::test]
async fn a_changed_file_takes_over_with_what_its_plugins_read_and_gives_back_what_they_do_not() {
    let lab = Lab::start(1000).await;
    lab.add_node("n1");
    let file = config_file("");
    let path = file.path().to_str().unwrap();
    fs::write(path, config("{name: Concentrate}", "") + REFUSES).unwrap();
    let mut scheduler = Scheduler::of(&lab, &["--config", path]).await;
    lab.add_pod("web", "mine", json!({}));
    lab.event("web", "FailedScheduling").await;

    fs::write(path, config("{name: InterPodAffinity}", "")).unwrap();
    scheduler.signal(Signal::HUP);
    scheduler.says("the new configuration is in use").await;
    assert_eq!(lab.node_of("web").await, "n1", "unschedulable pods are tried again");
    let event = lab.event("mine", "ConfigReloaded").await;
    assert_eq!(event["involvedObject"]["kind"], "KubeSchedulerConfiguration");

    fs::write(path, config("{name: NodeName}", "")).unwrap();
    scheduler.signal(Signal::HUP);
    let line = scheduler.says("no plugin reads this kind any more").await;
    assert!(line.contains("namespaces"), "{line}");
    // And it is found again when it is needed again.
    fs::write(path, config("{name: InterPodAffinity}", "")).unwrap();
    scheduler.signal(Signal::HUP);
    scheduler.says("the new configuration is in use").await;
    lab.add_pod("later", "mine", json!({}));
    assert_eq!(lab.node_of("later").await, "n1");
    let (status, _) = scheduler.stop(Signal::TERM).await;
    assert_eq!(status.code(), Some(0));
}

#[tokio::test]
async fn a_file_that_cannot_be_used_is_refused_and_the_old_configuration_stays() {
    let lab = Lab::start(1000).await;
    lab.add_node("n1");
    let file = config_file("");
    let path = file.path().to_str().unwrap();
    fs::write(path, config("{name: NodeName}", "")).unwrap();
    let mut scheduler = Scheduler::of(&lab, &["--config", path]).await;
    fs::write(path, config("{name: NodeNaem}", "")).unwrap();
    scheduler.signal(Signal::HUP);
    let line = scheduler.says("the changed configuration is refused").await;
    let (_, checked, _) = run(&["config", "check", path]).await;
    assert!(checked.contains("NodeNaem"), "{checked}");
    let event = lab.event("mine", "ConfigRefused").await;
    let note = event["message"].as_str().unwrap();
    assert!(note.contains(checked.trim()), "{note}\n{line}");
    lab.add_pod("web", "mine", json!({}));
    assert_eq!(lab.node_of("web").await, "n1");
}

#[tokio::test]
async fn fields_that_need_a_restart_are_named_and_the_rest_is_applied() {
    let lab = Lab::start(1000).await;
    let file = config_file("");
    let path = file.path().to_str().unwrap();
    fs::write(path, config("{name: NodeName}", "")).unwrap();
    let mut scheduler = Scheduler::of(&lab, &["--config", path]).await;
    let rest = "clientConnection: {burst: 7}\nleaderElection: {retryPeriod: 1s}";
    let text =
        config("{name: NodeName}", rest).replace("schedulerName: mine", "schedulerName: other");
    fs::write(path, text).unwrap();
    scheduler.signal(Signal::HUP);
    let line = scheduler.says("restart needed").await;
    assert!(line.contains("clientConnection.burst, leaderElection.retryPeriod"), "{line}");
    let named = |it: &Value| (it["reason"] == "ConfigRestartNeeded").then_some(());
    lab.wait(Collection::EVENTS, "event about it", named).await;
    lab.add_node("n1");
    lab.add_pod("web", "other", json!({}));
    assert_eq!(lab.node_of("web").await, "n1");
}

/// Creates what `scheduler manifests` prints about permissions.
async fn grant(lab: &Lab, config: &str, name: &str) {
    let (_, list, _) =
        run(&["manifests", "--config", config, "--name", name, "--output=json"]).await;
    let list: Value = serde_json::from_str(&list).unwrap();
    for item in list["items"].as_array().unwrap() {
        let collection = match item["kind"].as_str().unwrap() {
            "ClusterRole" => Collection::CLUSTER_ROLES,
            "ClusterRoleBinding" => Collection::CLUSTER_ROLE_BINDINGS,
            "Role" => Collection::ROLES,
            "RoleBinding" => Collection::ROLE_BINDINGS,
            _ => continue,
        };
        let namespace = item["metadata"]["namespace"].as_str().unwrap_or_default();
        lab.create(collection, namespace, item.clone());
    }
}

#[tokio::test]
async fn plugins_that_lack_permissions_are_refused_with_the_rules_to_add_and_taken_up_with_them() {
    let lab = Lab::start(1000).await;
    lab.add_node("n1");
    let file = config_file("");
    let path = file.path().to_str().unwrap();
    let alone = "leaderElection: {leaderElect: false}";
    fs::write(path, config("{name: NodeName}", alone)).unwrap();
    grant(&lab, path, "reloader").await;
    let folder = TempDir::new().unwrap();
    let account = lab.access_as(&folder, "system:serviceaccount:kube-system:reloader");
    let port = free_port();
    let served = format!("--loopback-http-port={port}");
    let mut scheduler = Scheduler::start(&["--config", path, "--kubeconfig", &account, &served]);
    scheduler.says("scheduling begins").await;

    fs::write(path, config("{name: InterPodAffinity}", alone)).unwrap();
    scheduler.signal(Signal::HUP);
    scheduler.says("the changed configuration is refused").await;
    scheduler.says("list, watch namespaces, for InterPodAffinity").await;
    let rule = scheduler.says("- {").await;
    let rule: Value = serde_json::from_str(rule.trim_start_matches([' ', '-'])).unwrap();
    let event = lab.event("mine", "ConfigRefused").await;
    let note = event["message"].as_str().unwrap();
    assert!(note.contains("list, watch namespaces, for InterPodAffinity"), "{note}");
    let metrics = page(port, "/metrics").await;
    let counted = r#"loadmaster_config_reloads_total{result="refused"} 1"#;
    assert!(metrics.contains(counted), "{metrics}");
    lab.add_pod("web", "mine", json!({}));
    assert_eq!(lab.node_of("web").await, "n1", "the old configuration schedules");

    // Whoever adds the rule need not touch the file again.
    let role = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
        "metadata": {"name": "reloader-more"}, "rules": [rule]});
    lab.create(Collection::CLUSTER_ROLES, "", role);
    let binding = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
        "metadata": {"name": "reloader-more"},
        "roleRef": {
            "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole",
            "name": "reloader-more"},
        "subjects": [{
            "kind": "ServiceAccount", "name": "reloader", "namespace": "kube-system"}]});
    lab.create(Collection::CLUSTER_ROLE_BINDINGS, "", binding);
    let until = scheduler.until("the new configuration is in use").await;
    assert!(!until.iter().any(|it| it.contains("is refused")), "it is said once: {until:#?}");
}

#[tokio::test]
async fn a_hangup_ends_nothing_and_without_a_file_it_says_why_nothing_is_read() {
    // A server that takes connections and says nothing: the start waits for it.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", silent.local_addr().unwrap());
    let mut scheduler = Scheduler::start(&["--leader-elect=false", "--master", &url]);
    scheduler.says("profile").await;
    scheduler.signal(Signal::HUP);
    drop(silent);
    let (status, log) = scheduler.ended().await;
    assert_eq!(status.code(), Some(2), "no signal, but the server ended it: {log:#?}");

    let lab = Lab::start(1000).await;
    let mut scheduler = Scheduler::of(&lab, &[]).await;
    scheduler.signal(Signal::HUP);
    let line = scheduler.says("SIGHUP").await;
    assert!(line.contains("started without --config"), "{line}");
    let (status, log) = scheduler.stop(Signal::TERM).await;
    assert_eq!(status.code(), Some(0), "{log:#?}");
}
