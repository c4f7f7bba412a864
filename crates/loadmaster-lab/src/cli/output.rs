//! What the command says, and to whom: results to stdout, the rest to stderr.

use std::fmt::Display;
use std::io::{self, IsTerminal as _, Write as _};

use clap::ValueEnum;

/// The form of results.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(super) enum Format {
    /// Sentences for people.
    #[default]
    Text,
    /// One line of JSON for programs.
    Json,
}

/// Writes a result line to stdout.
///
/// # Errors
/// When nobody reads it any more.
pub(super) fn say(text: impl Display) -> io::Result<()> {
    let mut stdout = anstream::stdout().lock();
    writeln!(stdout, "{text}")?;
    stdout.flush()
}

/// Tells the person in front of the terminal something.
pub(super) fn note(text: impl Display) {
    // A closed stderr has no other place to complain to.
    let _ = writeln!(anstream::stderr().lock(), "{text}");
}

/// Reports an error.
pub(super) fn complain(error: impl Display) {
    note(format_args!("\u{1b}[1;31merror\u{1b}[0m: {error}"));
}

/// Sends the program's own log to stderr: warnings, or everything that `lab` does.
pub(super) fn log(verbose: bool) {
    let level = if verbose { "loadmaster_lab=debug,info" } else { "warn" };
    let filter = tracing_subscriber::EnvFilter::try_from_default_env()
        .unwrap_or_else(|_| tracing_subscriber::EnvFilter::new(level));
    let colour = io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none();
    let set = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(io::stderr)
        .with_ansi(colour)
        .try_init();
    if set.is_err() {
        tracing::debug!("a log was set up before");
    }
}
