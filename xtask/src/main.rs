//! The project's own commands: `cargo xtask COMMAND`.

use std::process::ExitCode;

use anstream::eprintln;
use clap::{Parser, Subcommand};

mod cargo;
mod gate;
mod golden;
mod heavy;
mod images;
mod lab;
mod soak;
mod stage1;
mod stage2;
mod testing;
mod tidy;

/// The project's own commands.
///
/// Each ends with 0 when all is well, with 1 when what it looked at is not as it should be, and with
/// 2 when it could not look.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Tasks {
    #[command(subcommand)]
    task: Task,
}

#[derive(Debug, Subcommand)]
enum Task {
    Doctor(images::Doctor),
    Build(images::Build),
    BuildImage(images::BuildImage),
    VerifyTags(images::VerifyTags),
    Forge(images::Forge),
    WriteDown(images::WriteDown),
    Stage1(stage1::Stage1),
    Stage2(stage2::Stage2),
    Teardown(stage2::Teardown),
    Lab(lab::Lab),
    Gate(gate::Gate),
    Golden(golden::Golden),
    Soak(soak::Soak),
    Tidy(tidy::Tidy),
}

fn main() -> ExitCode {
    let outcome = match Tasks::parse().task {
        Task::Doctor(_)
        | Task::Build(_)
        | Task::BuildImage(_)
        | Task::VerifyTags(_)
        | Task::Forge(_)
        | Task::WriteDown(_) => images::run(),
        Task::Stage1(it) => it.run(),
        Task::Stage2(it) => it.run(),
        Task::Teardown(_) => stage2::Teardown::run(),
        Task::Lab(it) => it.run(),
        Task::Gate(it) => it.run(),
        Task::Golden(it) => it.run(),
        Task::Soak(it) => it.run(),
        Task::Tidy(it) => it.run(),
    };
    outcome.unwrap_or_else(|error| {
        eprintln!("error: {error:#}");
        ExitCode::from(2)
    })
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    #[test]
    fn the_command_line_is_consistent() {
        super::Tasks::command().debug_assert();
    }
}
