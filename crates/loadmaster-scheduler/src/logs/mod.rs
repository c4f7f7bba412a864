//! What the process says, on standard error: one line a decision, more on request.

mod decision;

use std::{io::IsTerminal, panic};

use tracing_subscriber::EnvFilter;

use crate::app::LogFormat;

pub(crate) use decision::{binding_failed, bound, decided};

/// Begins to log. `verbosity` is kube-scheduler's: from 4 on plugins are heard, from 10 on every
/// node. `RUST_LOG` comes before it. `NO_COLOR` is obeyed.
pub(crate) fn start(verbosity: u8, format: LogFormat) {
    let level = match verbosity {
        0..=3 => "info",
        4..=9 => "debug",
        10.. => "trace",
    };
    // The client's own lines repeat what is said here with more words.
    let libraries = "hyper=warn,hyper_util=warn,kube_client=off,rustls=warn,tower=warn";
    let filter = EnvFilter::try_from_default_env()
        .unwrap_or_else(|_| EnvFilter::new(format!("{level},{libraries}")));
    let no_color = std::env::var_os("NO_COLOR").is_some_and(|it| !it.is_empty());
    let ansi = std::io::stderr().is_terminal() && !no_color;
    let lines = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_target(false)
        .with_ansi(ansi)
        .with_writer(std::io::stderr);
    // Where a program that embeds this one has begun to log already, its ways stay.
    let _ = match format {
        LogFormat::Text => lines.try_init(),
        LogFormat::Json => lines.json().flatten_event(true).try_init(),
    };
    panic::set_hook(Box::new(|panic| {
        let place = panic.location().map(ToString::to_string).unwrap_or_default();
        let message = panic.payload_as_str().unwrap_or("no message");
        tracing::error!(place, message, "panic");
    }));
}
