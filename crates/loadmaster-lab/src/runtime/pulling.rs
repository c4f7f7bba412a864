//! Getting a container's image, again and again until it is there.

use std::sync::Arc;
use std::time::Duration;

use super::board::State;
use super::container::{Deadline, pause};
use super::images::{Image, Pulled};
use super::pod::Pod;
use super::reference::Reference;
use super::source::PullError;
use crate::controllers::Severity;

/// Waits until the image of the container at `index` is there; `None` when the container is to end.
pub(super) async fn pull(pod: &Pod, index: usize, deadline: &mut Deadline) -> Option<Arc<Image>> {
    let mut wait = pod.backoff();
    loop {
        if deadline.borrow().is_some() {
            return None;
        }
        let spec = pod.spec(index);
        let name = spec["image"].as_str().unwrap_or_default().to_owned();
        pod.update(index, |line| line.image.clone_from(&name));
        let (reason, why) = match attempt(pod, &name, spec["imagePullPolicy"].as_str()).await {
            Ok(image) => return Some(image),
            Err(refusal) => refusal,
        };
        pod.record(Severity::Warning, "Failed", &format!("Error: {reason}"));
        pod.update(index, |line| {
            line.state = State::Waiting { reason, message: why.clone() };
        });
        if reason != "ErrImagePull" {
            if pause(wait, deadline).await {
                return None;
            }
            continue;
        }
        // The kubelet shows the error for a moment, then that it waits.
        if pause(SHOWN.min(wait), deadline).await {
            return None;
        }
        let message = format!("Back-off pulling image {name:?}");
        pod.record(Severity::Normal, "BackOff", &message);
        pod.record(Severity::Warning, "Failed", "Error: ImagePullBackOff");
        pod.update(index, |line| {
            let message = format!("{message}: {reason}: {why}");
            line.state = State::Waiting { reason: "ImagePullBackOff", message };
        });
        if pause(wait.saturating_sub(SHOWN), deadline).await {
            return None;
        }
        wait = (wait * 2).min(WAIT_MAX);
    }
}

/// The longest wait between two pulls.
const WAIT_MAX: Duration = Duration::from_mins(5);
/// How long a pull's error is shown before the wait is.
const SHOWN: Duration = Duration::from_secs(1);

/// One attempt; a refusal has a reason and a message.
async fn attempt(
    pod: &Pod,
    name: &str,
    policy: Option<&str>,
) -> Result<Arc<Image>, (&'static str, String)> {
    let images = pod.images();
    let reference = Reference::parse(name).map_err(|why| {
        let message = format!("Failed to apply default image tag {name:?}: {why}");
        pod.record(Severity::Warning, "InspectFailed", &message);
        ("InvalidImageName", message)
    })?;
    let present = match policy {
        Some("Always") => None,
        _ => images.present(&reference).await,
    };
    if let Some(image) = present {
        let message = format!(
            "Container image {name:?} already present on machine and can be accessed by the pod"
        );
        pod.record(Severity::Normal, "Pulled", &message);
        return Ok(image);
    }
    if policy == Some("Never") {
        let message = format!("Container image {name:?} is not present with pull policy of Never");
        pod.record(Severity::Warning, "ErrImageNeverPull", &message);
        return Err(("ErrImageNeverPull", message));
    }
    pod.record(Severity::Normal, "Pulling", &format!("Pulling image {name:?}"));
    match images.pull(&reference).await {
        Ok(Pulled { image, took, waited }) => {
            let message = format!(
                "Successfully pulled image {name:?} in {} ({} including waiting). Image size: {} \
                 bytes.",
                go_duration(took),
                go_duration(waited),
                image.size
            );
            pod.record(Severity::Normal, "Pulled", &message);
            Ok(image)
        }
        Err(error) => {
            let message = in_runtimes_words(&reference, &error);
            let event = format!("Failed to pull image {name:?}: {message}");
            pod.record(Severity::Warning, "Failed", &event);
            Err(("ErrImagePull", message))
        }
    }
}

/// A failed pull as containerd tells the kubelet of it.
fn in_runtimes_words(reference: &Reference, error: &PullError) -> String {
    let code = if matches!(error, PullError::NotFound(_)) { "NotFound" } else { "Unknown" };
    let what = match error {
        PullError::NotFound(_) | PullError::Request { .. } | PullError::Status { .. } => {
            format!("failed to resolve reference \"{reference}\": {error}")
        }
        _ => error.to_string(),
    };
    format!(
        "rpc error: code = {code} desc = failed to pull and unpack image \"{reference}\": {what}"
    )
}

/// A time as Go prints it when it is cut to milliseconds.
fn go_duration(time: Duration) -> String {
    let millis = time.as_millis();
    if millis < 1000 {
        return format!("{millis}ms");
    }
    let seconds = format!("{}.{:03}", millis / 1000, millis % 1000);
    format!("{}s", seconds.trim_end_matches('0').trim_end_matches('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_look_like_gos() {
        let shown = |millis| go_duration(Duration::from_millis(millis));
        assert_eq!(
            [shown(7), shown(1000), shown(1250), shown(61_005)],
            ["7ms", "1s", "1.25s", "61.005s"]
        );
    }
}
