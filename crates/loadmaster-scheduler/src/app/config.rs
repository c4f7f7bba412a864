//! `config check FILE` and `config show FILE`, and reading a configuration in general.

use std::{
    fs::File,
    io::Read,
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::{Context, bail};
use clap::{Subcommand, ValueEnum};
use loadmaster_config::{
    ConfigError, Loaded, Place, Problem, RegistryCatalog, Warning, deny_warnings, load, show_json,
    show_yaml,
};
use loadmaster_framework::{Gates, Registry};
use serde_json::{Value, json};

use super::{NEGATIVE, print::print};

/// Checks a configuration, or shows what it comes to.
#[derive(Debug, clap::Args)]
pub(crate) struct Config {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Says what is wrong with a configuration; exits with 1 if anything is.
    Check {
        /// The configuration
        file: PathBuf,
        /// Takes every warning for an error
        #[arg(long)]
        strict: bool,
        /// How the finding is printed
        #[arg(long, value_enum, default_value_t)]
        output: CheckOutput,
    },
    /// Prints a configuration with every default filled in and every plugin in running order.
    Show {
        /// The configuration
        file: PathBuf,
        /// How it is printed
        #[arg(long, value_enum, default_value_t)]
        output: ShowOutput,
    },
}

#[derive(Clone, Copy, Debug, Default, ValueEnum)]
enum CheckOutput {
    /// Lines for a person.
    #[default]
    Text,
    /// One JSON object.
    Json,
}

#[derive(Clone, Copy, Debug, Default, ValueEnum)]
enum ShowOutput {
    /// YAML.
    #[default]
    Yaml,
    /// JSON.
    Json,
}

impl Config {
    pub(super) fn run(self, registry: &Registry, gates: &Gates) -> anyhow::Result<ExitCode> {
        match self.command {
            Command::Check { file, strict, output } => {
                let name = file.display().to_string();
                let loaded = load(&read(&file)?, &name, &RegistryCatalog::new(registry, gates));
                let loaded =
                    if strict { loaded.and_then(|it| deny_warnings(it, &name)) } else { loaded };
                print_finding(&name, &loaded, output)?;
                Ok(ExitCode::from(if loaded.is_ok() { 0 } else { NEGATIVE }))
            }
            Command::Show { file, output } => {
                let loaded = read_config(Some(&file), registry, gates)?;
                let text = match output {
                    ShowOutput::Yaml => show_yaml(&loaded)?,
                    ShowOutput::Json => show_json(&loaded)?,
                };
                print(&text)?;
                Ok(ExitCode::SUCCESS)
            }
        }
    }
}

/// Reads and builds the configuration in `file`, or the default one.
pub(super) fn read_config(
    file: Option<&Path>,
    registry: &Registry,
    gates: &Gates,
) -> anyhow::Result<Loaded> {
    let catalog = RegistryCatalog::new(registry, gates);
    match file {
        Some(file) => {
            let text = read(file)?;
            load(&text, &file.display().to_string(), &catalog)
                .map_err(|error| anyhow::anyhow!("the configuration cannot be used:\n{error}"))
        }
        None => load(DEFAULT, "the default configuration", &catalog).map_err(Into::into),
    }
}

/// What is scheduled by without a file.
const DEFAULT: &str =
    "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n";

/// The text of a configuration.
pub(super) fn read(file: &Path) -> anyhow::Result<String> {
    let mut text = String::new();
    let read =
        File::open(file).and_then(|it| it.take(CONFIG_BYTES_MAX + 1).read_to_string(&mut text));
    let size = read.with_context(|| {
        format!(
            "cannot read the configuration {}; name a file that is there and can be read",
            file.display()
        )
    })?;
    if size as u64 > CONFIG_BYTES_MAX {
        bail!(
            "{} holds more than {} MiB, which is no configuration; name the file that holds the \
             KubeSchedulerConfiguration",
            file.display(),
            CONFIG_BYTES_MAX >> 20
        );
    }
    Ok(text)
}

/// How large a configuration may be, in bytes: no ConfigMap can hold more than a MiB.
pub(crate) const CONFIG_BYTES_MAX: u64 = 4 << 20;

fn print_finding(
    name: &str,
    finding: &Result<Loaded, ConfigError>,
    output: CheckOutput,
) -> anyhow::Result<()> {
    let text = match (output, finding) {
        (CheckOutput::Json, _) => format!("{:#}\n", finding_json(name, finding)),
        (CheckOutput::Text, Err(error)) => format!("{error}\n"),
        (CheckOutput::Text, Ok(loaded)) => {
            let mut lines: Vec<_> = loaded
                .warnings
                .iter()
                .map(|it| format!("warning: {}", located(name, it)))
                .collect();
            lines.push(format!("{name}: fine, with {}", summary(loaded)));
            lines.join("\n") + "\n"
        }
    };
    print(&text)
}

/// Which profiles there are.
fn summary(loaded: &Loaded) -> String {
    let profiles = loaded.profiles.iter();
    let each = profiles
        .map(|it| format!("{} ({} plugins)", it.scheduler_name, it.plugin_names().len()))
        .collect::<Vec<_>>();
    let noun = if each.len() == 1 { "profile" } else { "profiles" };
    format!("{noun} {}", each.join(", "))
}

/// A warning as a line with its place.
pub(super) fn located(file: &str, warning: &Warning) -> String {
    match warning.place {
        Some(Place { line, column }) => format!("{file}:{line}:{column}: {warning}"),
        None => format!("{file}: {warning}"),
    }
}

fn finding_json(name: &str, finding: &Result<Loaded, ConfigError>) -> Value {
    let (stage, problems, warnings) = match finding {
        Ok(loaded) => (None, &[][..], &loaded.warnings[..]),
        Err(error) => (Some(error.stage.name()), &error.problems[..], &[][..]),
    };
    json!({
        "version": 1,
        "file": name,
        "ok": finding.is_ok(),
        "stage": stage,
        "problems": problems.iter().map(problem_json).collect::<Vec<_>>(),
        "warnings": warnings.iter().map(|it| json!({
            "path": it.path,
            "line": it.place.map(|it| it.line),
            "column": it.place.map(|it| it.column),
            "message": it.message,
        })).collect::<Vec<_>>(),
    })
}

fn problem_json(problem: &Problem) -> Value {
    json!({
        "path": problem.path,
        "line": problem.place.map(|it| it.line),
        "column": problem.place.map(|it| it.column),
        "message": problem.message,
        "hint": problem.hint,
    })
}
