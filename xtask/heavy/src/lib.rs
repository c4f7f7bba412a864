//! What comes before every heavy step: how much memory there is, whether the compilers fit into it,
//! and whether somebody else is at such a step.
//!
//! `cargo xtask` looks by itself before it has cargo build a program, and the program behind
//! `cargo xtask doctor` before a release build; both with this.

pub mod compilers;
pub mod lock;
pub mod memory;
pub mod size;
