//! `lab up`, `status` and `down` as a person or a script runs them.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

/// A folder in which labs may run; the one in `target/lab` ends with it.
struct Folder(TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn state(&self) -> PathBuf {
        self.path().join("target/lab")
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_lab"));
        command.args(arguments).current_dir(self.path()).env_remove("RUST_LOG");
        command
    }

    fn lab(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }

    /// Starts a lab in the background and returns what it tells about itself.
    fn up(&self, arguments: &[&str]) -> Value {
        let output = self.lab(&[&["up", "--detach", "--output", "json"], arguments].concat());
        assert!(output.status.success(), "{}", stderr(&output));
        serde_json::from_slice(&output.stdout).unwrap()
    }

    /// A stand-in for the scheduler that calls the listener, tells its arguments and stays.
    fn stand_in(&self, listener: &TcpListener) -> String {
        let port = listener.local_addr().unwrap().port();
        let script = format!(
            "#!/bin/bash\nexec 3<>/dev/tcp/127.0.0.1/{port}\necho \"$$ $*\" >&3\nread -u 3 _\n"
        );
        let file = self.path().join("stand-in");
        fs::write(&file, script).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
        file.to_str().unwrap().to_owned()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What a failed test leaves running must not outlive it.
        let _ = self.command(&["down"]).output();
    }
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// The stand-in's connection and its first line.
fn called(listener: &TcpListener) -> (BufReader<TcpStream>, String) {
    let (stream, _) = listener.accept().unwrap();
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line).unwrap();
    (reader, line.trim_end().to_owned())
}

/// Returns when the stand-in is gone: its connection ends with it.
fn wait_for_end(mut stand_in: BufReader<TcpStream>) {
    let _ = stand_in.read_to_end(&mut Vec::new());
}

fn get(server: &str, path: &str) -> String {
    let mut stream = TcpStream::connect(server.strip_prefix("http://").unwrap()).unwrap();
    let request = format!("GET {path} HTTP/1.1\r\nHost: lab\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn a_lab_in_the_background_is_ready_when_it_says_so_and_leaves_nothing() {
    let folder = Folder::new();
    let facts = folder.up(&["--no-scheduler", "--nodes", "3", "--zones", "2"]);
    let server = facts["server"].as_str().unwrap();
    assert!(facts["https"].as_str().unwrap().starts_with("https://127.0.0.1:"));
    assert!(get(server, "/readyz").ends_with("ok"));
    let nodes = get(server, "/api/v1/nodes");
    let nodes: Value = serde_json::from_str(&nodes[nodes.find('{').unwrap()..]).unwrap();
    for (node, zone) in nodes["items"].as_array().unwrap().iter().zip(["a", "b", "a"]) {
        let zone = format!("zone-{zone}");
        assert_eq!(node["metadata"]["labels"]["topology.kubernetes.io/zone"], zone);
        let conditions = node["status"]["conditions"].as_array().unwrap();
        assert!(conditions.iter().any(|it| it["type"] == "Ready" && it["status"] == "True"));
        assert!(node["spec"].get("taints").is_none());
    }
    let status = folder.lab(&["status", "--output", "json"]);
    assert_eq!(serde_json::from_slice::<Value>(&status.stdout).unwrap(), facts);

    let down = folder.lab(&["down"]);
    assert!(down.status.success());
    assert!(TcpStream::connect(server.strip_prefix("http://").unwrap()).is_err());
    assert!(!folder.state().exists());
    assert_eq!(folder.lab(&["status"]).status.code(), Some(1));
}

#[test]
fn inside_of_a_cargo_workspace_there_is_one_lab_wherever_it_is_called_from() {
    let folder = Folder::new();
    let inside = folder.path().join("crates/plugin");
    fs::create_dir_all(&inside).unwrap();
    fs::write(folder.path().join("Cargo.lock"), "").unwrap();
    let from_inside = |arguments: &[&str]| {
        let output = folder.command(arguments).current_dir(&inside).output().unwrap();
        (output.status.code(), String::from_utf8(output.stdout).unwrap())
    };
    let (code, facts) = from_inside(&["up", "--detach", "--no-scheduler", "--output", "json"]);
    assert_eq!(code, Some(0));
    let facts: Value = serde_json::from_str(&facts).unwrap();
    let state = fs::canonicalize(folder.state()).unwrap();
    assert_eq!(facts["state_dir"], state.to_str().unwrap());
    assert_eq!(folder.lab(&["status"]).status.code(), Some(0));
    let (code, told) = from_inside(&["down"]);
    assert_eq!(code, Some(0));
    assert!(told.ends_with("target/lab is gone.\n"), "{told}");
    assert!(!state.exists());
    assert!(!inside.join("target").exists());
}

#[test]
fn the_scheduler_gets_the_kubeconfig_and_a_local_address_and_ends_with_the_lab() {
    let folder = Folder::new();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let facts = folder.up(&["--scheduler", &folder.stand_in(&listener)]);
    let (stand_in, line) = called(&listener);
    let (pid, arguments) = line.split_once(' ').unwrap();
    assert_eq!(facts["pids"]["scheduler"].to_string(), pid);
    let kubeconfig = facts["kubeconfig"].as_str().unwrap();
    // Nothing of the lab can be reached from other machines.
    assert_eq!(arguments, format!("--kubeconfig {kubeconfig} --bind-address=127.0.0.1"));
    assert!(folder.lab(&["down"]).status.success());
    wait_for_end(stand_in);
}

#[test]
#[cfg(target_os = "linux")]
fn the_scheduler_dies_with_a_lab_that_is_killed() {
    let folder = Folder::new();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let facts = folder.up(&["--scheduler", &folder.stand_in(&listener)]);
    let (stand_in, _) = called(&listener);
    let kill = Command::new("kill").args(["-9", &facts["pids"]["lab"].to_string()]).status();
    assert!(kill.unwrap().success());
    wait_for_end(stand_in);
    // What it could not remove itself, the next command does.
    assert!(folder.lab(&["down"]).status.success());
    assert!(!folder.state().exists());
}

#[test]
fn a_scheduler_that_ends_is_started_again() {
    let folder = Folder::new();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    folder.up(&["--scheduler", &folder.stand_in(&listener)]);
    let (mut stand_in, _) = called(&listener);
    writeln!(stand_in.get_mut(), "that is enough").unwrap();
    wait_for_end(stand_in);
    let (_again, _) = called(&listener);
    let log = fs::read_to_string(folder.state().join("lab.log")).unwrap();
    assert!(
        log.contains("the scheduler ended (exit status: 0); starting it again in 1 s"),
        "{log}"
    );
}

#[test]
fn a_lab_in_the_foreground_ends_on_a_signal() {
    let folder = Folder::new();
    let mut command = folder.command(&["up", "--no-scheduler", "--output", "json"]);
    let mut lab = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(lab.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(serde_json::from_str::<Value>(&line).unwrap()["ready"], true);
    let kill = Command::new("kill").args(["-INT", &lab.id().to_string()]).status();
    assert!(kill.unwrap().success());
    assert!(lab.wait().unwrap().success());
    assert!(!folder.state().exists());
}

/// Every refusal ends in what to do, with exit code 2, in the foreground and in the background, and
/// leaves no files.
#[test]
fn refusals_say_what_to_do() {
    let folder = Folder::new();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    fs::write(folder.path().join("file"), "").unwrap();
    fs::write(folder.path().join("config"), "apiVersion: v1\n").unwrap();
    let cases: [(&[&str], &str); 5] = [
        (&["--no-scheduler", "--port", &port], "leave `--port` out"),
        (&["--no-scheduler", "--state-dir", "file/lab"], "--state-dir DIR"),
        (&["--no-scheduler", "--kubeconfig", "config"], "--kubeconfig FILE"),
        (&["--scheduler", "missing"], "cargo build -p loadmaster-scheduler"),
        (&["--no-scheduler", "--node-memory", "much"], "is not a quantity"),
    ];
    for (arguments, hint) in cases {
        for detach in [&[] as &[&str], &["--detach"]] {
            let output = folder.lab(&[&["up"], arguments, detach].concat());
            let text = stderr(&output);
            assert_eq!(output.status.code(), Some(2), "{arguments:?}: {text}");
            assert!(text.contains(hint), "{arguments:?}: {text}");
            assert!(!text.contains('\u{1b}'), "colour in a pipe: {text}");
            assert!(!folder.state().exists(), "{arguments:?}");
        }
    }
    assert_eq!(fs::read_to_string(folder.path().join("config")).unwrap(), "apiVersion: v1\n");
}

#[test]
fn one_lab_runs_per_directory() {
    let folder = Folder::new();
    let facts = folder.up(&["--no-scheduler"]);
    for detach in [&[] as &[&str], &["--detach"]] {
        let output = folder.lab(&[&["up", "--no-scheduler"], detach].concat());
        let text = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{text}");
        assert!(text.contains("a lab is already running") && text.contains("lab down"), "{text}");
        assert!(text.contains(&facts["pids"]["lab"].to_string()), "{text}");
    }
    assert!(folder.lab(&["status"]).status.success());
}

#[test]
fn a_reader_that_has_heard_enough_is_no_error() {
    let folder = Folder::new();
    let mut command = folder.command(&["up", "--no-scheduler", "--detach"]);
    let mut lab = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(lab.stdout.take());
    let output = lab.wait_with_output().unwrap();
    assert!(output.status.success());
    assert_eq!(stderr(&output), "");
    assert!(folder.lab(&["status"]).status.success());
}
