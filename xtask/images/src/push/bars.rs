//! Telling how far content is on its way: a bar each on a terminal, plain lines elsewhere.

use std::{
    io::{IsTerminal as _, stderr},
    sync::Arc,
    time::Duration,
};

use anstream::eprintln;
use indicatif::{MultiProgress, ProgressBar, ProgressStyle};

use super::Progress;
use crate::transport::{Fault, OnBytes, Patience, Wait};

const BAR: &str = "{msg:32} [{bar:24}] {bytes}/{total_bytes}";

/// What the user sees of content on its way.
#[derive(Clone, Debug)]
pub struct Bars {
    /// Where stderr is a terminal.
    bars: Option<MultiProgress>,
    /// `uploaded` or `read`.
    done: &'static str,
}

impl Bars {
    /// For content that is being uploaded.
    pub fn of_upload() -> Self {
        Self::new("uploaded")
    }

    /// For content that is being read.
    pub fn of_check() -> Self {
        Self::new("read")
    }

    fn new(done: &'static str) -> Self {
        Self { bars: stderr().is_terminal().then(MultiProgress::new), done }
    }

    fn tell(&self, line: &str) {
        match &self.bars {
            Some(bars) => drop(bars.println(line)),
            None => eprintln!("{line}"),
        }
    }
}

impl Progress for Bars {
    fn begin(&self, what: &str, size: u64) -> OnBytes {
        let Some(bars) = &self.bars else { return Arc::new(|_| ()) };
        let bar = bars.add(ProgressBar::new(size));
        let style = ProgressStyle::with_template(BAR);
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        bar.set_message(what.to_owned());
        let bar = Cleared(bar);
        Arc::new(move |position| bar.0.set_position(position))
    }

    fn end(&self, what: &str, moved: bool) {
        let done = if moved { self.done } else { "is there" };
        self.tell(&format!("  {what}: {done}"));
    }
}

impl Patience for Bars {
    fn wait(&self, delay: Duration, fault: &Fault) -> Wait {
        self.tell(&format!("  {}; again in {:.1} s", fault.short(), delay.as_secs_f64()));
        Box::pin(tokio::time::sleep(delay))
    }
}

/// A bar that goes away with those who move it.
struct Cleared(ProgressBar);

impl Drop for Cleared {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}
