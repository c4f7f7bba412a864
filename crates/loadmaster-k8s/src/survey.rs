//! What a cluster looks like to somebody who wonders why pods wait: pods without a node, and who
//! has been at work.

use jiff::Timestamp;
use loadmaster_framework::api::Pod;

use crate::{
    kind::resource_path,
    reported::{items, reported},
    rest::{CallError, Rest, encoded},
};

/// Pods that have no node and are not about to go, of one namespace or of all, in the server's
/// order.
///
/// # Errors
/// [`CallError`] where they may not be listed or the server does not answer.
pub async fn waiting_pods(rest: &Rest, namespace: Option<&str>) -> Result<Vec<Pod>, CallError> {
    let all = resource_path("v1", "pods", namespace.unwrap_or_default());
    let selector = encoded("spec.nodeName=,status.phase=Pending");
    let mut pods: Vec<Pod> = items(rest, &all, &selector, usize::MAX).await?;
    pods.retain(|it| !it.is_terminating());
    Ok(pods)
}

/// What somebody said about an object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Said {
    /// When; the last time, where it was said again.
    pub at: Option<Timestamp>,
    /// One word of why.
    pub reason: String,
    /// A sentence.
    pub message: String,
}

/// The last that the scheduler of this name said about any pod, as far as events are remembered,
/// which is an hour by default; `None` where it has said nothing.
///
/// # Errors
/// [`CallError`] where events may not be listed or the server does not answer.
pub async fn last_words_of(rest: &Rest, scheduler: &str) -> Result<Option<Said>, CallError> {
    last(rest, "", &format!("reportingComponent={scheduler}")).await
}

/// The last that anybody said about the pod.
///
/// # Errors
/// [`CallError`] where events may not be listed or the server does not answer.
pub async fn last_words_about(rest: &Rest, pod: &Pod) -> Result<Option<Said>, CallError> {
    last(rest, pod.namespace(), &format!("involvedObject.uid={}", pod.uid())).await
}

async fn last(rest: &Rest, namespace: &str, selector: &str) -> Result<Option<Said>, CallError> {
    let events = reported(rest, namespace, selector).await?;
    let last = events.into_iter().max_by_key(|it| it.at);
    Ok(last.map(|it| Said { at: it.at, reason: it.reason, message: it.message }))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::test_server::{Reply, TestServer};

    #[tokio::test]
    async fn waiting_pods_are_read_page_by_page_without_those_that_go() {
        let pod = |name: &str| json!({"metadata": {"name": name}});
        let going = json!({"metadata": {
            "name": "going", "deletionTimestamp": "2026-01-01T00:00:00Z"}});
        let mut server = TestServer::start(vec![
            Reply::Json(200, json!({"metadata": {"continue": "a="}, "items": [pod("a"), going]})),
            Reply::Json(200, json!({"metadata": {}, "items": [pod("b")]})),
        ])
        .await;
        let pods = waiting_pods(&server.rest(), Some("web")).await.unwrap();
        assert_eq!(pods.iter().map(|it| &**it.name()).collect::<Vec<_>>(), ["a", "b"]);
        let first = server.asked().await.line;
        assert!(first.starts_with("GET /api/v1/namespaces/web/pods?limit=500"), "{first}");
        assert!(server.asked().await.line.ends_with("&continue=a%3D"));
    }

    #[tokio::test]
    async fn the_last_words_are_those_said_last_repetitions_included() {
        let items = json!([
            {"reason": "A", "message": "new", "eventTime": "2026-01-01T00:00:05Z"},
            {"reason": "B", "message": "again", "eventTime": "2026-01-01T00:00:01Z",
             "series": {"lastObservedTime": "2026-01-01T00:00:09Z"}},
            {"reason": "C", "message": "legacy", "lastTimestamp": "2026-01-01T00:00:07Z"},
        ]);
        let mut server = TestServer::start(vec![Reply::Json(200, json!({"items": items}))]).await;
        let said = last_words_of(&server.rest(), "mine").await.unwrap().unwrap();
        assert_eq!(said.message, "again");
        let asked = server.asked().await.line;
        assert!(asked.ends_with("fieldSelector=reportingComponent%3Dmine"), "{asked}");
    }

    #[tokio::test]
    async fn a_scheduler_that_has_said_nothing_has_no_last_words() {
        let server = TestServer::start(vec![Reply::Json(200, json!({"items": []}))]).await;
        assert_eq!(last_words_of(&server.rest(), "mine").await, Ok(None));
    }
}
