//! `pods/log`: there are no containers, so there is little to say.

use serde_json::Value;

use super::respond::{self, Answer};
use crate::status::Status;
use crate::store::text;

/// Why nothing can be read from, or sent to, a container.
pub(super) const HOLLOW: &str = "the nodes of a lab cluster are hollow: containers do not run";

/// The log of a container, or why there is none.
///
/// # Errors
/// 400 when the pod has no such container, or has several and none was named.
pub(super) fn of(pod: &Value, container: &str) -> Result<Answer, Status> {
    let name = text(pod, "name");
    let mut names = Vec::new();
    for list in ["containers", "initContainers"] {
        let containers = pod["spec"][list].as_array().into_iter().flatten();
        names.extend(containers.filter_map(|it| it["name"].as_str()));
    }
    if !container.is_empty() && !names.contains(&container) {
        return Err(Status::bad_request(format!(
            "container {container} is not valid for pod {name}"
        )));
    }
    if container.is_empty() && names.len() > 1 {
        return Err(Status::bad_request(format!(
            "a container name must be specified for pod {name}, choose one of: {names:?}"
        )));
    }
    if pod["spec"]["nodeName"].as_str().is_none_or(str::is_empty) {
        return Ok(respond::text(204, ""));
    }
    Ok(respond::text(200, format!("{HOLLOW}\n")))
}
