//! Telling how far things are: a bar on a terminal, plain lines elsewhere.

use std::{
    io::{IsTerminal as _, stderr},
    time::Duration,
};

use anstream::eprintln;
use indicatif::{ProgressBar, ProgressStyle};

/// A number of steps, one after the other.
#[derive(Debug)]
pub(crate) struct Steps {
    what: String,
    bar: Option<ProgressBar>,
}

impl Steps {
    /// Begins `what`, in `total` steps.
    pub(crate) fn new(what: &str, total: usize) -> Self {
        let bar = stderr().is_terminal().then(|| {
            let style = ProgressStyle::with_template("{spinner} {msg} [{bar:24}] {pos}/{len}");
            let bar = ProgressBar::new(total as u64);
            bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
            bar.set_message(what.to_owned());
            bar.enable_steady_tick(Duration::from_millis(100));
            bar
        });
        Self { what: what.to_owned(), bar }
    }

    /// Tells which step begins.
    pub(crate) fn next(&mut self, step: &str) {
        match &self.bar {
            Some(bar) => {
                bar.set_message(format!("{}: {step}", self.what));
                bar.inc(1);
            }
            None => eprintln!("{}: {step}", self.what),
        }
    }
}

impl Drop for Steps {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

/// Tells one thing.
pub(crate) fn note(text: &str) {
    eprintln!("{text}");
}
