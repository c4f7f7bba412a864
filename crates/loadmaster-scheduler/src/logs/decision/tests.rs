//! What a decision says at each verbosity.

use std::{io, sync::Mutex, time::Duration};

use loadmaster_config::RegistryCatalog;
use loadmaster_core::{
    cycle::Sequential,
    scheduler::{ClusterChange, Scheduler, SchedulerOptions},
};
use loadmaster_framework::{
    Gates,
    api::{Node, Pod},
};
use serde_json::{Value, json};

use super::*;

const PROFILE: &str = "
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: s
  plugins:
    multiPoint:
      enabled: [{name: PrioritySort}, {name: DefaultBinder}, {name: CacheLocality, weight: 5}]
      disabled: [{name: '*'}]
";

/// A place for lines that a subscriber can write to.
#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<u8>>>);

impl io::Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A node that drains its cache, one whose cache is warm, and one that is neither.
fn cluster() -> Scheduler {
    let (registry, gates) = (loadmaster_plugins::registry(), Gates::default());
    let catalog = RegistryCatalog::new(&registry, &gates);
    let loaded = loadmaster_config::load(PROFILE, "test", &catalog).unwrap();
    let options = SchedulerOptions::from_config(&loaded, &registry, &gates).unwrap();
    let mut scheduler = Scheduler::new(options).unwrap();
    let nodes = [
        ("n1", json!({"cache/drained": "true"})),
        ("n2", json!({"cache/warm-for": "images"})),
        ("n3", json!({})),
    ];
    for (name, labels) in nodes {
        let node = json!({"metadata": {"name": name, "labels": labels}});
        let node: Node = serde_json::from_value(node).unwrap();
        scheduler.handle_event(Duration::ZERO, ClusterChange::Applied(node.into()));
    }
    scheduler
}

/// What is said up to `level` about a pod with this spec.
fn said(level: Level, mut spec: Value) -> Vec<String> {
    let mut scheduler = cluster();
    spec["schedulerName"] = "s".into();
    let pod = json!({
        "metadata": {
            "name": "p", "namespace": "d", "uid": "p", "labels": {"dataset": "images"},
        },
        "spec": spec,
    });
    let pod: Pod = serde_json::from_value(pod).unwrap();
    scheduler.handle_event(Duration::ZERO, ClusterChange::Applied(pod.into()));
    let attempt = scheduler.schedule_one(Duration::ZERO, &mut Sequential).unwrap();
    let lines = Lines::default();
    let sink = lines.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(level)
        .with_target(false)
        .with_ansi(false)
        .without_time()
        .with_writer(move || sink.clone())
        .finish();
    tracing::subscriber::with_default(subscriber, || decided(&attempt, scheduler.snapshot()));
    let bytes = lines.0.lock().unwrap().clone();
    String::from_utf8(bytes).unwrap().lines().map(|it| it.trim().to_owned()).collect()
}

#[test]
fn a_pod_that_is_placed_is_one_line_unless_more_is_asked_for() {
    let chosen = "INFO node chosen pod=d/p node=n2 profile=s attempts=1 evaluated_nodes=3 \
                  feasible_nodes=2";
    assert_eq!(said(Level::INFO, json!({})), [chosen]);
    let refused = r#"DEBUG refused pod=d/p plugin="CacheLocality" nodes=1 reason="node is draining its cache""#;
    let score = r#"DEBUG score pod=d/p node=n2 plugin="CacheLocality" points=500"#;
    assert_eq!(said(Level::DEBUG, json!({})), [chosen, refused, score]);
    let node_refused = r#"TRACE node refused pod=d/p node=n1 plugin="CacheLocality" code="UnschedulableAndUnresolvable" reason="node is draining its cache""#;
    let scored = |node, points| {
        format!(
            r#"TRACE node scored pod=d/p node={node} total={points} plugins="CacheLocality={points}""#
        )
    };
    let mut all = said(Level::TRACE, json!({}));
    let mut expected = [
        chosen.to_owned(),
        node_refused.to_owned(),
        refused.to_owned(),
        score.to_owned(),
        scored("n2", 500),
        scored("n3", 0),
    ];
    all.sort();
    expected.sort();
    assert_eq!(all, expected, "nodes come in no promised order");
}
