//! Actions of a program's own.

use std::{collections::BTreeMap, fmt, panic::AssertUnwindSafe, sync::Arc};

use futures::{FutureExt, future::BoxFuture};
use loadmaster_core::profile::panic_message;
use loadmaster_framework::{ActionError, ActionResult};
use serde_json::Value;
use tokio::time::timeout;

use super::CALL_LIMIT;

/// Begins an action on what a plugin gives it.
pub type CustomAction = Arc<dyn Fn(Value) -> BoxFuture<'static, ActionResult> + Send + Sync>;

/// The actions that a program has registered for its plugins, by name.
#[derive(Clone, Default)]
pub struct Actions(BTreeMap<String, CustomAction>);

impl fmt::Debug for Actions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

impl Actions {
    /// Registers an action. Returns whether the name was free.
    pub fn insert(&mut self, name: String, action: CustomAction) -> bool {
        self.0.insert(name, action).is_none()
    }

    /// Runs an action to its end, but not for longer than any call may take. What one has done that
    /// panicked or was cut off is unknown.
    pub(super) async fn run(&self, name: &str, input: Value) -> ActionResult {
        let Some(action) = self.0.get(name) else {
            return Err(ActionError::Refused(format!(
                "this scheduler has no action named {name:?}; register it where it is built, with \
                 SchedulerCommand::with_action({name:?}, …)"
            )));
        };
        let run = AssertUnwindSafe(async { action(input).await }).catch_unwind();
        match timeout(CALL_LIMIT, run).await {
            Ok(Ok(result)) => result,
            Ok(Err(panic)) => {
                let said = panic_message(&*panic);
                tracing::error!(action = name, said, "action panicked");
                Err(ActionError::Unknown(format!("action {name:?} panicked: {said}")))
            }
            Err(_) => Err(ActionError::Unknown(format!(
                "action {name:?} has not ended within {} s",
                CALL_LIMIT.as_secs()
            ))),
        }
    }
}
