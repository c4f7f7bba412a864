//! What a heavy step takes: measured while it runs, kept for the next time.

mod guard;
mod ledger;
mod run;

pub use guard::{WORD as GUARD, guard, guarded};
pub use ledger::{Ledger, LedgerError, Measurement, What};
pub use run::{Ran, RunError, run};
