//! The wish to stop: Ctrl-C, `SIGTERM`, the terminal's end.

use std::process::ExitCode;

use anyhow::Context as _;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// Listens for the wish to stop; from then on the signals no longer end the program by themselves.
#[derive(Debug)]
pub(crate) struct Stop {
    interrupt: Signal,
    terminate: Signal,
    hang_up: Signal,
}

impl Stop {
    pub(crate) fn listen() -> anyhow::Result<Self> {
        let listen = |kind| signal(kind).context("cannot listen for signals");
        Ok(Self {
            interrupt: listen(SignalKind::interrupt())?,
            terminate: listen(SignalKind::terminate())?,
            hang_up: listen(SignalKind::hangup())?,
        })
    }

    /// Completes when somebody wants the program to stop, with what to end it with.
    pub(crate) async fn wanted(&mut self) -> ExitCode {
        let kind = tokio::select! {
            _ = self.interrupt.recv() => SignalKind::interrupt(),
            _ = self.terminate.recv() => SignalKind::terminate(),
            _ = self.hang_up.recv() => SignalKind::hangup(),
        };
        // As a shell tells it: 128 and the signal's number.
        ExitCode::from(u8::try_from(128 + kind.as_raw_value()).unwrap_or(u8::MAX))
    }
}
