//! The wish to stop: Ctrl-C, `SIGTERM`, the terminal's end.

use std::{io, process::ExitCode};

use futures::FutureExt as _;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// Listens for the wish to stop; from then on the signals no longer end the program by themselves.
#[derive(Debug)]
pub struct Stop {
    interrupt: Signal,
    terminate: Signal,
    hang_up: Signal,
}

/// Somebody wants the program to stop; holds what to end it with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("stopped")]
pub struct Stopped(pub u8);

impl From<Stopped> for ExitCode {
    fn from(it: Stopped) -> Self {
        Self::from(it.0)
    }
}

impl Stop {
    /// Begins to listen.
    ///
    /// # Errors
    /// When the system does not let it.
    pub fn listen() -> io::Result<Self> {
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hang_up: signal(SignalKind::hangup())?,
        })
    }

    /// Whether somebody has wanted the program to stop by now.
    ///
    /// # Errors
    /// When somebody has.
    pub fn check(&mut self) -> Result<(), Stopped> {
        self.wanted().now_or_never().map_or(Ok(()), Err)
    }

    /// Completes when somebody wants the program to stop.
    pub async fn wanted(&mut self) -> Stopped {
        let kind = tokio::select! {
            _ = self.interrupt.recv() => SignalKind::interrupt(),
            _ = self.terminate.recv() => SignalKind::terminate(),
            _ = self.hang_up.recv() => SignalKind::hangup(),
        };
        // As a shell tells it: 128 and the signal's number.
        Stopped(u8::try_from(128 + kind.as_raw_value()).unwrap_or(u8::MAX))
    }
}
