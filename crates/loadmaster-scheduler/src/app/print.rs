//! Answers on standard output.

use std::io::{ErrorKind, Write};

use anyhow::Context;

/// Prints an answer. A reader that has seen enough (`| head`) is no fault.
pub(super) fn print(text: &str) -> anyhow::Result<()> {
    let mut out = anstream::stdout();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        result => result.context("cannot print the answer"),
    }
}
