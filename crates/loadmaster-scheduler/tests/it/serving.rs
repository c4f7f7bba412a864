//! What a process shows of itself, and plugins that misbehave in it.

use std::path::Path;

use loadmaster_lab::resources::Collection;
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::kit::{Lab, Scheduler, config_file, free_port, page};

/// A pod that asks the plugin `Sleeps` to sleep for so many milliseconds at each node.
fn sleeper(name: &str, millis: u32) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": name, "labels": {"sleep": millis.to_string()}},
        "spec": {
            "containers": [{"name": "main", "image": "pause"}],
            "tolerations": [{"key": "node.kubernetes.io/not-ready", "operator": "Exists"}],
        },
    })
}

/// The example with two faulty plugins, and the port where it answers in plain HTTP.
async fn faulty(lab: &Lab, budget: &str, elects: bool) -> (Scheduler, u16) {
    let config = config_file(
        "profiles:\n- plugins:\n    filter:\n      enabled:\n      - {name: PanicsForOneInTen}\n\
         \x20     - {name: Sleeps}\n",
    );
    let binary = Path::new(env!("CARGO_BIN_EXE_scheduler")).with_file_name("examples");
    let binary = binary.join("faulty");
    assert!(
        binary.exists(),
        "`cargo build -p loadmaster-scheduler --example faulty` makes {binary:?}"
    );
    let port = free_port();
    let args = [
        &format!("--leader-elect={elects}"),
        "--config",
        config.path().to_str().unwrap(),
        &format!("--loopback-http-port={port}"),
        &format!("--plugin-time-budget={budget}"),
    ];
    let mut scheduler = Scheduler::start_program(&binary, &[&args, &*lab.access()].concat());
    scheduler.says("the cluster is known").await;
    (scheduler, port)
}

const NAMED: &str = "plugin Sleeps has not returned from Filter for node n1 for";

/// Waits until health finds a plugin that does not return; what it says.
async fn stuck(port: u16) -> String {
    loop {
        let health = page(port, "/livez/plugin-calls").await;
        if health.starts_with("HTTP/1.1 500") {
            return health;
        }
    }
}

/// The value of a metric with these labels; 0 where it is not shown.
fn metric(page: &str, name_and_labels: &str) -> f64 {
    let mut lines = page.lines().filter_map(|it| it.strip_prefix(name_and_labels));
    lines.next().map_or(0.0, |it| it.trim().parse().unwrap())
}

#[tokio::test]
async fn plugins_that_panic_and_sleep_leave_other_pods_scheduled_and_are_named() {
    let lab = Lab::start(1000).await;
    lab.add_node("n1");
    lab.add_node("n2");
    let (mut scheduler, port) = faulty(&lab, "1s", false).await;
    // Two nodes take 1.4 s, which is more than the plugin may take.
    lab.create(Collection::PODS, "default", sleeper("sleepy", 700));
    for pod in 1..=20 {
        lab.add_pod(&format!("p{pod}"), "default-scheduler", json!({}));
    }
    for pod in (1..=20).filter(|it| it % 10 != 0) {
        lab.event(&format!("p{pod}"), "Scheduled").await;
    }
    let slow = scheduler.says("plugin is too slow").await;
    assert!(slow.contains("Sleeps") && slow.contains("Filter"), "{slow}");
    let panicked = scheduler.says("plugin panicked").await;
    assert!(panicked.contains("PanicsForOneInTen"), "{panicked}");
    let told = lab.event("sleepy", "FailedScheduling").await;
    let told = told["message"].as_str().unwrap();
    assert!(told.contains("plugin Sleeps has taken ") && told.contains("of this cycle"), "{told}");
    let told = lab.event("p10", "FailedScheduling").await;
    let told = told["message"].as_str().unwrap();
    assert!(told.contains("plugin PanicsForOneInTen panicked at Filter for node n"), "{told}");

    let metrics = page(port, "/metrics").await;
    let of = |name: &str, plugin: &str| {
        metric(&metrics, &format!("{name}{{extension_point=\"Filter\",plugin=\"{plugin}\"}}"))
    };
    assert!(of("loadmaster_plugin_panics_total", "PanicsForOneInTen") >= 2.0, "{metrics}");
    assert!(of("loadmaster_plugin_over_budget_total", "Sleeps") >= 1.0, "{metrics}");
    let attempts = |result: &str| {
        let labels = format!("{{profile=\"default-scheduler\",result=\"{result}\"}}");
        metric(&metrics, &format!("scheduler_schedule_attempts_total{labels}"))
    };
    assert!(attempts("error") >= 3.0, "{metrics}");
    assert!(attempts("scheduled") >= 18.0, "{metrics}");
    assert!(page(port, "/livez").await.ends_with("ok"));
}

#[tokio::test]
async fn a_plugin_that_never_returns_is_named_by_health() {
    let lab = Lab::start(1000).await;
    lab.add_node("n1");
    let (mut scheduler, port) = faulty(&lab, "100ms", false).await;
    assert!(page(port, "/readyz?verbose").await.ends_with("readyz check passed\n"));
    lab.create(Collection::PODS, "default", sleeper("endless", 3_600_000));
    let health = stuck(port).await;
    assert!(health.contains(NAMED), "{health}");
    let health = page(port, "/livez").await;
    assert!(health.contains("[-]plugin-calls failed: reason withheld\n"), "{health}");
    // What was measured can be read all the same.
    assert!(page(port, "/metrics").await.contains("scheduler_pending_pods"));
    // It cannot end as it should, and whoever asks twice is not kept waiting.
    scheduler.signal(Signal::TERM);
    scheduler.says("stopping").await;
    let (status, log) = scheduler.stop(Signal::TERM).await;
    assert_eq!(status.code(), Some(1), "{log:#?}");
    assert!(log.join("\n").contains(NAMED), "{log:#?}");
}

#[tokio::test]
async fn a_plugin_that_never_returns_does_not_keep_the_process_and_the_lease_runs_out_by_itself() {
    let lab = Lab::start(1000).await;
    lab.add_node("n1");
    let (scheduler, port) = faulty(&lab, "100ms", true).await;
    lab.create(Collection::PODS, "default", sleeper("endless", 3_600_000));
    stuck(port).await;
    let (status, log) = scheduler.stop(Signal::TERM).await;
    assert_eq!(status.code(), Some(70), "{log:#?}");
    let log = log.join("\n");
    assert!(log.contains(NAMED), "{log}");
    let held = |it: &Value| {
        let ours = it["metadata"]["name"] == "kube-scheduler";
        (ours && it["spec"]["holderIdentity"] != "").then_some(())
    };
    lab.wait(Collection::LEASES, "lease that is held", held).await;
}

#[tokio::test]
async fn what_pods_ask_for_is_shown_by_the_copy_that_leads() {
    let lab = Lab::start(1000).await;
    lab.add_node("n1");
    let served = |port: u16| format!("--loopback-http-port={port}");
    let (port, second) = (free_port(), free_port());
    let mut leader = Scheduler::start(&[&[&*served(port)], &*lab.access()].concat());
    leader.says("Successfully acquired lease").await;
    let requests = json!({"containers": [{"name": "main", "image": "pause",
        "resources": {"requests": {"cpu": "250m"}, "limits": {"memory": "64Mi"}}}]});
    lab.add_pod("web", "default-scheduler", requests);
    lab.event("web", "Scheduled").await;
    let line = |of: &str, resource: &str, unit: &str| {
        format!(
            "kube_pod_resource_{of}{{namespace=\"default\",node=\"n1\",pod=\"web\",priority=\"0\",\
             resource=\"{resource}\",scheduler=\"default-scheduler\",unit=\"{unit}\"}}"
        )
    };
    // The node is known when the watch has told of it.
    let shown = loop {
        let shown = page(port, "/metrics/resources").await;
        if shown.contains("node=\"n1\"") {
            break shown;
        }
    };
    for line in [
        line("request", "cpu", "cores") + " 0.25\n",
        line("limit", "memory", "bytes") + " 6.7108864e+07\n",
    ] {
        assert!(shown.contains(&line), "{line}: {shown}");
    }
    let mut standby = Scheduler::start(&[&[&*served(second)], &*lab.access()].concat());
    standby.says("others may lead").await;
    assert!(!page(second, "/metrics/resources").await.contains("kube_pod"));
    for (path, text) in [
        ("/flagz", format!("\nloopback-http-port={port}\n")),
        ("/statusz", "\nEmulation version: 1.36\n".to_owned()),
        ("/metrics/slis", "process_start_time_seconds".to_owned()),
        ("/version", "404 page not found".to_owned()),
    ] {
        let shown = page(port, path).await;
        assert!(shown.contains(&text), "{path}: {shown}");
    }
}
