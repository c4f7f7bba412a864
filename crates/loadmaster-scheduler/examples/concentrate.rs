//! A scheduler of one's own: upstream's plugins and one more.

use std::process::ExitCode;

use loadmaster_plugins::academy::concentrate::Concentrate;
use loadmaster_scheduler::app::SchedulerCommand;

fn main() -> ExitCode {
    SchedulerCommand::new().with_plugin::<Concentrate>().run()
}
