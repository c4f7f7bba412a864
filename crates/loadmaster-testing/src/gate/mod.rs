//! The gate: what must hold of `CacheLocality` and `Concentrate` before they go into an image.
//!
//! Each [`Check`] runs a framework built with the two plugins over nodes and pods made by hand. A
//! gate that nobody has watched fail is not evidence, so each check comes with a variant of a plugin
//! that is broken on purpose, and [`run`] can be asked to show that the check fails with it.

mod broken;
mod checks;
mod report;

pub use checks::{CHECKS, Check};
pub use report::{Outcome, Report};

/// Which framework the checks are run over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// The plugins as they are: every check must pass.
    Check,
    /// The plugins broken on purpose, for each check in its own way: every check must fail.
    Break,
}

/// Runs every check.
pub fn run(mode: Mode) -> Report {
    let outcome = |check: &Check| match mode {
        Mode::Check => {
            Outcome { check: check.name, broken: None, failure: (check.run)((check.sound)()).err() }
        }
        Mode::Break => Outcome {
            check: check.name,
            broken: Some(check.fault),
            failure: (check.run)((check.broken)()).err(),
        },
    };
    Report { mode, outcomes: CHECKS.iter().map(outcome).collect() }
}
