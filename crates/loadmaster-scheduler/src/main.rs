//! The scheduler with every plugin that comes with it.

use std::process::ExitCode;

use loadmaster_plugins::academy::{cache_locality::CacheLocality, concentrate::Concentrate};
use loadmaster_scheduler::app::SchedulerCommand;

fn main() -> ExitCode {
    SchedulerCommand::new().with_plugin::<CacheLocality>().with_plugin::<Concentrate>().run()
}
