//! The guard around every call into a plugin.

use std::{
    any::Any,
    panic::{AssertUnwindSafe, catch_unwind},
};

use loadmaster_framework::{
    Binding, Candidates, Code, Interest, Outcome, Permission, PluginError, PostFilterResult,
    PreBindStep, PreFlight, QueueingHint,
};

use super::At;
use crate::meter::{CallPoint, PluginCall, Watch};

// Tests are always built to unwind, whatever the profile says: this holds for what is shipped.
#[cfg(not(panic = "unwind"))]
compile_error!("a plugin's panic is caught: set panic = \"unwind\" in the profile that is built");

impl<H: ?Sized> At<H> {
    /// Makes a call of this plugin (about `node`, where it is about one). A panic becomes an error
    /// that names them all, and so does an answer that comes too late.
    pub(super) fn call<T: Answer>(
        &self,
        watch: &Watch,
        point: CallPoint,
        node: Option<&str>,
        call: impl FnOnce() -> T,
    ) -> Result<T, PluginError> {
        guarded(watch, self.plugin, PluginCall { plugin: self.name, point, node }, call)
    }
}

/// Runs `call` of the plugin at position `at` of the profile.
///
/// The plugin's own values may be half changed after a panic; they hold configuration only, and the
/// cycle's state dies with the cycle, so nothing that lives on has seen the half.
pub(super) fn guarded<T: Answer>(
    watch: &Watch,
    at: usize,
    call: PluginCall<'_>,
    run: impl FnOnce() -> T,
) -> Result<T, PluginError> {
    let caught = || {
        catch_unwind(AssertUnwindSafe(run)).map_err(|payload| {
            let message = panic_message(&*payload).to_owned();
            let PluginCall { plugin, point, node } = call;
            let (point, node) = (point.as_str(), node.map(str::to_owned));
            let at = node.as_deref().unwrap_or_default();
            tracing::error!(plugin, point, node = at, message, "plugin panicked");
            PluginError::Panic { plugin, point, node, message }
        })
    };
    watch.call(at, call, caught, |it| it.as_ref().map_or(Code::Error, Answer::code))
}

/// What a panic that was caught says, where it says anything.
pub fn panic_message(payload: &(dyn Any + Send)) -> &str {
    let said = payload.downcast_ref::<&str>().copied();
    said.or_else(|| payload.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message")
}

/// What a plugin says, as one of upstream's codes.
pub(super) trait Answer {
    fn code(&self) -> Code;
}

/// An answer that is a success, and perhaps says more.
pub(super) trait Granted {
    fn code(&self) -> Code {
        Code::Success
    }
}

impl<T: Granted> Answer for Outcome<T> {
    fn code(&self) -> Code {
        match self {
            Ok(granted) => granted.code(),
            Err(status) => status.code(),
        }
    }
}

impl Granted for () {}
impl Granted for i64 {}

impl Granted for Candidates {
    fn code(&self) -> Code {
        if matches!(self, Self::Skip) { Code::Skip } else { Code::Success }
    }
}

impl Granted for Interest {
    fn code(&self) -> Code {
        if matches!(self, Self::Skip) { Code::Skip } else { Code::Success }
    }
}

impl Granted for Permission {
    fn code(&self) -> Code {
        if matches!(self, Self::Wait(_)) { Code::Wait } else { Code::Success }
    }
}

impl Granted for PreFlight {
    fn code(&self) -> Code {
        if matches!(self, Self::Skip) { Code::Skip } else { Code::Success }
    }
}

impl Granted for Binding {
    fn code(&self) -> Code {
        if matches!(self, Self::Skip) { Code::Skip } else { Code::Success }
    }
}

/// A point that answers nothing.
impl Answer for () {
    fn code(&self) -> Code {
        Code::Success
    }
}

/// A comparison.
impl Answer for bool {
    fn code(&self) -> Code {
        Code::Success
    }
}

impl Answer for PostFilterResult {
    fn code(&self) -> Code {
        Answer::code(&self.status)
    }
}

impl Answer for PreBindStep {
    fn code(&self) -> Code {
        if let Self::Fail(status) = self { status.code() } else { Code::Success }
    }
}

impl Answer for Result<QueueingHint, PluginError> {
    fn code(&self) -> Code {
        if self.is_ok() { Code::Success } else { Code::Error }
    }
}
