//! The default scheduler: a child process that is started again when it ends.

use std::env;
use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use tokio::process::{Child, Command};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::error::UserError;
use super::output::note;

/// The name of the binary where none is given.
const NAME: &str = "scheduler";
/// How long a scheduler may take to end on `SIGTERM`.
const PATIENCE: Duration = Duration::from_secs(5);
/// The first pause before a scheduler is started again; it doubles up to [`PAUSE_MAX`].
const PAUSE_MIN: Duration = Duration::from_secs(1);
const PAUSE_MAX: Duration = Duration::from_secs(30);
/// A scheduler that ran this long was well; the pauses start over.
const SETTLED: Duration = Duration::from_mins(1);

/// Finds the scheduler: the one given, else beside this program, else in `PATH`.
///
/// # Errors
/// [`UserError::NoScheduler`] with the places looked at.
pub(super) fn find(given: Option<&Path>) -> Result<PathBuf, UserError> {
    if let Some(given) = given {
        return if is_program(given) {
            Ok(given.to_owned())
        } else {
            let looked = format!("{} is not an executable file", given.display());
            Err(UserError::NoScheduler { looked })
        };
    }
    let here = env::current_exe().ok().and_then(|it| it.parent().map(Path::to_owned));
    let path = env::var_os("PATH").unwrap_or_default();
    let places: Vec<PathBuf> = here.clone().into_iter().chain(env::split_paths(&path)).collect();
    let found = places.iter().map(|place| place.join(NAME)).find(|it| is_program(it));
    found.ok_or_else(|| {
        let beside = here.map(|it| format!("in {} and ", it.display())).unwrap_or_default();
        UserError::NoScheduler { looked: format!("there is no `{NAME}` {beside}in PATH") }
    })
}

fn is_program(file: &Path) -> bool {
    file.metadata().is_ok_and(|it| it.is_file() && it.permissions().mode() & 0o111 != 0)
}

/// A scheduler and where it writes.
#[derive(Debug)]
pub(super) struct Supervisor {
    binary: PathBuf,
    kubeconfig: PathBuf,
    log: PathBuf,
    child: Child,
    started: Instant,
    pid: watch::Sender<Option<u32>>,
}

impl Supervisor {
    /// Starts the scheduler for the first time.
    ///
    /// # Errors
    /// [`UserError::SchedulerStart`].
    pub(super) fn start(
        binary: PathBuf,
        kubeconfig: PathBuf,
        log: PathBuf,
    ) -> Result<Self, UserError> {
        let spawned = spawn(&binary, &kubeconfig, &log);
        let child = spawned
            .map_err(|reason| UserError::SchedulerStart { binary: binary.clone(), reason })?;
        let pid = watch::Sender::new(child.id());
        Ok(Self { binary, kubeconfig, log, child, started: Instant::now(), pid })
    }

    /// The scheduler's process, as it changes.
    pub(super) fn pid(&self) -> watch::Receiver<Option<u32>> {
        self.pid.subscribe()
    }

    /// Keeps a scheduler running until told to stop, then ends it.
    pub(super) async fn run(mut self, stop: CancellationToken) {
        let mut pause = PAUSE_MIN;
        loop {
            let ended = tokio::select! {
                () = stop.cancelled() => break,
                ended = self.child.wait() => ended,
            };
            self.pid.send_replace(None);
            if self.started.elapsed() >= SETTLED {
                pause = PAUSE_MIN;
            }
            let how = ended.map_or_else(|error| error.to_string(), |status| status.to_string());
            note(format_args!(
                "the scheduler ended ({how}); starting it again in {} s; its log is {}",
                pause.as_secs(),
                self.log.display()
            ));
            tokio::select! {
                () = stop.cancelled() => return,
                () = tokio::time::sleep(pause) => {}
            }
            pause = (pause * 2).min(PAUSE_MAX);
            match spawn(&self.binary, &self.kubeconfig, &self.log) {
                Ok(child) => {
                    self.child = child;
                    self.started = Instant::now();
                    self.pid.send_replace(self.child.id());
                }
                Err(error) => note(format_args!("the scheduler does not start: {error}")),
            }
        }
        self.end().await;
    }

    /// Asks the scheduler to end, and makes it end if it does not.
    async fn end(&mut self) {
        let pid = self.child.id().and_then(|it| i32::try_from(it).ok()).and_then(Pid::from_raw);
        let Some(pid) = pid else { return };
        if let Err(error) = kill_process(pid, Signal::TERM) {
            tracing::debug!(%error, "the scheduler had ended");
        }
        if tokio::time::timeout(PATIENCE, self.child.wait()).await.is_err()
            && let Err(error) = self.child.kill().await
        {
            tracing::warn!(%error, "the scheduler could not be killed");
        }
    }
}

/// Starts the scheduler so that it dies with this process whatever happens.
fn spawn(binary: &Path, kubeconfig: &Path, log: &Path) -> io::Result<Child> {
    let output: File = OpenOptions::new().create(true).append(true).open(log)?;
    let mut arguments: Vec<OsString> = vec!["guard".into(), "--parent".into()];
    arguments.push(std::process::id().to_string().into());
    arguments.extend(["--".into(), binary.into(), "--kubeconfig".into(), kubeconfig.into()]);
    // Nothing of the lab can be reached from other machines, and pods that run for real have addresses
    // of their own.
    arguments.push("--bind-address=127.0.0.1".into());
    Command::new(env::current_exe()?)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(output.try_clone()?)
        .stderr(output)
        // Ctrl-C reaches the whole group; the scheduler is ended in order instead.
        .process_group(0)
        .kill_on_drop(true)
        .spawn()
}
