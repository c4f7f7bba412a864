//! `lab status`.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use serde_json::json;

use super::arguments::StateDir;
use super::output::{Format, say};
use super::state::Facts;

/// How long the API server may take to say that it is well.
const PATIENCE: Duration = Duration::from_secs(2);

/// Say whether a cluster runs and how to reach it; exit code 1 when none does.
#[derive(Debug, Args)]
pub(super) struct StatusCommand {
    #[command(flatten)]
    state: StateDir,
    /// The form of the answer.
    #[arg(long, value_enum, default_value_t)]
    output: Format,
}

impl StatusCommand {
    pub(super) fn run(self) -> anyhow::Result<ExitCode> {
        let files = self.state.files();
        let facts = files.facts().filter(|_| files.is_in_use());
        let Some(mut facts) = facts else {
            let dir = files.dir().display();
            say(match self.output {
                Format::Json => json!({"ready": false}).to_string(),
                Format::Text => format!("No lab is running in {dir}; `lab up` starts one."),
            })?;
            return Ok(ExitCode::from(1));
        };
        facts.ready = answers(&facts.server);
        say(match self.output {
            Format::Json => serde_json::to_string(&facts)?,
            Format::Text => describe(&facts),
        })?;
        Ok(if facts.ready { ExitCode::SUCCESS } else { ExitCode::from(1) })
    }
}

fn describe(facts: &Facts) -> String {
    let well = if facts.ready { "ready" } else { "does not answer" };
    let scheduler =
        facts.pids.scheduler.map_or_else(|| "none".to_owned(), |pid| format!("pid {pid}"));
    format!(
        "The lab cluster is up.\n  server      {} ({well})\n  https       {}\n  kubeconfig  {}\n  lab         pid \
         {}\n  scheduler   {scheduler}\n  nodes       {}",
        facts.server,
        facts.https,
        facts.kubeconfig.display(),
        facts.pids.lab,
        facts.nodes.len(),
    )
}

/// Whether the API server says that it is ready.
fn answers(server: &str) -> bool {
    let address: Option<SocketAddr> = server.strip_prefix("http://").and_then(|it| it.parse().ok());
    let ask = |address: SocketAddr| -> std::io::Result<String> {
        let mut stream = TcpStream::connect_timeout(&address, PATIENCE)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.write_all(b"GET /readyz HTTP/1.1\r\nHost: lab\r\nConnection: close\r\n\r\n")?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        Ok(answer)
    };
    address.is_some_and(|it| ask(it).is_ok_and(|answer| answer.starts_with("HTTP/1.1 200")))
}
