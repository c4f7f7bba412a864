//! The guard around every call into a plugin.

use std::panic::{AssertUnwindSafe, catch_unwind};

use loadmaster_framework::PluginError;

/// Runs `call`, a call of `plugin` at `point` (about `node`, where it is about one). A panic becomes
/// an error that names them all.
///
/// The plugin's own values may be half changed after a panic; they hold configuration only, and the
/// cycle's state dies with the cycle, so nothing that lives on has seen the half.
pub(crate) fn guarded<T>(
    plugin: &'static str,
    point: &'static str,
    node: Option<&str>,
    call: impl FnOnce() -> T,
) -> Result<T, PluginError> {
    catch_unwind(AssertUnwindSafe(call)).map_err(|payload| {
        let said = payload
            .downcast_ref::<&str>()
            .map(|it| (*it).to_owned())
            .or_else(|| payload.downcast_ref::<String>().cloned());
        let message = said.unwrap_or_else(|| "no message".to_owned());
        PluginError::Panic { plugin, point, node: node.map(str::to_owned), message }
    })
}
