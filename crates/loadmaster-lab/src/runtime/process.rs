//! The running process of a container.

use std::fs;
use std::os::unix::process::ExitStatusExt as _;
use std::process::ExitStatus;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use tokio::process::{Child, Command};
use tokio::task::JoinSet;

use super::logs::Log;
use super::sandbox::Isolation;

/// How long output may come after the process has ended, from others that it left behind.
const OUTPUT_PATIENCE: Duration = Duration::from_millis(500);

/// A container's process. Dropping it kills it and all that is in its group.
#[derive(Debug)]
pub(super) struct Process {
    child: Child,
    isolation: Isolation,
    group: Option<Pid>,
    output: JoinSet<()>,
    log: Log,
}

impl Process {
    /// Starts the command; what it prints goes to `log`.
    ///
    /// # Errors
    /// What the system said.
    pub(super) fn start(
        mut command: Command,
        isolation: Isolation,
        log: Log,
    ) -> std::io::Result<Self> {
        let mut child = command.spawn()?;
        let mut output = JoinSet::new();
        if let Some(stdout) = child.stdout.take() {
            output.spawn(log.clone().copy(stdout));
        }
        if let Some(stderr) = child.stderr.take() {
            output.spawn(log.clone().copy(stderr));
        }
        let group = child.id().and_then(|it| i32::try_from(it).ok()).and_then(Pid::from_raw);
        Ok(Self { child, isolation, group, output, log })
    }

    /// Waits for its end, and answers the exit code as a runtime tells it: 128 and the signal's
    /// number for one that was killed. Safe to cancel.
    pub(super) async fn ended(&mut self) -> i32 {
        let status = self.child.wait().await;
        let drained = async { while self.output.join_next().await.is_some() {} };
        if tokio::time::timeout(OUTPUT_PATIENCE, drained).await.is_err() {
            tracing::debug!("a container left processes behind that hold its output open");
        }
        self.log.end();
        status.map_or(255, code)
    }

    /// The process on the machine: the program, or the `bwrap` that it dies with.
    pub(super) fn pid(&self) -> Option<u32> {
        self.child.id()
    }

    /// Asks it to end. Under `bwrap` that is the one process inside, and not `bwrap` itself, whose
    /// end would kill it.
    pub(super) fn terminate(&self) {
        let Some(group) = self.group else { return };
        let sent = match (self.isolation, self.inside()) {
            (Isolation::Bwrap, Some(inside)) => kill_process(inside, Signal::TERM),
            _ => kill_process_group(group, Signal::TERM),
        };
        if let Err(error) = sent {
            tracing::debug!(%error, "a container had ended");
        }
    }

    /// Kills it and all that is in its group.
    pub(super) fn kill(&self) {
        let Some(group) = self.group else { return };
        if let Some(inside) = self.inside().filter(|_| self.isolation == Isolation::Bwrap) {
            // The first process of a namespace takes all others with it.
            let _ = kill_process(inside, Signal::KILL);
        }
        let _ = kill_process_group(group, Signal::KILL);
    }

    /// The process inside of `bwrap`.
    fn inside(&self) -> Option<Pid> {
        let outer = self.group?.as_raw_nonzero();
        let children = fs::read_to_string(format!("/proc/{outer}/task/{outer}/children")).ok()?;
        Pid::from_raw(children.split_whitespace().next()?.parse().ok()?)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Once it was waited for, its number may be somebody else's.
        if self.child.id().is_some() {
            self.kill();
        }
        self.log.end();
    }
}

fn code(status: ExitStatus) -> i32 {
    status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or_default())
}
