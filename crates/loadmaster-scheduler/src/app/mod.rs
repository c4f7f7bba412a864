//! The command line of a scheduler.

mod args;
mod completions;
mod config;
mod doctor;
mod effective;
mod election;
mod explain;
mod man;
mod manifests;
mod print;
mod run;

use std::{io::Write, process::ExitCode};

use anyhow::anyhow;
use clap::{CommandFactory, Parser};
use loadmaster_framework::{BuildError, Gates, Plugin, Registry};

use args::{Cli, Command};

/// A scheduler as a command: upstream's plugins, those that are added, and the command line.
#[derive(Debug)]
pub struct SchedulerCommand {
    registry: Registry,
    gates: Gates,
    fault: Option<BuildError>,
}

/// Exit codes are part of the interface: scripts tell bad input from a negative finding.
mod exit {
    /// The finding is negative.
    pub(crate) const NEGATIVE: u8 = 1;
    /// The command line, the configuration or the cluster cannot be used.
    pub(crate) const UNUSABLE: u8 = 2;
    /// The program itself is at fault.
    pub(crate) const INTERNAL: u8 = 70;
}
pub(crate) use args::{LogFormat, ServingFlags, TlsVersion};
pub(crate) use exit::{INTERNAL, NEGATIVE, UNUSABLE};

impl Default for SchedulerCommand {
    fn default() -> Self {
        Self::new()
    }
}

impl SchedulerCommand {
    /// A scheduler with upstream's plugins.
    pub fn new() -> Self {
        let registry = loadmaster_plugins::in_tree_registry();
        Self { registry, gates: Gates::default(), fault: None }
    }

    /// Adds a plugin; a configuration can then enable it by its name. A name that is taken is
    /// reported when the command runs.
    #[must_use]
    pub fn with_plugin<P: Plugin>(mut self) -> Self {
        if let Err(error) = self.registry.register::<P>() {
            self.fault.get_or_insert(error);
        }
        self
    }

    /// Reads the command line of the process and does what it asks for. Whatever goes wrong is said
    /// on standard error, with what to do.
    pub fn run(self) -> ExitCode {
        let cli = match Cli::try_parse_from(args::hyphenated(std::env::args_os())) {
            Ok(cli) => cli,
            Err(error) => {
                // Help and version are answers, on standard output and with code 0.
                let _ = error.print();
                return u8::try_from(error.exit_code()).map_or(ExitCode::FAILURE, ExitCode::from);
            }
        };
        self.dispatch(cli).unwrap_or_else(|error| {
            let _ = writeln!(anstream::stderr(), "error: {error:#}");
            ExitCode::from(UNUSABLE)
        })
    }

    fn dispatch(self, cli: Cli) -> anyhow::Result<ExitCode> {
        if let Some(fault) = self.fault {
            return Err(anyhow!(
                "{fault}: every plugin needs a name of its own; change `NAME` of one of the two"
            ));
        }
        match cli.command {
            None => run::run(&cli.run, &self.registry, &self.gates),
            Some(Command::Config(command)) => command.run(&self.registry, &self.gates),
            Some(Command::Explain(command)) => command.run(&self.registry),
            Some(Command::Manifests(command)) => command.run(&self.registry, &self.gates),
            Some(Command::Doctor(command)) => command.run(&self.registry, &self.gates),
            Some(Command::Man(command)) => command.run(Cli::command()),
            Some(Command::Completions(command)) => command.run(&mut Cli::command()),
        }
    }
}
