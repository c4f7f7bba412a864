//! A deployment's status: counters, and how far its rollout has come.

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::Rollout;
use super::sets::{Sets, sum};
use crate::resources::Collection;
use crate::store::text;
use crate::values::{condition, number};

impl Rollout<'_> {
    /// Changes the deployment and looks at the changed one from here on.
    pub(super) fn edit_deployment(&mut self, change: impl FnMut(&mut Value)) {
        let edited = self.api.store().edit(
            Collection::DEPLOYMENTS,
            text(&self.deployment, "namespace"),
            text(&self.deployment, "name"),
            change,
        );
        match edited {
            Ok(edited) => self.deployment = edited,
            Err(error) => tracing::debug!(%error, "a deployment went while it was written"),
        }
    }

    pub(super) fn note_created_set(&mut self, name: &str) {
        let message = format!("Created new replica set {name:?}");
        self.put_condition("Progressing", "True", "NewReplicaSetCreated", &message);
    }

    pub(super) fn note_found_set(&mut self, name: &str) {
        if condition(&self.deployment, "Progressing").is_none() {
            let message = format!("Found new replica set {name:?}");
            self.put_condition("Progressing", "True", "FoundNewReplicaSet", &message);
        }
    }

    /// Pausing and resuming are part of the progress.
    pub(super) fn note_pause(&mut self) {
        let progressing = condition(&self.deployment, "Progressing");
        let reason = progressing.and_then(|it| it["reason"].as_str()).unwrap_or_default();
        if reason == "ProgressDeadlineExceeded" {
            return;
        }
        let was_paused = reason == "DeploymentPaused";
        if self.is_paused() && !was_paused {
            let message = "Deployment is paused";
            self.put_condition("Progressing", "Unknown", "DeploymentPaused", message);
        } else if !self.is_paused() && was_paused {
            let message = "Deployment is resumed";
            self.put_condition("Progressing", "Unknown", "DeploymentResumed", message);
        }
    }

    fn put_condition(&mut self, kind: &str, status: &str, reason: &str, message: &str) {
        let now = self.now;
        self.edit_deployment(|deployment| {
            let mut conditions = conditions_of(&deployment["status"]);
            set_condition(&mut conditions, kind, status, reason, message, now);
            if !deployment["status"].is_object() {
                deployment["status"] = json!({});
            }
            deployment["status"]["conditions"] = json!(conditions);
        });
    }

    /// Whether every replica is of the current template and available.
    pub(super) fn is_complete(&self) -> bool {
        complete(&self.deployment, &self.deployment["status"])
    }

    /// Writes counters and conditions; returns when the progress deadline runs out.
    pub(super) fn write_status(&mut self, sets: &Sets) -> Option<Timestamp> {
        let before = self.deployment["status"].clone();
        let mut status = self.counters(sets);
        let mut conditions = conditions_of(&before);
        self.judge_availability(&mut conditions, &status);
        let next = self.judge_progress(&mut conditions, &before, &status, sets);
        status["conditions"] = json!(conditions);
        if let Some(collisions) = before.get("collisionCount") {
            status["collisionCount"] = collisions.clone();
        }
        self.edit_deployment(|deployment| deployment["status"] = status.clone());
        next
    }

    fn counters(&self, sets: &Sets) -> Value {
        let all = sets.all();
        let available = sum(&all, "/status/availableReplicas");
        let updated = sets.new.iter().map(|it| number(it, "/status/replicas")).sum();
        let counts = [
            ("observedGeneration", number(&self.deployment, "/metadata/generation")),
            ("replicas", sum(&all, "/status/replicas")),
            ("updatedReplicas", updated),
            ("readyReplicas", sum(&all, "/status/readyReplicas")),
            ("availableReplicas", available),
            ("unavailableReplicas", (sum(&all, "/spec/replicas") - available).max(0)),
        ];
        let mut status = json!({"terminatingReplicas": sum(&all, "/status/terminatingReplicas")});
        for (name, count) in counts {
            if count != 0 {
                status[name] = json!(count);
            }
        }
        status
    }

    fn judge_availability(&self, conditions: &mut Vec<Value>, status: &Value) {
        let enough = self.replicas() - self.max_unavailable();
        let (value, reason, message) = if number(status, "/availableReplicas") >= enough {
            ("True", "MinimumReplicasAvailable", "Deployment has minimum availability.")
        } else {
            (
                "False",
                "MinimumReplicasUnavailable",
                "Deployment does not have minimum availability.",
            )
        };
        set_condition(conditions, "Available", value, reason, message, self.now);
    }

    fn judge_progress(
        &self,
        conditions: &mut Vec<Value>,
        before: &Value,
        status: &Value,
        sets: &Sets,
    ) -> Option<Timestamp> {
        let deadline = self.deployment["spec"]["progressDeadlineSeconds"].as_i64()?;
        let current = conditions.iter().find(|it| it["type"] == "Progressing").cloned();
        let reason = current.as_ref().and_then(|it| it["reason"].as_str()).unwrap_or_default();
        let all_updated = number(status, "/replicas") == number(status, "/updatedReplicas");
        if self.is_paused() || (all_updated && reason == "NewReplicaSetAvailable") {
            return None;
        }
        let what = match &sets.new {
            Some(set) => format!("ReplicaSet {:?}", text(set, "name")),
            None => format!("Deployment {:?}", self.name()),
        };
        if complete(&self.deployment, status) {
            let message = format!("{what} has successfully progressed.");
            let reason = "NewReplicaSetAvailable";
            set_condition(conditions, "Progressing", "True", reason, &message, self.now);
            return None;
        }
        if moved(before, status) {
            let message = format!("{what} is progressing.");
            let started = current.filter(|it| it["status"] == "True");
            conditions.retain(|it| it["type"] != "Progressing");
            set_condition(
                conditions,
                "Progressing",
                "True",
                "ReplicaSetUpdated",
                &message,
                self.now,
            );
            // Each step counts anew towards the deadline, but it is still the same rollout.
            if let (Some(started), Some(last)) = (started, conditions.last_mut()) {
                last["lastTransitionTime"] = started["lastTransitionTime"].clone();
            }
            return Some(self.now + SignedDuration::from_secs(deadline));
        }
        let since: Timestamp = current.as_ref()?["lastUpdateTime"].as_str()?.parse().ok()?;
        let end = since + SignedDuration::from_secs(deadline);
        if end > self.now {
            return Some(end);
        }
        let message = format!("{what} has timed out progressing.");
        let reason = "ProgressDeadlineExceeded";
        set_condition(conditions, "Progressing", "False", reason, &message, self.now);
        None
    }
}

fn conditions_of(status: &Value) -> Vec<Value> {
    status["conditions"].as_array().cloned().unwrap_or_default()
}

fn complete(deployment: &Value, status: &Value) -> bool {
    let wanted = number(deployment, "/spec/replicas");
    number(status, "/updatedReplicas") == wanted
        && number(status, "/replicas") == wanted
        && number(status, "/availableReplicas") == wanted
        && number(status, "/observedGeneration") >= number(deployment, "/metadata/generation")
}

/// Whether there is more of the new or less of the old than before.
fn moved(before: &Value, after: &Value) -> bool {
    let rose = |pointer| number(after, pointer) > number(before, pointer);
    let old = |status| number(status, "/replicas") - number(status, "/updatedReplicas");
    rose("/updatedReplicas")
        || old(after) < old(before)
        || rose("/readyReplicas")
        || rose("/availableReplicas")
}

/// Sets a condition; the same status and reason again change nothing, a changed one goes last.
fn set_condition(
    conditions: &mut Vec<Value>,
    kind: &str,
    status: &str,
    reason: &str,
    message: &str,
    now: Timestamp,
) {
    let now = now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    let mut since = now.clone();
    if let Some(current) = conditions.iter().find(|it| it["type"] == kind)
        && current["status"] == status
    {
        if current["reason"] == reason {
            return;
        }
        current["lastTransitionTime"].as_str().unwrap_or(&now).clone_into(&mut since);
    }
    conditions.retain(|it| it["type"] != kind);
    conditions.push(json!({"type": kind, "status": status, "lastUpdateTime": now,
        "lastTransitionTime": since, "reason": reason, "message": message}));
}
