//! Running a program and watching the memory of everything that it starts.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    fs, io,
    process::{ExitStatus, Stdio},
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, kill_process_group};
use sysinfo::{ProcessRefreshKind, ProcessesToUpdate, System};
use tokio::{
    io::AsyncReadExt as _,
    process::Command,
    time::{MissedTickBehavior, interval, timeout},
};

use crate::{
    signals::{Stop, Stopped},
    size::Size,
};

/// How often memory is looked at. A link's peak lasts for seconds.
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// How long processes may take to end when they are asked to.
const PATIENCE: Duration = Duration::from_secs(5);

/// A program that has run.
#[derive(Debug)]
pub struct Ran {
    /// How it ended.
    pub status: ExitStatus,
    /// What it wrote to its standard output.
    pub output: String,
    /// How long it took.
    pub wall: Duration,
    /// The most memory that it and everything below it had at one moment. What several processes share
    /// is counted once.
    pub peak: Size,
    /// Whether the system killed a program meanwhile because memory was short. Whose it was the
    /// system does not say; a build that fails at that moment needs no other reason.
    pub starved: bool,
}

/// The program did not run to its end.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// It cannot be started or waited for.
    #[error("cannot run {}", .0.display())]
    Start(OsString, #[source] io::Error),
    /// Its memory cannot be watched.
    #[error("cannot watch the memory of processes")]
    Watch(#[source] sysinfo::Error),
    /// Somebody stopped us, and it was stopped too.
    #[error(transparent)]
    Stopped(#[from] Stopped),
}

/// Runs `command` to its end, in a process group of its own that is ended with us. Its standard input
/// is a pipe on which nothing comes, and which closes when this program ends, however it ends.
///
/// # Errors
/// When it cannot be started, or somebody wants us to stop.
pub async fn run(mut command: Command, stop: &mut Stop) -> Result<Ran, RunError> {
    let mut sampler = Sampler::new()?;
    let name = command.as_std().get_program().to_owned();
    let failed = |it| RunError::Start(name.clone(), it);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).process_group(0).kill_on_drop(true);
    let (begun, kills) = (Instant::now(), kills());
    let mut child = command.spawn().map_err(failed)?;
    // Waiting for a child closes its input first.
    let alive = child.stdin.take();
    let group = child.id().and_then(|it| Pid::from_raw(i32::try_from(it).ok()?));
    let mut pipe = child.stdout.take();
    let mut output = Vec::new();
    let read = async {
        match &mut pipe {
            Some(pipe) => pipe.read_to_end(&mut output).await.map(drop),
            None => Ok(()),
        }
    };
    let mut ticks = interval(LOOK_EVERY);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let ended = async { tokio::join!(child.wait(), read) };
    let mut ended = Box::pin(ended);
    let (status, read) = loop {
        tokio::select! {
            both = &mut ended => break both,
            _ = ticks.tick() => if let Some(group) = group { sampler.look(group) },
            stopped = stop.wanted() => {
                if let Some(group) = group {
                    // It may have ended by itself, which is as good.
                    let _ = kill_process_group(group, Signal::TERM);
                    if timeout(PATIENCE, &mut ended).await.is_err() {
                        let _ = kill_process_group(group, Signal::KILL);
                    }
                }
                return Err(stopped.into());
            }
        }
    };
    drop((ended, alive));
    read.map_err(failed)?;
    Ok(Ran {
        status: status.map_err(failed)?,
        output: String::from_utf8_lossy(&output).into_owned(),
        wall: begun.elapsed(),
        peak: sampler.peak,
        starved: self::kills() > kills,
    })
}

/// How many programs the system has killed so far because memory was short, in all and within
/// control groups.
fn kills() -> u64 {
    fs::read_to_string("/proc/vmstat").ok().as_deref().and_then(killed).unwrap_or_default()
}

/// The line `oom_kill N`.
fn killed(vmstat: &str) -> Option<u64> {
    vmstat.lines().find_map(|it| it.strip_prefix("oom_kill "))?.trim().parse().ok()
}

/// Adds up the memory of a process and all below it, again and again.
struct Sampler {
    system: System,
    peak: Size,
}

impl Sampler {
    fn new() -> Result<Self, RunError> {
        let system = System::new().map_err(RunError::Watch)?;
        Ok(Self { system, peak: Size::default() })
    }

    fn look(&mut self, root: Pid) {
        let kind = ProcessRefreshKind::nothing().with_memory().without_tasks();
        self.system.refresh_processes_specifics(ProcessesToUpdate::All, true, kind);
        let mut children: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        let all = self.system.processes().iter();
        let pairs = all.filter_map(|(pid, it)| Some((it.parent()?.as_u32(), pid.as_u32())));
        pairs.for_each(|(parent, pid)| children.entry(parent).or_default().push(pid));
        let mut sum = Size::default();
        let mut open = vec![root.as_raw_nonzero().get().unsigned_abs()];
        while let Some(pid) = open.pop() {
            sum = sum + self.memory(pid);
            open.extend(children.get(&pid).into_iter().flatten());
        }
        self.peak = self.peak.max(sum);
    }

    /// Its share of the memory that it uses, or all of it where the system does not tell shares.
    fn memory(&self, pid: u32) -> Size {
        let shares = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).ok();
        let share = shares.as_deref().and_then(proportional);
        share.unwrap_or_else(|| {
            let process = self.system.process(sysinfo::Pid::from_u32(pid));
            Size::bytes(process.map_or(0, sysinfo::Process::memory))
        })
    }
}

/// The line `Pss: N kB`.
fn proportional(rollup: &str) -> Option<Size> {
    let line = rollup.lines().find_map(|it| it.strip_prefix("Pss:"))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(Size::bytes(kilobytes * 1024))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn memory_of_what_a_program_started_counts() {
        // A shell below a shell holds 32 MB until its input ends.
        let hold = r"x=$(head -c 33554432 /dev/zero | tr '\0' a); echo ready; read y";
        let mut outer = std::process::Command::new("sh");
        outer.arg("-c").arg(format!("sh -c '{}'; true", hold.replace('\'', r"'\''")));
        let mut child = outer.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut ready = [0; 6];
        io::Read::read_exact(child.stdout.as_mut().unwrap(), &mut ready).unwrap();
        let mut sampler = Sampler::new().unwrap();
        sampler.look(Pid::from_child(&child));
        drop(child.stdin.take());
        child.wait().unwrap();
        assert!(sampler.peak >= Size::mebi(32), "{}", sampler.peak);
    }

    #[tokio::test]
    async fn what_a_program_says_is_kept() {
        let mut stop = Stop::listen().unwrap();
        let ran = run(shell("echo out; echo err >&2"), &mut stop).await.unwrap();
        assert!(ran.status.success());
        assert_eq!(ran.output, "out\n");
    }

    #[tokio::test]
    async fn a_program_that_fails_or_is_missing_is_told_apart() {
        let mut stop = Stop::listen().unwrap();
        assert_eq!(run(shell("exit 3"), &mut stop).await.unwrap().status.code(), Some(3));
        let error = run(Command::new("no-such-program"), &mut stop).await.unwrap_err();
        assert!(error.to_string().contains("no-such-program"), "{error}");
    }

    #[test]
    fn kills_for_want_of_memory_are_counted_by_the_system() {
        assert_eq!(killed("pgmajfault 7\noom_kill 3\nnuma_hit 1\n"), Some(3));
        assert_eq!(killed("pgmajfault 7\n"), None);
    }

    #[test]
    fn the_share_of_a_process_is_read_in_kilobytes() {
        let rollup = "55d0-7ffe ---p 00000000 00:00 0 [rollup]\nRss:  2048 kB\nPss:  1024 kB\n";
        assert_eq!(proportional(rollup), Some(Size::mebi(1)));
        assert_eq!(proportional("Rss: 1 kB"), None);
    }
}
