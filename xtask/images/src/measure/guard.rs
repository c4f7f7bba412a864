//! A program that ends with the one that wanted it, however that ends.
//!
//! What is killed cannot clean up after itself. So a guard stands between: it starts the program and
//! listens to a pipe whose other end closes with whoever holds it.

use std::{
    ffi::OsString,
    io::{self, Read as _},
    os::unix::process::ExitStatusExt as _,
    path::Path,
    process::{Command, ExitCode, Stdio},
    thread,
};

use rustix::process::{Pid, Signal, getpgrp, getpid, kill_process, kill_process_group};

/// The word by which this program is asked to be a guard.
pub const WORD: &str = "guard";

/// `program`, started by a guard, which `own`, this project's own program, is when it is asked.
pub fn guarded(own: &Path, program: impl Into<OsString>) -> tokio::process::Command {
    let mut command = tokio::process::Command::new(own);
    command.arg(WORD).arg("--").arg(program.into());
    command
}

/// Runs the program that `words` name to its end, or until the standard input is closed: then it, and
/// everything in this process group, is asked to end.
///
/// # Errors
/// When it cannot be started.
pub fn guard(words: &[OsString]) -> io::Result<ExitCode> {
    let (program, arguments) = words.split_first().ok_or(io::ErrorKind::InvalidInput)?;
    let mut child = Command::new(program).args(arguments).stdin(Stdio::null()).spawn()?;
    let pid = Pid::from_child(&child);
    thread::spawn(move || {
        // Nobody writes; the end is what is waited for.
        let _ = io::stdin().read(&mut [0]);
        // They may have ended by themselves, which is as good.
        let _ = if getpgrp() == getpid() {
            kill_process_group(getpgrp(), Signal::TERM)
        } else {
            kill_process(pid, Signal::TERM)
        };
    });
    let status = child.wait()?;
    // As a shell tells it: 128 and the signal's number.
    let code = status.code().or_else(|| Some(128 + status.signal()?));
    Ok(code.and_then(|it| u8::try_from(it).ok()).map_or(ExitCode::FAILURE, ExitCode::from))
}
