//! Telling how far things are: a bar on a terminal, plain lines elsewhere.

use std::{
    io::{IsTerminal as _, stderr},
    time::Duration,
};

use anstream::eprintln;
use indicatif::{ProgressBar, ProgressStyle};

/// One thing that takes a while.
#[derive(Debug)]
pub(crate) struct Progress {
    bar: Option<ProgressBar>,
    what: String,
    last: Option<u64>,
    total: u64,
}

impl Progress {
    /// Begins to tell about `what`, which is done at `total`.
    pub(crate) fn new(what: &str, total: u64) -> Self {
        let bar = stderr().is_terminal().then(|| {
            let style = ProgressStyle::with_template("{spinner} {msg} [{bar:24}] {pos}/{len}");
            let bar = ProgressBar::new(total);
            bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
            bar.set_message(what.to_owned());
            bar.enable_steady_tick(Duration::from_millis(100));
            bar
        });
        Self { bar, what: what.to_owned(), last: None, total }
    }

    /// Tells how far it is.
    pub(crate) fn at(&mut self, position: u64) {
        if let Some(bar) = &self.bar {
            bar.set_position(position);
        } else if self.last != Some(position) {
            eprintln!("{} … {position}/{}", self.what, self.total);
        }
        self.last = Some(position);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
            let position = self.last.unwrap_or_default();
            eprintln!("{} … {position}/{}", self.what, self.total);
        }
    }
}

/// Tells one thing.
pub(crate) fn note(text: &str) {
    eprintln!("{text}");
}
