//! The loops over a profile's plugins after the choice of a node: from Reserve to PostBind.

use std::time::Duration;

use loadmaster_framework::{
    Action, Binding, Code, Cycle, CycleState, Outcome, Permission, PreBindInput, PreBindStep,
    PreFlight, Status,
};

use super::{Handles, Profile, guard::Granted, run::flatten};
use crate::meter::CallPoint;

impl Profile {
    /// Takes every claim.
    ///
    /// # Errors
    /// The first refusal, or the error of a plugin that broke; the caller unreserves.
    pub fn run_reserve(
        &self,
        cx: Cycle<'_>,
        state: &mut CycleState,
        node: &str,
        handles: &mut dyn Handles,
    ) -> Outcome {
        self.timed(CallPoint::Reserve, || {
            self.reserve.iter().try_for_each(|it| {
                let call = || {
                    let mut outcome = Ok(());
                    handles.with(it.plugin, &mut |handle| {
                        outcome = it.hook.reserve(cx, state, node, handle);
                    });
                    outcome
                };
                flatten(it.call(&self.watch, CallPoint::Reserve, Some(node), call))
                    .map_err(|status| named(status, "Reserve", it.name))
            })
        })
    }

    /// Gives every claim back, in reverse order.
    pub fn run_unreserve(
        &self,
        cx: Cycle<'_>,
        state: &mut CycleState,
        node: &str,
        handles: &mut dyn Handles,
    ) {
        self.timed(CallPoint::Unreserve, || {
            for it in self.reserve.iter().rev() {
                let call = || {
                    handles
                        .with(it.plugin, &mut |handle| it.hook.unreserve(cx, state, node, handle));
                };
                // A plugin that breaks here must not keep the others from giving back.
                let _panicked = it.call(&self.watch, CallPoint::Unreserve, Some(node), call);
            }
        });
    }

    /// Asks every Permit; returns the plugins that hold the pod and for how long.
    ///
    /// # Errors
    /// The first refusal, or the error of a plugin that broke; the caller unreserves.
    pub fn run_permit(
        &self,
        cx: Cycle<'_>,
        state: &mut CycleState,
        node: &str,
        handles: &mut dyn Handles,
    ) -> Outcome<Vec<(&'static str, Duration)>> {
        self.timed(CallPoint::Permit, || {
            let mut waits = Vec::new();
            for it in &self.permit {
                let call = || {
                    let mut outcome = Ok(Permission::Allow);
                    handles.with(it.plugin, &mut |handle| {
                        outcome = it.hook.permit(cx, state, node, handle);
                    });
                    outcome
                };
                match flatten(it.call(&self.watch, CallPoint::Permit, Some(node), call)) {
                    Ok(Permission::Allow) => {}
                    Ok(Permission::Wait(patience)) => waits.push((it.name, patience.min(MAX_WAIT))),
                    Err(status) => return Err(named(status, "Permit", it.name)),
                }
            }
            Ok(Waits(waits))
        })
        .map(|Waits(waits)| waits)
    }

    /// Asks every PreBind whether it has anything to do; returns the positions, in the list of
    /// PreBind plugins, of those that have.
    ///
    /// # Errors
    /// The error of a plugin that broke.
    pub fn run_pre_flight(
        &self,
        cx: Cycle<'_>,
        state: &CycleState,
        node: &str,
    ) -> Outcome<Vec<usize>> {
        const POINT: CallPoint = CallPoint::PreBindPreFlight;
        self.timed(POINT, || {
            let mut needed = Vec::new();
            for (at, it) in self.pre_bind.iter().enumerate() {
                let call = || it.hook.pre_flight(cx, state, node);
                match flatten(it.call(&self.watch, POINT, Some(node), call)) {
                    Ok(PreFlight::Needed) => needed.push(at),
                    Ok(PreFlight::Skip) => {}
                    Err(status) => return Err(named(status, POINT.as_str(), it.name)),
                }
            }
            Ok(Needed(needed))
        })
        .map(|Needed(needed)| needed)
    }

    /// The next step of the PreBind plugin at position `at` of the list of PreBind plugins.
    pub fn run_pre_bind(
        &self,
        at: usize,
        cx: Cycle<'_>,
        state: &mut CycleState,
        node: &str,
        input: PreBindInput,
    ) -> PreBindStep {
        let it = &self.pre_bind[at];
        let name = it.name;
        let call = || it.hook.step(cx, state, node, input);
        match it.call(&self.watch, CallPoint::PreBind, Some(node), call) {
            Ok(PreBindStep::Fail(status)) => PreBindStep::Fail(named(status, "PreBind", name)),
            Ok(step) => step,
            Err(panic) => PreBindStep::Fail(named(panic.into(), "PreBind", name)),
        }
    }

    /// Asks the binders in order; the first that does not skip says how.
    ///
    /// # Errors
    /// The refusal or error of that binder, or that there was none.
    pub fn run_bind(&self, cx: Cycle<'_>, state: &CycleState, node: &str) -> Outcome<Action> {
        for it in &self.bind {
            let call = || it.hook.bind(cx, state, node);
            match flatten(it.call(&self.watch, CallPoint::Bind, Some(node), call)) {
                Ok(Binding::Skip) => {}
                Ok(Binding::Do(action)) => return Ok(action),
                Err(status) => return Err(named(status, "Bind", it.name)),
            }
        }
        Err(Status::error("no bind plugin took the pod"))
    }

    /// Tells every PostBind that the pod is bound.
    pub fn run_post_bind(
        &self,
        cx: Cycle<'_>,
        state: &CycleState,
        node: &str,
        handles: &mut dyn Handles,
    ) {
        self.timed(CallPoint::PostBind, || {
            for it in &self.post_bind {
                let call = || {
                    handles
                        .with(it.plugin, &mut |handle| it.hook.post_bind(cx, state, node, handle));
                };
                // Nothing can fail any more; a panic here is only a panic.
                let _panicked = it.call(&self.watch, CallPoint::PostBind, Some(node), call);
            }
        });
    }
}

/// Plugins that hold a pod at Permit, and for how long.
struct Waits(Vec<(&'static str, Duration)>);

impl Granted for Waits {
    fn code(&self) -> Code {
        if self.0.is_empty() { Code::Success } else { Code::Wait }
    }
}

/// PreBind plugins that have something to do.
struct Needed(Vec<usize>);

impl Granted for Needed {
    fn code(&self) -> Code {
        if self.0.is_empty() { Code::Skip } else { Code::Success }
    }
}

/// No pod waits at Permit longer than this (upstream: `maxTimeout`).
const MAX_WAIT: Duration = Duration::from_mins(15);

/// Stamps the plugin on a refusal; an error is told in upstream's words.
fn named(status: Status, point: &str, plugin: &'static str) -> Status {
    if status.is_rejected() {
        return status.with_plugin(plugin);
    }
    Status::error(format!("running {point} plugin {plugin:?}: {status}")).with_plugin(plugin)
}
