//! The signals that end the process, and the one that must not.

use tokio::signal::unix::{Signal, SignalKind, signal};

/// SIGTERM and SIGINT.
pub(super) struct Signals {
    terminate: Signal,
    interrupt: Signal,
}

/// SIGHUP, which asks for the configuration to be read again. Where nobody listens it ends a process,
/// so this comes first; what arrives before anybody waits for it is kept.
pub(super) fn hangup() -> std::io::Result<Signal> {
    signal(SignalKind::hangup())
}

impl Signals {
    pub(super) fn listen() -> std::io::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
        })
    }

    /// The name of the next one.
    pub(super) async fn next(&mut self) -> &'static str {
        tokio::select! {
            _ = self.terminate.recv() => "SIGTERM",
            _ = self.interrupt.recv() => "SIGINT",
        }
    }
}
