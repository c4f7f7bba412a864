//! The scheduler with every plugin that comes with it.

use std::process::ExitCode;

use loadmaster_plugins::academy::{
    cache_locality::CacheLocality, concentrate::Concentrate, custom_metric::CustomMetric,
};
use loadmaster_scheduler::app::SchedulerCommand;

/// musl's own allocator takes a lock for every allocation.
#[cfg(target_env = "musl")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    SchedulerCommand::new()
        .with_plugin::<CacheLocality>()
        .with_plugin::<Concentrate>()
        .with_plugin::<CustomMetric>()
        .run()
}
