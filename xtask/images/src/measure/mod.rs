//! What a heavy step takes: measured while it runs, kept for the next time.

mod ledger;
mod run;

pub use ledger::{Ledger, LedgerError, Measurement, What};
pub use run::{Ran, RunError, run};
