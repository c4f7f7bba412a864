//! What stage 1 must know of the second scheduler's configuration. The scheduler itself checks it.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::Context as _;
use serde::Deserialize;

use crate::UserError;

/// The first profile of a configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Profile {
    /// Where it was read.
    pub(crate) file: PathBuf,
    /// By which name pods choose it.
    pub(crate) scheduler_name: String,
    /// The plugins that it adds, each with the points that it is named at; `multiPoint` for all.
    pub(crate) plugins: Vec<(String, String)>,
    /// The label by which Concentrate counts.
    pub(crate) label_key: String,
    /// The file's text.
    pub(crate) text: String,
}

#[derive(Deserialize)]
struct Document {
    #[serde(default)]
    profiles: Vec<Written>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Written {
    scheduler_name: Option<String>,
    #[serde(default)]
    plugins: serde_json::Map<String, serde_json::Value>,
    #[serde(default)]
    plugin_config: Vec<serde_json::Value>,
}

impl Profile {
    /// Reads the first profile of the configuration in `file`.
    ///
    /// # Errors
    /// [`UserError`] when there is none, or none that a pod could choose beside the default.
    pub(crate) fn read(file: &Path) -> anyhow::Result<Self> {
        let text = fs::read_to_string(file).map_err(|error| {
            let file = file.display();
            UserError(format!("cannot read the profile {file}: {error}.\n\nhint: name a KubeSchedulerConfiguration with --profile FILE"))
        })?;
        let profile = Self::parse(file, text).with_context(|| format!("in {}", file.display()))?;
        if profile.scheduler_name == super::DEFAULT_SCHEDULER {
            let text = "the profile is named default-scheduler, and that one is running already.\n\nhint: give it a `schedulerName` of its own";
            return Err(UserError(text.to_owned()).into());
        }
        Ok(profile)
    }

    fn parse(file: &Path, text: String) -> anyhow::Result<Self> {
        let document: Document = serde_saphyr::from_str(&text)
            .map_err(|error| UserError(format!("not a KubeSchedulerConfiguration: {error}")))?;
        let first = document.profiles.into_iter().next();
        let first = first.ok_or_else(|| UserError("it has no profile".to_owned()))?;
        let plugins = first.plugins.iter().flat_map(|(point, set)| {
            let enabled = set.get("enabled").and_then(serde_json::Value::as_array);
            let names = enabled.into_iter().flatten().filter_map(|it| it.get("name")?.as_str());
            names.map(|name| (name.to_owned(), point.clone())).collect::<Vec<_>>()
        });
        let label_key = first.plugin_config.iter().find(|it| it["name"] == "Concentrate");
        let label_key = label_key.and_then(|it| it.pointer("/args/labelKey")?.as_str());
        Ok(Self {
            file: file.to_owned(),
            scheduler_name: first
                .scheduler_name
                .unwrap_or_else(|| super::DEFAULT_SCHEDULER.to_owned()),
            plugins: plugins.collect(),
            label_key: label_key.unwrap_or("app").to_owned(),
            text,
        })
    }

    /// The names of the plugins that it adds, for people.
    pub(crate) fn plugin_names(&self) -> String {
        let mut names: Vec<&str> = self.plugins.iter().map(|(name, _)| name.as_str()).collect();
        names.dedup();
        if names.is_empty() { self.scheduler_name.clone() } else { names.join(", ") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> anyhow::Result<Profile> {
        Profile::parse(Path::new("p.yaml"), text.to_owned())
    }

    #[test]
    fn the_shipped_profile_names_its_scheduler_its_plugin_and_its_label() {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../profiles/concentrate.yaml");
        let profile = Profile::read(&file).unwrap();
        assert_eq!(profile.scheduler_name, "concentrate-scheduler");
        assert_eq!(profile.plugins, [("Concentrate".to_owned(), "score".to_owned())]);
        assert_eq!(profile.label_key, "app");
    }

    #[test]
    fn the_label_is_the_one_of_the_arguments() {
        let text = "profiles:\n- schedulerName: s\n  pluginConfig:\n  - {name: Other}\n  - {name: Concentrate, args: {labelKey: team}}\n";
        assert_eq!(parse(text).unwrap().label_key, "team");
    }

    #[test]
    fn a_configuration_without_profiles_is_refused() {
        assert!(parse("kind: KubeSchedulerConfiguration\n").is_err());
        assert!(parse("- 1\n").is_err());
    }
}
