//! `pods/log`: what a container has printed, if it really runs.

use std::convert::Infallible;

use axum::body::Body;
use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use super::query::Query;
use super::respond::{self, Answer};
use crate::api::Api;
use crate::runtime::{LogOptions, LogReader};
use crate::status::{FieldError, Status};
use crate::store::text;
use crate::values::list;

/// Why nothing can be read from, or sent to, a container.
pub(super) const HOLLOW: &str = "the nodes of a lab cluster are hollow: containers do not run";

/// The log of a container, or why there is none.
///
/// # Errors
/// 400 when the pod has no such container, has several and none was named, or has not started it;
/// 422 for options that make no sense.
pub(super) fn of(api: &Api, pod: &Value, query: &Query) -> Result<Answer, Status> {
    let options = options(query, api.store().now())?;
    let container = container(pod, query.get("container"))?;
    let name = text(pod, "name");
    if pod["spec"]["nodeName"].as_str().is_none_or(str::is_empty) {
        return Ok(respond::text(204, ""));
    }
    let previous = query.flag("previous") == Some(true);
    if let Some(log) = api.logs().find(text(pod, "uid"), container, previous) {
        let reader = LogReader::new(log, options);
        let chunks = futures::stream::unfold(reader, async |mut reader| {
            let chunk = reader.next().await?;
            Some((Ok::<_, Infallible>(chunk), reader))
        });
        let body = Body::from_stream(Box::pin(chunks));
        return Ok(respond::stream(200, "text/plain", body));
    }
    if previous {
        return Err(Status::bad_request(format!(
            "previous terminated container {container:?} in pod {name:?} not found"
        )));
    }
    let statuses = list(pod, "/status/containerStatuses")
        .iter()
        .chain(list(pod, "/status/initContainerStatuses"));
    let status = statuses.into_iter().find(|it| it["name"] == container);
    if let Some(reason) = status.and_then(|it| it["state"]["waiting"]["reason"].as_str()) {
        return Err(Status::bad_request(format!(
            "container {container:?} in pod {name:?} is waiting to start: {reason}"
        )));
    }
    Ok(respond::text(200, format!("{HOLLOW}\n")))
}

/// The container that is meant.
fn container<'a>(pod: &'a Value, asked: &str) -> Result<&'a str, Status> {
    let name = text(pod, "name");
    let containers = list(pod, "/spec/containers").iter().chain(list(pod, "/spec/initContainers"));
    let names: Vec<&str> = containers.filter_map(|it| it["name"].as_str()).collect();
    if let Some(found) = names.iter().find(|it| **it == asked) {
        return Ok(found);
    }
    if !asked.is_empty() {
        let message = format!("container {asked} is not valid for pod {name}");
        return Err(Status::bad_request(message));
    }
    match names.as_slice() {
        [only] => Ok(only),
        _ => Err(Status::bad_request(format!(
            "a container name must be specified for pod {name}, choose one of: {names:?}"
        ))),
    }
}

fn options(query: &Query, now: Timestamp) -> Result<LogOptions, Status> {
    let mut errors = Vec::new();
    let mut count = |parameter: &str, least: i64| {
        let number = query.number(parameter)?;
        if number < least {
            let detail = format!("must be greater than or equal to {least}");
            errors.push(FieldError::invalid(parameter, &number.into(), &detail));
        }
        u64::try_from(number).ok()
    };
    let (tail, limit_bytes) = (count("tailLines", 0), count("limitBytes", 1));
    let seconds = count("sinceSeconds", 1).and_then(|it| i64::try_from(it).ok());
    let since = match seconds {
        Some(seconds) => now.checked_sub(SignedDuration::from_secs(seconds)).ok(),
        None => query.get("sinceTime").parse().ok(),
    };
    if !errors.is_empty() {
        return Err(Status::invalid_kind("", "PodLogOptions", "", &errors));
    }
    let on = |parameter: &str| query.flag(parameter) == Some(true);
    Ok(LogOptions { follow: on("follow"), tail, since, timestamps: on("timestamps"), limit_bytes })
}
