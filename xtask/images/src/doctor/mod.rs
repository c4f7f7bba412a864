//! What the machine has, against what a step needs: before every heavy step, and by itself as
//! `cargo xtask doctor`.

mod checks;
mod kubeconfig;
mod machine;
mod reach;
mod report;

pub use checks::{Needs, Step, checks};
pub use machine::{Folder, Machine, MachineError, Other, free, size_of};
pub use reach::{Reached, cluster, registry};
pub use report::{Line, Report, Verdict};
