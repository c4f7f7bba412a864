//! A scheduler process: as short to build as the Go original.
//!
//! ```no_run
//! use std::process::ExitCode;
//!
//! use loadmaster_plugins::academy::concentrate::Concentrate;
//! use loadmaster_scheduler::app::SchedulerCommand;
//!
//! fn main() -> ExitCode {
//!     SchedulerCommand::new().with_plugin::<Concentrate>().run()
//! }
//! ```
//!
//! The command has upstream's plugins; a scheduler of one's own adds more, and is used like
//! `kube-scheduler`: `--config FILE`, `-v N`. Inside, the [core](loadmaster_core::scheduler) runs on
//! one thread and is fed by channels; everything that waits for the network runs beside it.

pub mod app;
mod host;
mod logs;
mod measure;
mod process;
mod serving;
