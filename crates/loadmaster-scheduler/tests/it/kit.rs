//! A cluster, a line to it that can be cut, and the binary as a child process.

mod dice;
mod lab;
mod line;
mod proxy;
mod real;

use std::{
    io::Write,
    path::Path,
    process::{ExitStatus, Stdio},
    time::Duration,
};

use rustix::process::{Pid, Signal, kill_process};
use tempfile::NamedTempFile;
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt as _, AsyncWriteExt as _, BufReader, Lines},
    net::TcpStream,
    process::{Child, ChildStderr, Command},
    task::JoinHandle,
};

pub(crate) use dice::Dice;
pub(crate) use lab::Lab;
pub(crate) use proxy::Proxy;

/// Whatever a test waits for comes long before this.
const PATIENCE: Duration = Duration::from_mins(1);

/// Waits, and fails the test where there is nothing to wait for.
pub(crate) async fn soon<T>(what: &str, future: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, future).await.unwrap_or_else(|_| panic!("no {what}"))
}

/// The binary, running.
pub(crate) struct Scheduler {
    child: Child,
    log: Lines<BufReader<ChildStderr>>,
}

impl Scheduler {
    pub(crate) fn start(args: &[&str]) -> Self {
        Self::start_program(Path::new(BINARY), args)
    }

    /// Starts another program that takes the arguments of the binary.
    pub(crate) fn start_program(program: &Path, args: &[&str]) -> Self {
        // Whoever wants to be asked says where; the last word counts.
        let args = [&["--secure-port=0"], args].concat();
        let mut command = command(program, &args);
        let mut child = command.stderr(Stdio::piped()).kill_on_drop(true).spawn().unwrap();
        let log = BufReader::new(child.stderr.take().unwrap()).lines();
        Self { child, log }
    }

    /// A default scheduler of `lab`, once it schedules.
    pub(crate) async fn of(lab: &Lab, args: &[&str]) -> Self {
        let mut scheduler =
            Self::start(&[&["--leader-elect=false"], &*lab.access(), args].concat());
        scheduler.says("scheduling begins").await;
        scheduler
    }

    /// Waits for a line of the log with this text.
    pub(crate) async fn says(&mut self, text: &str) -> String {
        self.until(text).await.pop().unwrap()
    }

    /// Waits for a line of the log with this text; the log up to that line.
    pub(crate) async fn until(&mut self, text: &str) -> Vec<String> {
        let search = async {
            let mut lines = Vec::new();
            while let Some(line) = self.log.next_line().await.unwrap() {
                let found = line.contains(text);
                lines.push(line);
                if found {
                    return lines;
                }
            }
            panic!("the log ended without {text:?}:\n{}", lines.join("\n"))
        };
        soon(text, search).await
    }

    pub(crate) fn signal(&self, signal: Signal) {
        self.signal_to().send(signal);
    }

    /// Waits until the process ends by itself; how, and what it said until then.
    pub(crate) async fn ended(self) -> (ExitStatus, Vec<String>) {
        soon("end of the process", self.rest()).await
    }

    async fn rest(mut self) -> (ExitStatus, Vec<String>) {
        let mut lines = Vec::new();
        while let Some(line) = self.log.next_line().await.unwrap() {
            lines.push(line);
        }
        (self.child.wait().await.unwrap(), lines)
    }

    pub(crate) async fn stop(self, signal: Signal) -> (ExitStatus, Vec<String>) {
        self.signal(signal);
        self.ended().await
    }

    fn signal_to(&self) -> SignalTo {
        let pid = self.child.id().and_then(|it| i32::try_from(it).ok()).unwrap();
        SignalTo(Pid::from_raw(pid).unwrap())
    }

    /// Lets the process run beside the test, its log read all the while.
    pub(crate) fn drain(self) -> (SignalTo, JoinHandle<(ExitStatus, Vec<String>)>) {
        (self.signal_to(), tokio::spawn(self.rest()))
    }
}

/// Sends signals to a process.
pub(crate) struct SignalTo(Pid);

impl SignalTo {
    pub(crate) fn send(&self, signal: Signal) {
        kill_process(self.0, signal).unwrap();
    }

    /// Resident memory of the process in KiB, as Linux tells it.
    pub(crate) fn resident(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.0)).unwrap();
        let line = status.lines().find_map(|it| it.strip_prefix("VmRSS:")).unwrap();
        line.trim().trim_end_matches(" kB").parse().unwrap()
    }
}

const BINARY: &str = env!("CARGO_BIN_EXE_scheduler");

/// A program in an environment that names no cluster.
fn command(program: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(program);
    command.args(args).env_remove("KUBECONFIG").env_remove("RUST_LOG").env("HOME", "/nonexistent");
    command
}

/// Runs the binary to its end; its exit code, standard output and standard error.
pub(crate) async fn run(args: &[&str]) -> (i32, String, String) {
    let output = command(Path::new(BINARY), args).output();
    let output = soon("end of the process", output).await.unwrap();
    let text = |it: Vec<u8>| String::from_utf8(it).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

/// A port of loopback that nobody has at the moment.
pub(crate) fn free_port() -> u16 {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port()
}

/// What a plain HTTP server on loopback answers at `path`, head and body.
pub(crate) async fn page(port: u16, path: &str) -> String {
    let request = format!("GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n");
    let answer = async {
        let mut stream = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        answer
    };
    soon(path, answer).await
}

/// A `KubeSchedulerConfiguration` with these fields, in a file.
pub(crate) fn config_file(fields: &str) -> NamedTempFile {
    let mut file = NamedTempFile::new().unwrap();
    let head = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n";
    file.write_all(format!("{head}{fields}").as_bytes()).unwrap();
    file
}
