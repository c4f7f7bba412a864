//! The binary `lab`; everything is in the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    loadmaster_lab::cli::run(std::env::args_os())
}
