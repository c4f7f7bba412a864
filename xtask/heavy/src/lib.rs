//! What comes before every heavy step: how much memory there is, whether the compilers fit into it,
//! and whether somebody else is at such a step. And what tells one process from another, for all that
//! notes down which it has left running.
//!
//! `cargo xtask` looks by itself before it has cargo build a program, and the program behind
//! `cargo xtask doctor` before a release build; both with this.

pub mod compilers;
pub mod lock;
pub mod memory;
pub mod process;
pub mod size;
