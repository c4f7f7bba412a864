//! Defaults of the kinds that make pods.

use serde_json::{Map, Value, json};

use super::fill::{existing, fill, fill_text, items_in, object_in};
use super::pod::default_pod_spec;

type Object = Map<String, Value>;

fn default_template(spec: &mut Object) {
    let Some(template) = object_in(spec, "template") else { return };
    fill(template, "metadata", json!({}));
    if let Some(spec) = object_in(template, "spec") {
        default_pod_spec(spec);
    }
}

pub(super) fn deployment(object: &mut Object) {
    let Some(spec) = object_in(object, "spec") else { return };
    fill(spec, "replicas", 1);
    fill(spec, "revisionHistoryLimit", 10);
    fill(spec, "progressDeadlineSeconds", 600);
    if let Some(strategy) = object_in(spec, "strategy") {
        fill_text(strategy, "type", "RollingUpdate");
        if strategy["type"] == "RollingUpdate"
            && let Some(rolling) = object_in(strategy, "rollingUpdate")
        {
            fill(rolling, "maxUnavailable", "25%");
            fill(rolling, "maxSurge", "25%");
        }
    }
    default_template(spec);
}

pub(super) fn replica_set(object: &mut Object) {
    let Some(spec) = object_in(object, "spec") else { return };
    fill(spec, "replicas", 1);
    default_template(spec);
}

pub(super) fn replication_controller(object: &mut Object) {
    let labels = object
        .get("spec")
        .and_then(|it| it.pointer("/template/metadata/labels"))
        .cloned()
        .unwrap_or_default();
    if labels.is_object() {
        if let Some(metadata) = object_in(object, "metadata") {
            fill(metadata, "labels", labels.clone());
        }
        if let Some(spec) = existing(object, "spec") {
            fill(spec, "selector", labels);
        }
    }
    replica_set(object);
}

pub(super) fn stateful_set(object: &mut Object) {
    let Some(spec) = object_in(object, "spec") else { return };
    fill(spec, "replicas", 1);
    fill(spec, "revisionHistoryLimit", 10);
    fill_text(spec, "podManagementPolicy", "OrderedReady");
    if let Some(strategy) = object_in(spec, "updateStrategy") {
        fill_text(strategy, "type", "RollingUpdate");
        if strategy["type"] == "RollingUpdate"
            && let Some(rolling) = object_in(strategy, "rollingUpdate")
        {
            fill(rolling, "partition", 0);
        }
    }
    if let Some(policy) = object_in(spec, "persistentVolumeClaimRetentionPolicy") {
        fill_text(policy, "whenDeleted", "Retain");
        fill_text(policy, "whenScaled", "Retain");
    }
    for claim in items_in(spec, "volumeClaimTemplates") {
        if let Some(spec) = object_in(claim, "spec") {
            fill_text(spec, "volumeMode", "Filesystem");
        }
    }
    default_template(spec);
}

pub(super) fn daemon_set(object: &mut Object) {
    if let Some(metadata) = object_in(object, "metadata")
        && let Some(annotations) = object_in(metadata, "annotations")
    {
        fill(annotations, "deprecated.daemonset.template.generation", "1");
    }
    let Some(spec) = object_in(object, "spec") else { return };
    fill(spec, "revisionHistoryLimit", 10);
    if let Some(strategy) = object_in(spec, "updateStrategy") {
        fill_text(strategy, "type", "RollingUpdate");
        if strategy["type"] == "RollingUpdate"
            && let Some(rolling) = object_in(strategy, "rollingUpdate")
        {
            fill(rolling, "maxUnavailable", 1);
            fill(rolling, "maxSurge", 0);
        }
    }
    default_template(spec);
}

pub(super) fn job(object: &mut Object) {
    let Some(spec) = object_in(object, "spec") else { return };
    // Without both numbers the job runs one pod; with parallelism alone it is a work queue.
    if !spec.contains_key("completions") && !spec.contains_key("parallelism") {
        fill(spec, "completions", 1);
    }
    fill(spec, "parallelism", 1);
    fill(spec, "backoffLimit", 6);
    fill_text(spec, "completionMode", "NonIndexed");
    fill(spec, "suspend", false);
    fill(spec, "manualSelector", false);
    let replacement =
        if spec.contains_key("podFailurePolicy") { "Failed" } else { "TerminatingOrFailed" };
    fill(spec, "podReplacementPolicy", replacement);
    default_template(spec);
}

pub(super) fn cron_job(object: &mut Object) {
    let Some(spec) = object_in(object, "spec") else { return };
    fill_text(spec, "concurrencyPolicy", "Allow");
    fill(spec, "suspend", false);
    fill(spec, "successfulJobsHistoryLimit", 3);
    fill(spec, "failedJobsHistoryLimit", 1);
    let Some(template) = object_in(spec, "jobTemplate") else { return };
    fill(template, "metadata", json!({}));
    if let Some(spec) = object_in(template, "spec") {
        default_template(spec);
    }
}
