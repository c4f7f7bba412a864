//! `lab up --detach`: the same command again, in the background.

use std::env;
use std::ffi::OsString;
use std::fs::OpenOptions;
use std::io::{BufRead as _, BufReader, Read as _, Seek as _};
use std::process::{Command, ExitCode, Stdio};

use anyhow::Context as _;

use super::error::UserError;
use super::output::{Format, say};
use super::state::{Facts, Files};
use super::up::Up;

/// Starts the lab in a process of its own, waits until it is ready and says so.
pub(super) fn start(up: &Up) -> anyhow::Result<ExitCode> {
    let files = up.state.files();
    // Its log must not be swept from under a lab that is running already.
    drop(files.claim()?);
    let files = files.create()?;
    let log = files.lab_log();
    let mut options = OpenOptions::new();
    let mut output = options
        .read(true)
        .write(true)
        .create(true)
        .truncate(true)
        .open(&log)
        .map_err(|reason| UserError::StateDir { dir: files.dir().to_owned(), reason })?;
    let mut child = Command::new(env::current_exe().context("cannot find this program")?)
        .args(arguments(up, &files))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(output.try_clone().context("cannot share the log")?)
        .spawn()
        .context("cannot start the lab in the background")?;
    let stdout = child.stdout.take().context("the lab in the background has no output")?;
    let mut line = String::new();
    BufReader::new(stdout).read_line(&mut line).context("cannot hear from the lab")?;
    let Ok(facts) = serde_json::from_str::<Facts>(&line) else {
        let status = child.wait().context("the lab in the background is lost")?;
        // The lab has removed its files by now, but not what is open here.
        let mut written = String::new();
        output.rewind().and_then(|()| output.read_to_string(&mut written)).unwrap_or_default();
        let written = written.trim();
        let text = written.strip_prefix("error: ").unwrap_or(written).to_owned();
        let text = if text.is_empty() { status.to_string() } else { text };
        files.sweep();
        return Err(UserError::Detached { log: text }.into());
    };
    match up.output {
        Format::Json => say(line.trim_end())?,
        Format::Text => say(up.instructions(&facts))?,
    }
    Ok(ExitCode::SUCCESS)
}

/// The arguments of the process in the background.
fn arguments(up: &Up, files: &Files) -> Vec<OsString> {
    let mut arguments: Vec<OsString> =
        ["up", "--in-background", "--output", "json"].map(OsString::from).into();
    let mut option = |name: &str, value: OsString| arguments.extend([name.into(), value]);
    option("--nodes", up.nodes.to_string().into());
    option("--node-cpu", (&up.node_cpu).into());
    option("--node-memory", (&up.node_memory).into());
    option("--node-pods", up.node_pods.to_string().into());
    option("--port", up.port.to_string().into());
    option("--https-port", up.https_port.to_string().into());
    option("--state-dir", files.dir().into());
    if let Some(zones) = up.zones {
        option("--zones", zones.to_string().into());
    }
    if let Some(file) = &up.kubeconfig {
        option("--kubeconfig", file.into());
    }
    if let Some(binary) = &up.scheduler {
        option("--scheduler", binary.into());
    }
    arguments.extend(up.images.arguments());
    if up.no_scheduler {
        arguments.push("--no-scheduler".into());
    }
    if up.verbose {
        arguments.push("--verbose".into());
    }
    arguments
}
