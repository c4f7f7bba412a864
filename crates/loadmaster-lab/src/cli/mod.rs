//! The command `lab`.

mod arguments;
mod completions;
mod detach;
mod down;
mod error;
mod guard;
mod images;
mod kubeconfig;
mod output;
mod scheduler;
mod state;
mod status;
mod up;

pub use arguments::{Lab, run};
