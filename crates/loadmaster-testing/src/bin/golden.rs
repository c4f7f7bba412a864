//! Compares decisions with those recorded from kube-scheduler; `cargo xtask golden` runs it.

use std::{io::Write as _, path::PathBuf, process::ExitCode};

use clap::{Parser, ValueEnum};
use loadmaster_testing::golden::{self, Filter};
use serde_json::json;

/// Compares our decisions with those recorded from kube-scheduler 1.36.2.
///
/// Ends with 0 when every case is equal or deviates as docs/deviations.md says, with 1 when one
/// fails, with 2 when the cases cannot be run.
#[derive(Debug, Parser)]
#[command(name = "golden")]
struct Cli {
    /// Where the cases are, *.jsonl or *.jsonl.zst [default: those of this repository]
    #[arg(long)]
    dir: Option<PathBuf>,
    /// Only this family: 02-taints, or a part of its name
    #[arg(long)]
    family: Option<String>,
    /// Only the case of this id
    #[arg(long)]
    case: Option<String>,
    /// How the result is shown
    #[arg(long, value_enum, default_value_t = Output::Text)]
    output: Output,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Output {
    /// A line for each family, and what differs.
    Text,
    /// Every case with what differs.
    Json,
}

#[expect(clippy::print_stderr, reason = "this is a command")]
fn main() -> ExitCode {
    let cli = Cli::parse();
    let dir = cli.dir.unwrap_or_else(golden::default_dir);
    let filter = Filter { family: cli.family, case: cli.case };
    match golden::run(&dir, &filter) {
        Ok(report) => {
            let text = match cli.output {
                Output::Text => report.to_string(),
                Output::Json => format!("{}\n", json!({"version": 1, "report": report})),
            };
            // A reader that has gone away has seen enough.
            let _gone = std::io::stdout().write_all(text.as_bytes());
            if report.failed() { ExitCode::from(1) } else { ExitCode::SUCCESS }
        }
        Err(error) => {
            eprintln!("error: {:#}", anyhow::Error::from(error));
            ExitCode::from(2)
        }
    }
}
