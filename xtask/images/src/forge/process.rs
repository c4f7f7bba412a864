//! The registry's process.

use std::{
    env, fs,
    fs::File,
    net::SocketAddr,
    os::unix::{fs::PermissionsExt as _, process::CommandExt as _},
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Stdio},
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, kill_process};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    time::{sleep, timeout},
};
use xtask_heavy::process::started;

use super::{ForgeError, Result, Running, failed};

/// How long it may take to come up or to end, and how often one looks.
const PATIENCE: Duration = Duration::from_secs(20);
const STEP: Duration = Duration::from_millis(50);

/// The registry's program: the one that is named, else the one of that name in PATH.
pub(super) fn program(named: Option<PathBuf>, name: &str) -> Result<PathBuf> {
    if let Some(program) = named {
        return if is_program(&program) {
            Ok(program)
        } else {
            let why = format!("{} is not there or cannot be run", program.display());
            Err(ForgeError::NoProgram(why))
        };
    }
    let path = env::var_os("PATH").unwrap_or_default();
    let found = env::split_paths(&path).map(|it| it.join(name)).find(|it| is_program(it));
    found.ok_or_else(|| ForgeError::NoProgram(format!("{name} is not in PATH")))
}

fn is_program(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|it| it.is_file() && it.permissions().mode() & 0o111 != 0)
}

/// Whether somebody listens there.
pub(super) async fn is_taken(address: SocketAddr) -> bool {
    TcpStream::connect(address).await.is_ok()
}

/// Starts the registry in the background and waits until it answers.
pub(super) async fn start(
    program: &Path,
    config: &Path,
    log: &Path,
    data: &Path,
) -> Result<Running> {
    let file = File::create(log).map_err(|it| failed("write", log, it))?;
    let also = file.try_clone().map_err(|it| failed("write", log, it))?;
    let mut command = Command::new(program);
    command.arg("serve").arg(config).stdin(Stdio::null()).stdout(file).stderr(also);
    // Its settings come from the file alone, and the terminal's Ctrl-C is not meant for it.
    for (name, _) in env::vars_os().filter(|(it, _)| it.to_string_lossy().starts_with("REGISTRY_"))
    {
        command.env_remove(name);
    }
    command.env("OTEL_TRACES_EXPORTER", "none").process_group(0);
    let child = command
        .spawn()
        .map_err(|it| ForgeError::NoProgram(format!("{} does not run: {it}", program.display())))?;
    let pid = child.id();
    let mut child = Unready(Some(child));
    let not_up = |why: String| ForgeError::NotUp { why, log: log.to_owned() };
    let begun = Instant::now();
    loop {
        if let Some(status) = child.ended() {
            return Err(not_up(format!("it ended with {status}: {}", last_line(log))));
        }
        let address = listening(&fs::read_to_string(log).unwrap_or_default());
        if let Some(address) = address
            && answers(address).await
        {
            let started = started(pid).ok_or_else(|| not_up("it ended".to_owned()))?;
            let (log, data) = (log.to_owned(), data.to_owned());
            child.0 = None;
            return Ok(Running { address, pid, started, log, data });
        }
        if begun.elapsed() > PATIENCE {
            return Err(not_up(format!("no answer for {} s", PATIENCE.as_secs())));
        }
        sleep(STEP).await;
    }
}

/// A registry that is of no use yet. Nobody would find it later, so it ends with its starter's interest.
struct Unready(Option<Child>);

impl Unready {
    fn ended(&mut self) -> Option<ExitStatus> {
        self.0.as_mut()?.try_wait().ok()?
    }
}

impl Drop for Unready {
    fn drop(&mut self) {
        if let Some(child) = &mut self.0 {
            drop(child.kill().and_then(|()| child.wait()));
        }
    }
}

/// Ends the registry and waits until it has: asked first, then forced.
pub(super) async fn stop(running: &Running) -> Result<()> {
    let not_down = || ForgeError::NotDown(running.pid);
    let pid = i32::try_from(running.pid).ok().and_then(Pid::from_raw).ok_or_else(not_down)?;
    for signal in [Signal::TERM, Signal::KILL] {
        // An error means that it ended meanwhile, or that it is not ours: the wait tells which.
        let _ = kill_process(pid, signal);
        let begun = Instant::now();
        while begun.elapsed() < PATIENCE / 4 {
            if started(running.pid) != Some(running.started) {
                return Ok(());
            }
            sleep(STEP).await;
        }
    }
    Err(not_down())
}

/// Where a registry of that log listens: `… msg="listening on 127.0.0.1:5000" …`.
fn listening(log: &str) -> Option<SocketAddr> {
    let (_, rest) = log.split_once("listening on ")?;
    let end = rest.find(|it: char| it == '"' || it == ',' || it.is_whitespace())?;
    rest[..end].parse().ok()
}

/// Whether a registry answers there.
async fn answers(address: SocketAddr) -> bool {
    let ask = async {
        let mut stream = TcpStream::connect(address).await.ok()?;
        let request = b"GET /v2/ HTTP/1.0\r\nHost: localhost\r\n\r\n";
        stream.write_all(request).await.ok()?;
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).await.ok()?;
        Some(answer.starts_with(b"HTTP/1.0 200") || answer.starts_with(b"HTTP/1.1 200"))
    };
    timeout(Duration::from_secs(2), ask).await.ok().flatten() == Some(true)
}

fn last_line(log: &Path) -> String {
    let text = fs::read_to_string(log).unwrap_or_default();
    text.lines().rfind(|it| !it.trim().is_empty()).unwrap_or("it says nothing").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_port_that_was_taken_is_read_from_the_log() {
        let log = "time=\"2026-01-01T00:00:00Z\" level=info msg=\"using inmemory\"\n\
                   time=\"2026-01-01T00:00:00Z\" level=info msg=\"listening on 127.0.0.1:41233\" go.version=go1.19.8\n";
        assert_eq!(listening(log).unwrap().port(), 41233);
        assert_eq!(listening("msg=\"listening on 127.0.0.1"), None);
    }
}
