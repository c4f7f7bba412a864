//! Child processes that do not outlive their use.

use std::{
    fs,
    os::unix::process::CommandExt as _,
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Stdio},
    thread,
    time::{Duration, Instant},
};

use anyhow::Context as _;
use rustix::process::{Pid, Signal, kill_process_group};
use serde::{Deserialize, Serialize};
use xtask_heavy::process::started;

/// How long a child may take to end when it is asked to.
const PATIENCE: Duration = Duration::from_secs(15);
/// How often to look whether it has.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// A running child process with a group of its own, so that a Ctrl-C at the terminal is not its.
/// Dropping it ends it and everything that it started in its group.
#[derive(Debug)]
pub(crate) struct Process {
    name: &'static str,
    child: Child,
    log: PathBuf,
    kept: bool,
}

impl Process {
    /// Starts `command` with what it says to stderr in the file `log`.
    pub(crate) fn start(
        name: &'static str,
        mut command: Command,
        log: &Path,
    ) -> anyhow::Result<Self> {
        let file = fs::File::create(log);
        let file = file.with_context(|| format!("cannot write the log {}", log.display()))?;
        let program = command.get_program().to_owned();
        let child = command.stdin(Stdio::null()).stderr(file).process_group(0).spawn();
        let child = child.with_context(|| format!("cannot start {}", program.display()))?;
        Ok(Self { name, child, log: log.to_owned(), kept: false })
    }

    /// Its process ID.
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// What it writes to its standard output, if that was piped; once.
    pub(crate) fn output(&mut self) -> Option<std::process::ChildStdout> {
        self.child.stdout.take()
    }

    /// How it ended, if it has.
    pub(crate) fn ended(&mut self) -> anyhow::Result<Option<ExitStatus>> {
        self.child.try_wait().with_context(|| format!("cannot look after the {}", self.name))
    }

    /// The end of its log, for people.
    pub(crate) fn last_words(&self) -> String {
        let log = fs::read_to_string(&self.log).unwrap_or_default();
        let lines: Vec<&str> = log.lines().collect();
        lines[lines.len().saturating_sub(8)..].join("\n")
    }

    /// What people call it.
    pub(crate) fn name(&self) -> &'static str {
        self.name
    }

    /// Lets it live on when this program ends.
    pub(crate) fn keep(&mut self) {
        self.kept = true;
    }

    /// Asks it to end with `signal` and waits; one that does not listen is killed.
    ///
    /// # Errors
    /// When it had to be killed.
    pub(crate) fn end(&mut self, signal: Signal) -> anyhow::Result<()> {
        if self.ended()?.is_some() {
            return Ok(());
        }
        self.signal(signal);
        let end = Instant::now() + PATIENCE;
        while Instant::now() < end {
            if self.ended()?.is_some() {
                return Ok(());
            }
            thread::sleep(LOOK_EVERY);
        }
        self.signal(Signal::KILL);
        self.child.wait().with_context(|| format!("cannot end the {}", self.name))?;
        anyhow::bail!("the {} did not end when asked to and was killed", self.name)
    }

    fn signal(&self, signal: Signal) {
        let pid = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw);
        if let Some(pid) = pid {
            // It may have ended by itself, which is as good.
            let _ = kill_process_group(pid, signal);
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if !self.kept {
            // Nobody is left to tell.
            let _ = self.end(Signal::TERM);
        }
    }
}

/// A process that lives on after the program that started it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Left {
    /// Its process ID, and its group's.
    pub(crate) pid: u32,
    /// When it was started, in the kernel's ticks since boot: a number that another process of the
    /// same ID does not have.
    pub(crate) started: u64,
}

impl Left {
    /// The process with that ID, if it runs.
    pub(crate) fn of(pid: u32) -> Option<Self> {
        Some(Self { pid, started: started(pid)? })
    }

    /// Whether it runs.
    pub(crate) fn is_running(self) -> bool {
        started(self.pid) == Some(self.started)
    }

    /// Asks it to end and waits; one that does not listen is killed. Says whether it still ran.
    pub(crate) fn end(self) -> bool {
        let runs = || self.is_running();
        let group = i32::try_from(self.pid).ok().and_then(Pid::from_raw).filter(|_| runs());
        let Some(group) = group else { return false };
        for signal in [Signal::TERM, Signal::KILL] {
            if !runs() {
                break;
            }
            // It may have ended by itself, which is as good.
            let _ = kill_process_group(group, signal);
            let end = Instant::now() + PATIENCE;
            while runs() && Instant::now() < end {
                thread::sleep(LOOK_EVERY);
            }
        }
        true
    }
}

/// `program`, tied to this process: it is killed when this one is killed without a chance to clean
/// up, where the system can do that.
pub(crate) fn tied(lab: &Path, program: &Path) -> Command {
    let mut command = Command::new(lab);
    command.arg("guard").arg("--parent").arg(std::process::id().to_string()).arg("--").arg(program);
    command
}

#[cfg(test)]
pub(crate) mod tests {
    use std::io::Write as _;

    use super::*;

    /// Makes `text` a program at `path`. Another process writes it: one that this process has open for
    /// writing could be inherited by what other tests start, and could not be run meanwhile.
    pub(crate) fn script(path: &Path, text: &str) {
        let mut install = Command::new("install");
        install.args(["-m", "755", "/dev/stdin"]).arg(path).stdin(Stdio::piped());
        let mut child = install.spawn().unwrap();
        child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
        assert!(child.wait().unwrap().success());
    }
}
