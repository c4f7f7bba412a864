//! What a reload cannot change.

use loadmaster_config::KubeSchedulerConfiguration;
use serde_json::{Value, json};

/// The fields that hold from the start of the process to its end, and are others in `new` than in
/// `running`, by their paths.
pub(super) fn changed_fields(
    running: &KubeSchedulerConfiguration,
    new: &KubeSchedulerConfiguration,
) -> Vec<String> {
    let mut changed = Vec::new();
    compare("", &fixed(running), &fixed(new), &mut changed);
    changed
}

fn fixed(config: &KubeSchedulerConfiguration) -> Value {
    json!({
        "leaderElection": config.leader_election,
        "clientConnection": config.client_connection,
        "enableProfiling": config.enable_profiling,
        "enableContentionProfiling": config.enable_contention_profiling,
        "delayCacheUntilActive": config.delay_cache_until_active,
    })
}

fn compare(path: &str, old: &Value, new: &Value, changed: &mut Vec<String>) {
    if let (Value::Object(old), Value::Object(new)) = (old, new) {
        for (name, new) in new {
            let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
            compare(&path, old.get(name).unwrap_or(&Value::Null), new, changed);
        }
    } else if old != new {
        changed.push(path.to_owned());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lease_client_and_serving_hold_to_the_end_and_the_rest_does_not() {
        let running = KubeSchedulerConfiguration::default();
        let mut new = running.clone();
        new.percentage_of_nodes_to_score = 50;
        new.pod_max_backoff_seconds = 60;
        assert!(changed_fields(&running, &new).is_empty());
        new.leader_election.resource_name = "other".to_owned();
        new.client_connection.burst = 7;
        new.enable_profiling = true;
        let expected = ["clientConnection.burst", "enableProfiling", "leaderElection.resourceName"];
        assert_eq!(changed_fields(&running, &new), expected);
    }
}
