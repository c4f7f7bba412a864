//! `lab down`.

use std::process::ExitCode;
use std::thread;
use std::time::{Duration, Instant};

use clap::Args;
use rustix::process::{Pid, Signal, kill_process};

use super::arguments::StateDir;
use super::error::UserError;
use super::output::say;
use super::state::Files;

/// How long a lab may take to end: its scheduler's patience and a little.
const PATIENCE: Duration = Duration::from_secs(15);
/// How often to look whether it has.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Stop the cluster and remove its files.
#[derive(Debug, Args)]
pub(super) struct Down {
    #[command(flatten)]
    state: StateDir,
}

impl Down {
    pub(super) fn run(self) -> anyhow::Result<ExitCode> {
        let files = self.state.files();
        let dir = files.dir().display().to_string();
        if !files.is_in_use() {
            sweep_leftovers(&files);
            say(format_args!("No lab is running in {dir}."))?;
            return Ok(ExitCode::SUCCESS);
        }
        let pid = wait_for(|| files.facts()).map(|it| it.pids.lab);
        let pid = pid.and_then(|it| i32::try_from(it).ok()).and_then(Pid::from_raw);
        if let Some(pid) = pid
            && let Err(error) = kill_process(pid, Signal::TERM)
        {
            tracing::debug!(%error, "the lab had ended");
        }
        let gone = wait_for(|| (!files.is_in_use()).then_some(()));
        if gone.is_none() {
            let pid = pid.map_or(0, |pid| pid.as_raw_nonzero().get());
            return Err(UserError::DoesNotEnd { dir: files.dir().to_owned(), pid }.into());
        }
        // It may have been dying of something else already when it was found in use.
        sweep_leftovers(&files);
        say(format_args!("The lab in {dir} is gone."))?;
        Ok(ExitCode::SUCCESS)
    }
}

/// A lab that was killed leaves its files behind.
fn sweep_leftovers(files: &Files) {
    if files.facts().is_some() {
        files.sweep();
    }
}

/// Looks until there is an answer or patience ends.
fn wait_for<T>(look: impl Fn() -> Option<T>) -> Option<T> {
    let end = Instant::now() + PATIENCE;
    loop {
        let found = look();
        if found.is_some() || Instant::now() >= end {
            return found;
        }
        thread::sleep(LOOK_EVERY);
    }
}
