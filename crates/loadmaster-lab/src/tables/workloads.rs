//! The kinds that make pods, and budgets for them.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::age::{human_duration, parse, since, whole_seconds};
use super::text::{containers, labels, list, number, selector, shown, text};

const TEMPLATE: &str = "/spec/template/spec/containers";

pub(super) fn deployment(object: &Value, age: &str) -> Vec<Value> {
    let (names, images) = containers(object, TEMPLATE);
    vec![
        format!("{}/{}", number(object, "/status/readyReplicas"), number(object, "/spec/replicas"))
            .into(),
        number(object, "/status/updatedReplicas").into(),
        number(object, "/status/availableReplicas").into(),
        age.into(),
        names.into(),
        images.into(),
        selector(&object["spec"]["selector"]).into(),
    ]
}

pub(super) fn replica_set(object: &Value, age: &str) -> Vec<Value> {
    let (names, images) = containers(object, TEMPLATE);
    let selector = if object["kind"] == "ReplicationController" {
        labels(object["spec"]["selector"].as_object())
    } else {
        selector(&object["spec"]["selector"])
    };
    vec![
        number(object, "/spec/replicas").into(),
        number(object, "/status/replicas").into(),
        number(object, "/status/readyReplicas").into(),
        age.into(),
        names.into(),
        images.into(),
        selector.into(),
    ]
}

pub(super) fn stateful_set(object: &Value, age: &str) -> Vec<Value> {
    let (names, images) = containers(object, TEMPLATE);
    let ready =
        format!("{}/{}", number(object, "/status/readyReplicas"), number(object, "/spec/replicas"));
    vec![ready.into(), age.into(), names.into(), images.into()]
}

pub(super) fn daemon_set(object: &Value, age: &str) -> Vec<Value> {
    let (names, images) = containers(object, TEMPLATE);
    let status = |name: &str| Value::from(number(object, &format!("/status/{name}")));
    vec![
        status("desiredNumberScheduled"),
        status("currentNumberScheduled"),
        status("numberReady"),
        status("updatedNumberScheduled"),
        status("numberAvailable"),
        labels(object["spec"]["template"]["spec"]["nodeSelector"].as_object()).into(),
        age.into(),
        names.into(),
        images.into(),
        selector(&object["spec"]["selector"]).into(),
    ]
}

pub(super) fn job(object: &Value, age: &str, now: Timestamp) -> Vec<Value> {
    let (names, images) = containers(object, TEMPLATE);
    let succeeded = number(object, "/status/succeeded");
    let parallelism = number(object, "/spec/parallelism");
    let completions = match object["spec"]["completions"].as_i64() {
        Some(wanted) => format!("{succeeded}/{wanted}"),
        None if parallelism > 1 => format!("{succeeded}/1 of {parallelism}"),
        None => format!("{succeeded}/1"),
    };
    let duration = parse(&object["status"]["startTime"]).map(|start| {
        let end = parse(&object["status"]["completionTime"]).unwrap_or(now);
        human_duration(whole_seconds(start, end))
    });
    let is = |kind: &str| {
        list(object, "/status/conditions")
            .iter()
            .any(|it| text(it, "/type") == kind && text(it, "/status") == "True")
    };
    let status = if is("Complete") {
        "Complete"
    } else if is("Failed") {
        "Failed"
    } else if !object["metadata"]["deletionTimestamp"].is_null() {
        "Terminating"
    } else if is("Suspended") {
        "Suspended"
    } else if is("FailureTarget") {
        "FailureTarget"
    } else if is("SuccessCriteriaMet") {
        "SuccessCriteriaMet"
    } else {
        "Running"
    };
    vec![
        status.into(),
        completions.into(),
        duration.unwrap_or_default().into(),
        age.into(),
        names.into(),
        images.into(),
        selector(&object["spec"]["selector"]).into(),
    ]
}

pub(super) fn cron_job(object: &Value, age: &str, now: Timestamp) -> Vec<Value> {
    let (names, images) = containers(object, "/spec/jobTemplate/spec/template/spec/containers");
    let last = &object["status"]["lastScheduleTime"];
    vec![
        text(object, "/spec/schedule").into(),
        object["spec"]["timeZone"].as_str().unwrap_or("<none>").into(),
        (object["spec"]["suspend"] == true).into(),
        list(object, "/status/active").len().into(),
        if last.is_null() { json!("<none>") } else { since(last, now).into() },
        age.into(),
        names.into(),
        images.into(),
        selector(&object["spec"]["jobTemplate"]["spec"]["selector"]).into(),
    ]
}

pub(super) fn budget(object: &Value, age: &str) -> Vec<Value> {
    let bound = |name: &str| shown(&object["spec"][name]).unwrap_or_else(|| "N/A".to_owned());
    vec![
        bound("minAvailable").into(),
        bound("maxUnavailable").into(),
        number(object, "/status/disruptionsAllowed").into(),
        age.into(),
    ]
}
