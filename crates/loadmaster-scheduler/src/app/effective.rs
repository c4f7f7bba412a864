//! What holds in the end: the configuration with the flags laid over it.

use std::path::Path;

use anyhow::{Context, bail};
use loadmaster_config::{DEFAULT_PARALLELISM, Loaded, RegistryCatalog, show_yaml, validate};
use loadmaster_framework::{Gates, Registry};

use super::{args::Run, config::read_config};

/// What holds in the end.
pub(crate) struct Effective {
    /// The configuration, the leader election's flags laid over it.
    pub(crate) loaded: Loaded,
    /// The features, `--feature-gates` laid over them.
    pub(crate) gates: Gates,
    /// What was given and changes nothing, each with the reason.
    pub(crate) notes: Vec<String>,
}

/// Reads the configuration that `args` name and lays their flags over it, where they come before it
/// (upstream: `Options.ApplyTo`).
///
/// # Errors
/// What cannot be read, or cannot be used with these flags.
pub(crate) fn effective(
    args: &Run,
    registry: &Registry,
    gates: &Gates,
) -> anyhow::Result<Effective> {
    let mut gates = gates.clone();
    let mut notes = args.gates.apply_to(&mut gates)?;
    notes.extend(args.accepted.notes());
    let mut loaded = read_config(args.config.as_deref(), registry, &gates)?;
    args.leader.apply_to(&mut loaded.config.leader_election);
    let faults = validate(&loaded.config, &RegistryCatalog::new(registry, &gates));
    if !faults.is_empty() {
        let faults: Vec<_> = faults.iter().map(ToString::to_string).collect();
        bail!(
            "the configuration cannot be used with these --leader-elect flags:\n{}",
            faults.join("\n")
        );
    }
    if loaded.config.parallelism != DEFAULT_PARALLELISM {
        notes.push("parallelism changes nothing here: a cycle runs on one thread".to_owned());
    }
    Ok(Effective { loaded, gates, notes })
}

/// Writes what holds in the end to `file`.
pub(super) fn write(loaded: &Loaded, file: &Path) -> anyhow::Result<()> {
    std::fs::write(file, show_yaml(loaded)?)
        .with_context(|| format!("cannot write the configuration to {}", file.display()))
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::app::args::Cli;

    #[test]
    fn a_parallelism_that_was_asked_for_is_told_to_change_nothing() {
        let notes = |parallelism: &str| {
            let file = tempfile::NamedTempFile::new().unwrap();
            let text = format!(
                "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n\
                 {parallelism}"
            );
            std::fs::write(file.path(), text).unwrap();
            let config = file.path().to_str().unwrap();
            let cli = Cli::parse_from(["scheduler", "--config", config]);
            let registry = loadmaster_plugins::in_tree_registry();
            effective(&cli.run, &registry, &Gates::default()).unwrap().notes
        };
        assert_eq!(notes(""), Vec::<String>::new());
        assert!(notes("parallelism: 4\n")[0].contains("one thread"));
    }
}
