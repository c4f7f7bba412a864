//! Checks the course's plugins before they go into an image; `cargo xtask gate` runs it.

use std::{io::Write as _, process::ExitCode};

use clap::{Parser, ValueEnum};
use loadmaster_testing::gate::{self, Mode};

/// Checks a framework built with the course's two plugins.
///
/// Ends with 0 when every check passes (with --break: when every broken variant is caught), else
/// with 1.
#[derive(Debug, Parser)]
#[command(name = "gate")]
struct Cli {
    /// Break a plugin on purpose for each check, and show the check failing
    #[arg(long = "break")]
    break_plugins: bool,
    /// How the result is shown
    #[arg(long, value_enum, default_value_t = Output::Text)]
    output: Output,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Output {
    /// A line or two for each check.
    Text,
    /// Every check with its failure.
    Json,
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    let report = gate::run(if cli.break_plugins { Mode::Break } else { Mode::Check });
    let text = match cli.output {
        Output::Text => report.to_string(),
        Output::Json => format!("{}\n", report.to_json()),
    };
    // A reader that has gone away has seen enough.
    let _gone = std::io::stdout().write_all(text.as_bytes());
    if report.is_right() { ExitCode::SUCCESS } else { ExitCode::from(1) }
}
