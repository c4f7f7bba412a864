//! Pods that run for real, through the binary `lab` and under bubblewrap.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

use super::fixture;

/// A program without any library: an image from scratch has none. It says what it sees, and what it
/// finds in its volume when asked by a file there; it ends when told to.
const PROGRAM: &str = r#"
use std::{env, fs, os::unix::fs::MetadataExt, process, thread, time::Duration};
fn main() {
    let words: Vec<String> = env::args().collect();
    println!("I am {words:?}, process {}", process::id());
    println!("user {}", fs::metadata("/proc/self").unwrap().uid());
    println!("root is read-only: {}", fs::write("/x", "").is_err());
    let account = "/var/run/secrets/kubernetes.io/serviceaccount";
    println!("namespace {}", fs::read_to_string(format!("{account}/namespace")).unwrap());
    println!("token: {}", fs::read_to_string(format!("{account}/token")).unwrap().contains('.'));
    println!("server {}", env::var("KUBERNETES_SERVICE_HOST").unwrap());
    let mut seen = String::new();
    loop {
        let now = fs::read_to_string("/etc/app/word").unwrap_or_default();
        if now != seen {
            println!("the word is {now}");
            seen = now;
        }
        if seen == "end" {
            process::exit(7);
        }
        thread::sleep(Duration::from_millis(20));
    }
}
"#;

const IMAGE: &str = "forge.lab:5000/test/app:v1";

struct Bench {
    folder: TempDir,
    server: String,
}

impl Bench {
    fn new() -> Option<Self> {
        if !bwrap_works() {
            return None;
        }
        let folder = tempfile::tempdir().unwrap();
        let program = static_program(folder.path());
        let layout = folder.path().join("layout");
        let config = json!({"Entrypoint": ["/app"], "User": "65532:65532"});
        fixture::layout(&layout, "v1", &[("app", &fs::read(program).unwrap())], &config);
        let mut bench = Self { folder, server: String::new() };
        let image = format!("--image={IMAGE}=oci:{}", layout.display());
        let output =
            bench.lab(&["up", "--detach", "--output=json", "--no-scheduler", "--nodes=1", &image]);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let facts: Value = serde_json::from_slice(&output.stdout).unwrap();
        bench.server = facts["server"].as_str().unwrap().trim_start_matches("http://").to_owned();
        Some(bench)
    }

    fn lab(&self, arguments: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_lab"));
        command.args(arguments).current_dir(self.folder.path()).env_remove("RUST_LOG");
        command.output().unwrap()
    }

    fn ask(&self, method: &str, path: &str, body: &Value) -> String {
        let mut stream = TcpStream::connect(&self.server).unwrap();
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let kind =
            if method == "PATCH" { "application/merge-patch+json" } else { "application/json" };
        let request = format!(
            "{method} {path} HTTP/1.1\r\nHost: lab\r\nConnection: close\r\nContent-Type: \
             {kind}\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    fn pod(&self) -> Value {
        let answer = self.ask("GET", POD, &Value::Null);
        serde_json::from_str(&answer[answer.find("\r\n\r\n").unwrap()..]).unwrap()
    }

    /// Asks until the answer is as wanted.
    fn until<T>(&self, look: impl Fn() -> T, wanted: impl Fn(&T) -> bool) -> T
    where
        T: std::fmt::Debug,
    {
        let end = Instant::now() + Duration::from_mins(1);
        loop {
            let found = look();
            if wanted(&found) {
                return found;
            }
            assert!(Instant::now() < end, "not as wanted: {found:?}\n{:#}", self.pod()["status"]);
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn printed(&self, options: &str) -> String {
        self.ask("GET", &format!("{POD}/log?{options}"), &Value::Null)
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        self.lab(&["down"]);
    }
}

const POD: &str = "/api/v1/namespaces/default/pods/p";

fn bwrap_works() -> bool {
    let mut command = Command::new("bwrap");
    command.args(["--unshare-user", "--unshare-pid", "--as-pid-1", "--ro-bind", "/", "/", "true"]);
    let works = command.stderr(Stdio::null()).status().is_ok_and(|it| it.success());
    assert!(works || std::env::var_os("CI").is_none(), "bwrap does not work here");
    if !works {
        eprintln!("NOT TESTED: bwrap (bubblewrap) does not work here, so no pod was run in it");
    }
    works
}

fn static_program(folder: &Path) -> PathBuf {
    let (source, program) = (folder.join("app.rs"), folder.join("app"));
    fs::write(&source, PROGRAM).unwrap();
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let mut command = Command::new(rustc);
    command.args(["--edition=2024", "-Ctarget-feature=+crt-static", "-Cpanic=abort", "-o"]);
    let output = command.arg(&program).arg(&source).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    program
}

#[test]
#[cfg(target_os = "linux")]
fn a_pod_runs_in_a_root_of_its_own_and_dies_with_a_lab_that_is_killed() {
    let Some(bench) = Bench::new() else { return };
    let map = json!({"metadata": {"name": "words"}, "data": {"word": "hello"}});
    bench.ask("POST", "/api/v1/namespaces/default/configmaps", &map);
    let account = "/api/v1/namespaces/default/serviceaccounts";
    bench.ask("POST", account, &json!({"metadata": {"name": "robot"}}));
    let pod = json!({"metadata": {"name": "p"}, "spec": {"nodeName": "node-1",
        "serviceAccountName": "robot",
        "volumes": [{"name": "v", "configMap": {"name": "words"}}],
        "containers": [{"name": "c", "image": IMAGE, "args": ["--config=/etc/app/word"],
            "securityContext": {"readOnlyRootFilesystem": true, "runAsNonRoot": true},
            "volumeMounts": [{"name": "v", "mountPath": "/etc/app"}]}]}});
    bench.ask("POST", "/api/v1/namespaces/default/pods", &pod);
    let printed = bench.until(|| bench.printed(""), |it| it.contains("the word is hello"));
    for line in [
        "I am [\"/app\", \"--config=/etc/app/word\"], process 1",
        "user 65532",
        "root is read-only: true",
        "namespace default",
        "token: true",
        "server 127.0.0.1",
    ] {
        assert!(printed.contains(line), "{line:?} is missing in {printed}");
    }
    let status = bench.pod()["status"]["containerStatuses"][0].clone();
    assert!(status["containerID"].as_str().unwrap().starts_with("bwrap://"), "{status}");
    assert_eq!(status["user"]["linux"]["uid"], 65532);

    // The config map changes under the running program, which then ends, and is started again.
    let patch = |word: &str| {
        let patch = json!({"data": {"word": word}});
        bench.ask("PATCH", "/api/v1/namespaces/default/configmaps/words", &patch);
    };
    patch("end");
    let pod = bench.until(
        || bench.pod()["status"]["containerStatuses"][0].clone(),
        |it| it["restartCount"].as_i64() >= Some(1),
    );
    patch("again");
    assert_eq!(pod["lastState"]["terminated"]["exitCode"], 7);
    bench.until(|| bench.printed("previous=true"), |it| it.contains("the word is end"));
    bench.until(|| bench.printed("tailLines=1"), |it| it.contains("the word is again"));

    // What it is called on the machine shows by its program, which nobody else runs.
    let alive = || program_runs("--config=/etc/app/word");
    assert!(alive());
    let facts = fs::read_to_string(bench.folder.path().join("target/lab/lab.json")).unwrap();
    let pid = serde_json::from_str::<Value>(&facts).unwrap()["pids"]["lab"].to_string();
    assert!(Command::new("kill").args(["-9", &pid]).status().unwrap().success());
    let end = Instant::now() + Duration::from_secs(20);
    while alive() {
        assert!(Instant::now() < end, "the container outlives the lab");
        std::thread::sleep(Duration::from_millis(20));
    }
    // And what it left on disk goes with the next command.
    assert!(bench.lab(&["down"]).status.success());
    assert!(!bench.folder.path().join("target/lab").exists());
}

/// Whether a process has this word among its arguments.
fn program_runs(word: &str) -> bool {
    let processes = fs::read_dir("/proc").unwrap().flatten();
    processes.filter_map(|it| fs::read(it.path().join("cmdline")).ok()).any(|line| {
        let mut words = line.split(|byte| *byte == 0);
        words.next() == Some(b"/app") && words.any(|it| it == word.as_bytes())
    })
}
