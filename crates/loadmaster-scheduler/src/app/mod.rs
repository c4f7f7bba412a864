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

use std::{
    collections::BTreeMap,
    io::Write,
    panic::{AssertUnwindSafe, catch_unwind},
    process::ExitCode,
    sync::Arc,
};

use anyhow::anyhow;
use clap::{CommandFactory, FromArgMatches};
use loadmaster_framework::{ActionResult, Gates, Plugin, Registry};
use loadmaster_k8s::act::{Actions, CustomAction};
use serde_json::Value;

use crate::process::feeds::{FeedSources, Poll};
use args::{Cli, Command};

/// A scheduler as a command: upstream's plugins, those that are added, and the command line.
#[derive(Debug)]
pub struct SchedulerCommand {
    registry: Registry,
    gates: Gates,
    sources: FeedSources,
    actions: Actions,
    fault: Option<String>,
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
pub(crate) use config::CONFIG_BYTES_MAX;
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
        Self {
            registry,
            gates: Gates::default(),
            sources: FeedSources::default(),
            actions: Actions::default(),
            fault: None,
        }
    }

    /// Adds a plugin; a configuration can then enable it by its name. A name that is taken is
    /// reported when the command runs.
    #[must_use]
    pub fn with_plugin<P: Plugin>(mut self) -> Self {
        if let Err(error) = self.registry.register::<P>() {
            self.fault.get_or_insert_with(|| {
                format!(
                    "{error}: every plugin needs a name of its own; change `NAME` of one of the two"
                )
            });
        }
        self
    }

    /// Registers the source of the feeds that plugins declare as
    /// [`Registered`](loadmaster_framework::FeedSource::Registered) under this name. `poll` is called
    /// again and again, as the declaration has it, and says every fact that there is: a value for
    /// each thing that the facts are about, as a node's name. Where it fails, takes too long or
    /// panics, what it said before grows old, and the plugins do what they declare for that.
    ///
    /// It runs on a thread of its own while it is asked, and may block that.
    ///
    /// ```no_run
    /// use std::collections::BTreeMap;
    ///
    /// use loadmaster_scheduler::app::SchedulerCommand;
    ///
    /// let load = || async {
    ///     let text = std::fs::read_to_string("/run/load.json").map_err(|error| error.to_string())?;
    ///     serde_json::from_str::<BTreeMap<String, serde_json::Value>>(&text)
    ///         .map_err(|error| error.to_string())
    /// };
    /// SchedulerCommand::new().with_feed("load", load).run();
    /// ```
    #[must_use]
    pub fn with_feed<F, A>(mut self, name: &str, poll: F) -> Self
    where
        F: Fn() -> A + Send + Sync + 'static,
        A: Future<Output = Result<BTreeMap<String, Value>, String>> + Send + 'static,
    {
        let poll: Poll = Arc::new(move || Box::pin(poll()));
        if !self.sources.insert(name.to_owned(), poll) {
            self.fault.get_or_insert_with(|| format!(
                "two sources are registered for the feed {name:?}: give one of them another name"
            ));
        }
        self
    }

    /// Registers what plugins hand out as
    /// [`Action::Custom`](loadmaster_framework::Action::Custom) under this name, as a licence that
    /// PreBind takes from a server of your own. It is given the action's input, runs beside
    /// scheduling and must not block its thread, for 30 s at most, and only while this scheduler leads;
    /// the plugin gets what it answers. Where it panics or is cut off, what it has done is
    /// [unknown](loadmaster_framework::ActionError::Unknown).
    ///
    /// ```no_run
    /// use loadmaster_scheduler::app::SchedulerCommand;
    ///
    /// let licence = |input: serde_json::Value| async move {
    ///     Ok(serde_json::json!({"granted": input["seats"]}))
    /// };
    /// SchedulerCommand::new().with_action("licence", licence).run();
    /// ```
    #[must_use]
    pub fn with_action<F, A>(mut self, name: &str, run: F) -> Self
    where
        F: Fn(Value) -> A + Send + Sync + 'static,
        A: Future<Output = ActionResult> + Send + 'static,
    {
        let action: CustomAction = Arc::new(move |input| Box::pin(run(input)));
        if !self.actions.insert(name.to_owned(), action) {
            self.fault.get_or_insert_with(|| {
                format!("two actions are registered as {name:?}: give one of them another name")
            });
        }
        self
    }

    /// Reads the command line of the process and does what it asks for. Whatever goes wrong is said
    /// on standard error, with what to do.
    pub fn run(self) -> ExitCode {
        let line = args::hyphenated(std::env::args_os());
        let parsed = Cli::command().try_get_matches_from(line).and_then(|matches| {
            let flags = args::values(&Cli::command(), &matches);
            Ok((Cli::from_arg_matches(&matches)?, flags))
        });
        let (cli, flags) = match parsed {
            Ok(parsed) => parsed,
            Err(error) => {
                // Help and version are answers, on standard output and with code 0.
                let _ = error.print();
                return u8::try_from(error.exit_code()).map_or(ExitCode::FAILURE, ExitCode::from);
            }
        };
        ended(|| self.dispatch(cli, flags))
    }

    fn dispatch(self, cli: Cli, flags: BTreeMap<String, String>) -> anyhow::Result<ExitCode> {
        if let Some(fault) = self.fault {
            return Err(anyhow!("{fault}"));
        }
        match cli.command {
            None => run::run(cli.run, flags, self.registry, self.gates, self.sources, self.actions),
            Some(Command::Config(command)) => command.run(&self.registry, &self.gates),
            Some(Command::Explain(command)) => command.run(&self.registry),
            Some(Command::Manifests(command)) => command.run(&self.registry, &self.gates),
            Some(Command::Doctor(command)) => command.run(&self.registry, &self.gates),
            Some(Command::Man(command)) => command.run(Cli::command()),
            Some(Command::Completions(command)) => command.run(&mut Cli::command()),
        }
    }
}

/// Does what the command line asks for, and says in code how that ended.
fn ended(work: impl FnOnce() -> anyhow::Result<ExitCode>) -> ExitCode {
    match catch_unwind(AssertUnwindSafe(work)) {
        Ok(Ok(code)) => code,
        Ok(Err(error)) => {
            let _ = writeln!(anstream::stderr(), "error: {error:#}");
            ExitCode::from(UNUSABLE)
        }
        // What broke, and where, was said when it did.
        Err(_) => ExitCode::from(INTERNAL),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bad_input_and_a_fault_of_the_program_are_told_apart_by_the_code() {
        let code = |code: ExitCode| format!("{code:?}");
        assert_eq!(code(ended(|| Ok(ExitCode::from(1)))), code(ExitCode::from(1)));
        assert_eq!(code(ended(|| Err(anyhow!("bad input")))), code(ExitCode::from(2)));
        assert_eq!(code(ended(|| panic!("a fault"))), code(ExitCode::from(70)));
    }
}
