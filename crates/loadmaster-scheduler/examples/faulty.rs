//! A scheduler with two plugins as nobody wants them, to see what becomes of it: one panics for
//! every tenth pod, the other sleeps for pods that ask it to.

use std::{process::ExitCode, time::Duration};

use loadmaster_framework::{
    Cycle, CycleState, FieldError, Filter, Gates, Hooks, NodeInfo, Outcome, Plugin,
};
use loadmaster_scheduler::app::SchedulerCommand;

/// Panics for pods whose name ends in a zero.
struct PanicsForOneInTen;

#[derive(Default, serde::Serialize, serde::Deserialize)]
struct NoArgs {}

impl Plugin for PanicsForOneInTen {
    const NAME: &'static str = "PanicsForOneInTen";
    type Args = NoArgs;

    fn build(_: NoArgs, _: &Gates) -> Result<Hooks, FieldError> {
        Ok(Hooks::of(Self).filter().into())
    }
}

impl Filter for PanicsForOneInTen {
    fn filter(&self, cx: Cycle<'_>, _: &CycleState, _: &NodeInfo) -> Outcome {
        assert!(!cx.pod.name().ends_with('0'), "one pod in ten is too much for this plugin");
        Ok(())
    }
}

/// Sleeps for as many milliseconds as the pod's label `sleep` says, for each node.
struct Sleeps;

impl Plugin for Sleeps {
    const NAME: &'static str = "Sleeps";
    type Args = NoArgs;

    fn build(_: NoArgs, _: &Gates) -> Result<Hooks, FieldError> {
        Ok(Hooks::of(Self).filter().into())
    }
}

impl Filter for Sleeps {
    fn filter(&self, cx: Cycle<'_>, _: &CycleState, _: &NodeInfo) -> Outcome {
        if let Some(millis) = cx.pod.label("sleep").and_then(|it| it.parse().ok()) {
            std::thread::sleep(Duration::from_millis(millis));
        }
        Ok(())
    }
}

fn main() -> ExitCode {
    SchedulerCommand::new().with_plugin::<PanicsForOneInTen>().with_plugin::<Sleeps>().run()
}
