//! The hidden command by which a child process is tied to the lab's life.
//!
//! A process cannot be made to die with its parent from outside; it must ask for it itself. So `lab`
//! starts itself with `guard`, which asks the kernel for `SIGKILL` at its parent's death and then
//! becomes the scheduler: the request survives the `exec`. It works where the kernel knows it
//! (Linux); elsewhere the child lives on when `lab` is killed with `SIGKILL`.

use std::ffi::OsString;
use std::os::unix::process::CommandExt as _;
use std::process::{Command, ExitCode};

use anyhow::Context as _;
use clap::Args;

/// Become a program that dies with the parent process.
#[derive(Debug, Args)]
pub(super) struct Guard {
    /// The process that must be the parent.
    #[arg(long)]
    parent: u32,
    /// The program and its arguments.
    #[arg(last = true, required = true)]
    command: Vec<OsString>,
}

impl Guard {
    pub(super) fn run(self) -> anyhow::Result<ExitCode> {
        tie_to_parent()?;
        // The parent may have died before the request was made.
        if std::os::unix::process::parent_id() != self.parent {
            return Ok(ExitCode::FAILURE);
        }
        let (program, arguments) = self.command.split_first().context("no program was named")?;
        let error = Command::new(program).args(arguments).exec();
        Err(error).with_context(|| format!("cannot become {}", program.display()))
    }
}

#[cfg(target_os = "linux")]
fn tie_to_parent() -> anyhow::Result<()> {
    let signal = Some(rustix::process::Signal::KILL);
    rustix::process::set_parent_process_death_signal(signal)
        .context("cannot ask to die with the parent process")
}

#[cfg(not(target_os = "linux"))]
fn tie_to_parent() -> anyhow::Result<()> {
    Ok(())
}
