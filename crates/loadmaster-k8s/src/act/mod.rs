//! Does in the cluster what the core asks for, and says what came of it.
//!
//! Every call ends in time, and no more than a set number run at once. A binding carries the pod's
//! uid, a deletion has it as precondition, so that a successor under the same name is left alone.
//! Whether the server did what it never answered is not guessed: [`ActionError::Unknown`].

mod actions;
mod status_patch;

pub use actions::{Actions, CustomAction};

use std::{sync::Arc, time::Duration};

use http::Method;
use loadmaster_core::scheduler::{ConditionPatch, Work, WorkResult};
use loadmaster_framework::{
    Action, ActionError, ActionResult, Object, PatchKind, PodInfo,
    api::{ObjectKey, Pod, Text},
};
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use crate::{
    events::Recorder,
    kind::resource_path,
    rest::{CallError, JSON, MERGE, Rest, STRATEGIC},
};

/// Does the core's work. Clones share the bound on what runs at once.
#[derive(Clone, Debug)]
pub struct Actor {
    rest: Rest,
    recorder: Recorder,
    actions: Arc<Actions>,
    slots: Arc<Semaphore>,
}

/// How many calls run at once.
const CALLS_MAX: usize = 64;
/// How long one call may take.
pub const CALL_LIMIT: Duration = Duration::from_secs(30);

impl Actor {
    /// An actor that calls by `rest` and records by `recorder`.
    pub fn new(rest: Rest, recorder: Recorder) -> Self {
        let slots = Arc::new(Semaphore::new(CALLS_MAX));
        Self { rest, recorder, actions: Arc::default(), slots }
    }

    /// The same actor, which also knows `actions`. They run while this scheduler leads.
    #[must_use]
    pub fn with_actions(self, actions: Actions) -> Self {
        Self { actions: Arc::new(actions), ..self }
    }

    /// Does one piece of work; `None` for work that is not answered.
    pub async fn act(&self, work: Work) -> Option<WorkResult> {
        if let Work::Record(record) = work {
            self.recorder.record(record);
            return None;
        }
        let _slot = self.slots.acquire().await.ok()?;
        Some(match work {
            Work::Do(action) => WorkResult::Done(self.run(action).await),
            Work::PatchPodStatus { pod, condition, nominated_node_name } => {
                let nominated = nominated_node_name.as_deref();
                WorkResult::Done(self.patch_status(&pod, condition.as_ref(), nominated).await)
            }
            Work::DeletePod { pod } => {
                WorkResult::Done(self.delete("v1", "pods", &pod.key(), pod.uid()).await)
            }
            Work::ReadPod { key, .. } => WorkResult::Pod(self.read_pod(&key).await),
            other => WorkResult::Done(Err(ActionError::Refused(format!(
                "this process cannot do that: {other:?}"
            )))),
        })
    }

    async fn run(&self, action: Action) -> ActionResult {
        match action {
            Action::Bind { pod, uid, node } => self.bind(&pod, &uid, &node).await,
            Action::Patch { api_version, resource, key, subresource, kind, patch } => {
                let mut path = object_path(&api_version, &resource, &key);
                if !subresource.is_empty() {
                    path = format!("{path}/{subresource}");
                }
                let content_type = match kind {
                    PatchKind::Strategic => STRATEGIC,
                    PatchKind::Merge => MERGE,
                };
                self.call(Method::PATCH, &path, content_type, &patch).await
            }
            Action::Delete { api_version, resource, key, uid } => {
                self.delete(&api_version, &resource, &key, &uid).await
            }
            Action::Custom { name, input } => {
                let run = self.rest.while_leading(self.actions.run(&name, input));
                run.await.map_err(action_error)?
            }
            other => Err(ActionError::Refused(format!("this process cannot do that: {other:?}"))),
        }
    }

    async fn bind(&self, pod: &ObjectKey, uid: &Text, node: &Text) -> ActionResult {
        let binding = json!({
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {"name": pod.name, "namespace": pod.namespace, "uid": uid},
            "target": {"kind": "Node", "name": node},
        });
        let path = format!("{}/binding", object_path("v1", "pods", pod));
        self.call(Method::POST, &path, JSON, &binding).await
    }

    async fn patch_status(
        &self,
        pod: &PodInfo,
        condition: Option<&ConditionPatch>,
        nominated: Option<&str>,
    ) -> ActionResult {
        let now = jiff::Timestamp::now();
        let patch = status_patch::status_patch(pod, condition, nominated, now);
        let path = format!("{}/status", object_path("v1", "pods", &pod.key()));
        self.call(Method::PATCH, &path, STRATEGIC, &patch).await
    }

    async fn delete(
        &self,
        api_version: &str,
        resource: &str,
        key: &ObjectKey,
        uid: &str,
    ) -> ActionResult {
        let options = json!({
            "apiVersion": "v1",
            "kind": "DeleteOptions",
            "preconditions": {"uid": uid},
        });
        self.call(Method::DELETE, &object_path(api_version, resource, key), JSON, &options).await
    }

    /// A read without a resource version: the latest state, which no cache answers.
    async fn read_pod(&self, key: &ObjectKey) -> Result<Option<Object>, String> {
        match self.rest.get::<Pod>(&object_path("v1", "pods", key)).await {
            Ok(pod) => Ok(Some(pod.into())),
            Err(error) if error.code() == Some(404) => Ok(None),
            Err(error) => {
                tracing::warn!(pod = %key, %error, "cannot find out whether the pod is bound");
                Err(error.to_string())
            }
        }
    }

    async fn call(
        &self,
        method: Method,
        path: &str,
        content_type: &'static str,
        body: &Value,
    ) -> ActionResult {
        let answer = self.rest.call(method, path, content_type, Some(body)).await;
        let answer = answer.map_err(action_error)?;
        // What was done is done, whatever the answer looks like.
        Ok(serde_json::from_slice(&answer).unwrap_or(Value::Null))
    }
}

fn object_path(api_version: &str, resource: &str, key: &ObjectKey) -> String {
    format!("{}/{}", resource_path(api_version, resource, &key.namespace), key.name)
}

/// What a failed call means: after a fault of the server or the connection nobody knows whether it
/// was done.
fn action_error(error: CallError) -> ActionError {
    match error {
        CallError::Answer { code: 404, message, .. } => ActionError::NotFound(message),
        CallError::Answer { code: 409, message, .. } => ActionError::Conflict(message),
        CallError::Answer { code: 408 | 500.., .. } => ActionError::Unknown(error.to_string()),
        CallError::Answer { message, .. } => ActionError::Refused(message),
        other => ActionError::Unknown(other.to_string()),
    }
}

#[cfg(test)]
mod tests;
